"""One task worked by roles on a bus. Decides and emits; writes to no book."""
