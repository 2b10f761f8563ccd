"""Read-only questions."""
