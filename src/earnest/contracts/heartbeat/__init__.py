"""HEARTBEAT.md: what an agent promises to look after, again and again; read, written, pinned and compared. Pure."""
