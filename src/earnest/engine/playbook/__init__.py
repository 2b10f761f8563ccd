"""The minds of a run that needs no model: they read a playbook where others would ask one."""
