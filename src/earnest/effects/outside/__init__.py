"""What lies beyond the machine: models, the web, mail, payment rails, probes, artifacts of others."""
