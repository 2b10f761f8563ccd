"""Stories of the runtime, killed, stopped and starved."""
