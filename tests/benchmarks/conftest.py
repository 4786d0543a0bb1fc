import pytest


@pytest.fixture(autouse=True)
def no_waits_in_benches(no_waits: None) -> None:
    """No test of a bench waits."""
