"""Ways for money to leave: one file a rail. What may leave is decided elsewhere."""
