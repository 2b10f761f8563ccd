"""Jobs and their rules: who may do what when, and who is owed. Moves no money and judges no work."""
