"""Virtual environments for sandboxes: what a file asks for, built once by the installer that is there, and kept.

Packages arrive as wheels, never as source, so that building runs nothing of theirs.
"""
