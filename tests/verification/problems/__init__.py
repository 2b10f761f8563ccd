"""Problems with hidden tests, a right solution and wrong ones, one YAML file a problem: only the right one is verified."""
