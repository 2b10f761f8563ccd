"""One check kind a file, loaded through the entry point `earnest.checks` like anybody's."""
