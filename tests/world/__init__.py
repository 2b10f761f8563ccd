"""Tests of the town."""
