import unittest

from slugs import slug


class Slugs(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slug("The Harbour, at Night!"), "the-harbour-at-night")

    def test_ends_are_bare(self):
        self.assertEqual(slug("  (draft) "), "draft")

    def test_letters_keep_their_marks(self):
        self.assertEqual(slug("Über Ebbe"), "über-ebbe")

    def test_nothing_is_untitled(self):
        self.assertEqual(slug("?!"), "untitled")
