"""Is the market as its rulings say?"""
