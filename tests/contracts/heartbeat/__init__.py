"""HEARTBEAT.md: read, written, pinned, compared."""
