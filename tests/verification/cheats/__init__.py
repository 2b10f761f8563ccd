"""What was tried against the verifier: one YAML file a case, one folder a family, and the tests that judge them all."""
