"""MCP servers that the operator named: programs outside the sandbox that bring tools. Nobody else reaches them."""
