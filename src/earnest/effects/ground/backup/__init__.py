"""Backups: contents by their digests, and manifests that say which of them a data directory is made of."""
