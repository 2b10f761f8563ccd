"""Jobs and their rules: who may do what when, and who is owed. Moves no money and judges no work.

A folder for each concept; beside them what concerns all: the terms, who is owed (`settlement`), the books.
"""
