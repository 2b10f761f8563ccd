"""What at least three rooms need and nothing else: values and pure functions, no side effects."""
