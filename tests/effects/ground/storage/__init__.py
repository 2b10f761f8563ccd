"""Are the books right, durable and append-only?"""
