"""The SDK that any agent uses: the platform over HTTP, from a process of its own or in the same one."""
