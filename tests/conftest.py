"""Settings of all tests."""

from hypothesis import settings

settings.register_profile(
    "no deadline", deadline=None
)  # a busy machine is no failure; time is for benchmarks
settings.load_profile("no deadline")
