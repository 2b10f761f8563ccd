"""One role a file: what it hears, what it may send, its gates."""
