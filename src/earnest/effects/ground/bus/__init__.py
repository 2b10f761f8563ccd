"""Typed messages between roles: the protocol in `api`, one provider a file."""
