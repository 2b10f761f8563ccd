"""The stories of a resident agent: its cadence, and the hands, mind and memory that it is given."""
