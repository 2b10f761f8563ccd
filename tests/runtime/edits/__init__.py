"""Edits of the user's files."""
