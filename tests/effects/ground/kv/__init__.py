"""Tests of the key-value stores."""
