"""The resident agent: perceive, recall, decide, act, reflect. It meets the platform through the public client alone."""
