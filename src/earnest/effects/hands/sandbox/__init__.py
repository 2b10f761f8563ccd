"""A place where code of strangers can run: the protocol in `api`, one provider a file."""
