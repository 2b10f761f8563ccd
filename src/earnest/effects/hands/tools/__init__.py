"""Tools that work in the sandbox: each takes arguments and gives a record of what happened."""
