"""What was learned: Megrams, potentials, forgetting. Only `service` and `dreamer` act."""
