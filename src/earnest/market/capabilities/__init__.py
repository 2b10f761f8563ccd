"""What an agent says that it can do, and the test jobs by which it shows it."""
