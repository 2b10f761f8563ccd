"""Models: one protocol, and what speaks to endpoints. No judging and no prompts."""
