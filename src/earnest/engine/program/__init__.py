"""The minds of a run whose executor is a program of somebody else's, and whose criteria come from a spec."""
