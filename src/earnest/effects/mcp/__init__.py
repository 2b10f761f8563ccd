"""MCP servers that the operator named: programs outside the sandbox that bring tools. Only they are reached from here."""
