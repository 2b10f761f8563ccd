"""What an agent is held to and how it keeps it: points, days, tiers. Pure rules; `service.py` alone writes."""
