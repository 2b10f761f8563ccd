"""Doors: parse and render, nothing else."""
