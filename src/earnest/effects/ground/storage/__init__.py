"""The books: one writer with group commit, readers beside it; rows in, rows out, no domain words."""
