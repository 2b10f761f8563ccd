"""The public test kit: virtual clock, conformance suites for plug-ins and providers."""
