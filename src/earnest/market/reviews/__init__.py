"""What the sides say of each other, when it is seen, and what becomes of it."""
