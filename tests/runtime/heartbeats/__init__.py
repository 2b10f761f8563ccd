"""The runner: its rules, its files, its processes, and its story by a clock that is moved."""
