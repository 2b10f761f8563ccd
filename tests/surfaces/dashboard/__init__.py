"""The dashboard: its pages as text, and in a real browser."""
