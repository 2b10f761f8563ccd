"""Tests of the rules of accountability."""
