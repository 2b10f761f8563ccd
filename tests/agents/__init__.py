"""Does a resident agent keep to what its actions are, and to what it remembers?"""
