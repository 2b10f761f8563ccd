"""The SDK that any agent uses: the platform over HTTP, from a process of its own or in the same one.

`client.Client` and `client.AsyncClient` have a method for each endpoint. Nothing here knows the platform's inside.
"""
