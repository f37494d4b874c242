from dataclasses import fields, replace

from remora.embedding.protocol import Identity

ONE = Identity("bundled", "m", "r", 384)


def test_every_part_makes_another_space():
    for field in fields(ONE):
        value = getattr(ONE, field.name)
        other = (not value) if isinstance(value, bool) else value + (1 if isinstance(value, int) else "x")
        assert replace(ONE, **{field.name: other}).id != ONE.id, field.name


def test_round_trip():
    assert Identity.from_json(ONE.to_json()) == ONE
