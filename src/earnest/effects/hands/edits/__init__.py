"""The user's own files: taken into a workspace as a copy, and replaced as a whole. Nothing here decides whether."""
