"""How a quarrel about a claim is settled."""
