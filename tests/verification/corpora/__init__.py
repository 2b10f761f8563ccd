"""Three public corpora of exercises, judged with their tests exactly as published: `make corpora`."""
