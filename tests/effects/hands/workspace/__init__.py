"""Workspaces: the same must hold whether their stages are copies or layers."""
