"""The independent reader (R6): tap of the bus, chained log, report. Instructs nobody."""
