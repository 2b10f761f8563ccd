"""Tests about the repository itself: what is written down is checked, what style asks for is held."""
