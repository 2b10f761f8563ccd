"""What a model that judges is shown, and what its answer must look like. Pure: nothing here asks anybody."""
