"""Tests of the stories."""
