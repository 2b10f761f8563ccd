"""Executors that say they did it, each with a twin that did."""
