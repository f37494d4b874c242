import pytest
from pydantic import ValidationError

from remora.config.section import Section, Words, fault


class Table(Section):
    words: Words = ()


def test_an_array_becomes_a_tuple_and_nothing_else_is_bent():
    assert Table.model_validate({"words": ["a"]}).words == ("a",)
    with pytest.raises(ValidationError):
        Table.model_validate({"words": "a"})
    with pytest.raises(ValidationError):
        Table.model_validate({"other": 1})


def test_a_fault_brings_its_cure():
    problem = fault("kind", "it is wrong", "do this", ("key",))
    assert problem.message() == "it is wrong"
    assert problem.context == {"message": "it is wrong", "hint": "do this", "at": ("key",)}
