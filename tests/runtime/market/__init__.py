"""Stories of the market, on a real database."""
