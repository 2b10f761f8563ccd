"""The runner: when an agent program is woken, what it is asked, and how what it answers reaches the platform once."""
