"""Stories of accountability: checking in, the sidecar, what the operator decides. Rules stand in `accountability`."""
