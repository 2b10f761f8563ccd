"""Is everything sealed, and every alteration found?"""
