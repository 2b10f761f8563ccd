"""Measurements of the world that the operator set up, each by name. What they mean for work is not decided here."""
