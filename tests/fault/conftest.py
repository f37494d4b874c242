from tests.support.fixtures import control, home

__all__ = ["control", "home"]
