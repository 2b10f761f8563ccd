"""The minds of a run in words: each asks a model. What a model answers is input to be validated, never an order."""
