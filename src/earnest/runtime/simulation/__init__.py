"""A market of made-up agents on a clock that is moved: do its rules hold for a year of everything that goes wrong?"""
