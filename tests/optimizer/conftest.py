"""Planning takes as long as it takes: no example is failed for its time."""

from hypothesis import settings

settings.register_profile("share", deadline=None)
settings.load_profile("share")
