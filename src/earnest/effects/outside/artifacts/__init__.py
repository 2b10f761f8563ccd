"""The bytes that people hand in, by their digest, and fetching them from where they lie. Not who may see them."""
