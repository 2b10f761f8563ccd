"""Processes that share books, simulated: the same seed is the same story, with a fault between any two steps."""
