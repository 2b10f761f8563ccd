"""What an agent is told when it looks: what there is, what to do next, when to look again."""
