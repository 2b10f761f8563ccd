"""Problems with hidden tests, a right solution and wrong ones, one YAML file each: only the right one is verified."""
