from __future__ import annotations

import pytest

from remora.privacy.values import is_secret, is_setting, is_token, looks_made_up


@pytest.mark.parametrize(
    "value",
    [
        "***",
        "<key>",
        "${KEY}",
        "$(cat key)",
        "{{ key }}",
        "changeme",
        "CHANGE_ME",
        "your-key",
        "aaaaaaaa",
        "$DB_PASS",
        "…",
    ],
)
def test_stand_ins(value):
    assert looks_made_up(value)


@pytest.mark.parametrize("value", ["tundra!Maple77", "$up3rS3cret", "a1b2c3d4"])
def test_real_ones(value):
    assert not looks_made_up(value)


@pytest.mark.parametrize(("value", "quoted", "bare"), [
    ("tundra!Maple77", True, True),
    ("hunter2hunter", True, True),
    ("tundracactus", True, False),
    ("Tundra", False, False),
    ("settings.value1", True, False),
    ("new_password", False, False),
    ("string", False, False),
    ("123456", True, False),
    ("-0x1f2e3d", True, False),
    ("arn:aws:kms:1:key/2", False, False),
])  # fmt: skip
def test_a_secret_beside_a_label(value, quoted, bare):
    assert is_secret(value, quoted=True) is quoted
    assert is_secret(value, quoted=False) is bare


def test_a_token_is_long_and_has_digits_and_letters():
    assert is_token("a1B2c3D4e5F6")
    assert not is_token("a1B2c3")
    assert not is_token("abcdefghijklm")
    assert not is_token("1234567890123")


@pytest.mark.parametrize("head", ["DB_PASSWORD=", "export PASSWORD=", "password: ", "  - db.password: "])
def test_in_a_settings_file_a_word_is_enough(head):
    assert is_setting(head, "tundracactus")
    assert not is_setting(head, "TundraCactus")
    assert not is_setting(head, "string")


@pytest.mark.parametrize("head", ["password = ", "f(password=", "the password: is: "])
def test_elsewhere_it_is_not(head):
    assert not is_setting(head, "tundracactus")
