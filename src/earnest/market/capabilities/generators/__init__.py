"""Test jobs: from a seed, a question and its key; and the grade of an answer. Pure, the same on every machine."""
