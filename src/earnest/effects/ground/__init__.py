"""What everything stands on: the clock, files and locks, books, the key-value store, the bus, processes."""
