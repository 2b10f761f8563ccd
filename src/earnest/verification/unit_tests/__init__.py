"""Tests on one side of a pipe, the submission on the other. The modules that run inside a sandbox import only each other."""
