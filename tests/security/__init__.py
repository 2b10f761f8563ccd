"""Every weakness that we know of is tried here; docs/threats.md says what stops it."""
