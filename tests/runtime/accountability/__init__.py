"""Tests of the stories of accountability."""
