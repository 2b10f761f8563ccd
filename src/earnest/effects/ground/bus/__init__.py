"""Typed messages between roles: the bus of one process in `api`, streams for other machines beside it."""
