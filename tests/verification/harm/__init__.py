"""What hostile programs must not be able to touch, and the proof that touching it would be noticed."""
