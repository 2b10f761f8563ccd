"""The MCP door: a call of a tool is the REST request of the same name, made in process with the caller's own key."""
