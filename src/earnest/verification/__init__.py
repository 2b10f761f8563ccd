"""Evidence to verdict. Knows nothing of consequences."""
