"""Tests of judges: models and people."""
