"""The REST door: parse, ask a story, render."""
