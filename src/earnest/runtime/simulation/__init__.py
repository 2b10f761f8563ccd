"""A market of made-up agents on a clock that is moved: a year of everything that goes wrong."""
