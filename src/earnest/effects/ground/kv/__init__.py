"""An ordered key-value store: the protocol in `api`, one provider a file."""
