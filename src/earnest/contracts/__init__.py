"""Promises as values: criterion, check spec, playbook, verification spec, and their readers. Pure."""
