"""Facts sealed, proved and read. Recording one needs only a transaction; nobody imports this room for it."""
