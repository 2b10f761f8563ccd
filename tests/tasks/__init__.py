"""Real tasks over small projects, each worked honestly, carelessly and by liars, and the truth about what they left."""
