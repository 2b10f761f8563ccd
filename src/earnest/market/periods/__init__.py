"""Named spans of a platform's life, and how behaviour within one is measured. Pure values and rules; no SQL."""
