"""Is what people hand in kept whole, on every kind of shelf?"""
