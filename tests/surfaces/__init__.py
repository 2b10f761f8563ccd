"""Do the doors take what people type, and answer as documented?"""
