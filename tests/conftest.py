"""How do property tests run? On a busy machine as on an idle one: nothing fails because it took long."""

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
