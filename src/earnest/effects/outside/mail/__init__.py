"""Mail to people, behind one protocol. What is written to whom, and when, is not its matter."""
