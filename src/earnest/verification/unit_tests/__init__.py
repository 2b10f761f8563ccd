"""Tests on one side of a pipe, the submission on the other. What runs inside a sandbox imports only its own kind."""
