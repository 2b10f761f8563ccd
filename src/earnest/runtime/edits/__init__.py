"""The story of the user's own files: taken in when a run begins, replaced after its verdict, and taken back."""
