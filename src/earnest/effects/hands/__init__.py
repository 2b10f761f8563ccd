"""What acts on the machine for an agent or a judge: sandboxes, workspaces, tools, edits."""
