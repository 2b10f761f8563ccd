"""Whether a model's word that a criterion is met rests on what was recorded: pure rules over records, no model."""
