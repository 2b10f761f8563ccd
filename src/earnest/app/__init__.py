"""Settings, plug-in loading, wiring: the composition root."""
