"""One story a file; alone moves work from room to room."""
