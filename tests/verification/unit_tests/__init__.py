"""Tests of the check kind `unit_tests`."""
