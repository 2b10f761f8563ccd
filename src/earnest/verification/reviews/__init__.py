"""What people decide: the question that waits for one, the answer, and the facts that both are kept as."""
