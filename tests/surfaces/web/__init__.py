"""What the platform answers over HTTP."""
