"""Do the questions about the facts get their answers?"""
