"""Honest work of many shapes, one YAML file a case: all of it must be verified."""
