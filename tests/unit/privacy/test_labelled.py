from __future__ import annotations

import pytest

from remora.privacy.secrets import redact, scan

SECRET = "tundra!Maple77"
TOKEN = "a1B2c3D4e5F6g7H8"


@pytest.mark.parametrize(
    "text",
    [
        'password = "{}"',
        "password={}",
        "password: {}",
        "'password': '{}'",
        '"password" : "{}"',
        r"{{\"password\": \"{}\"}}",
        "PASSWORD={}",
        "passwd = b'{}'",
        "DB_PASSWORD2='{}'",
        'config["password"] = "{}"',
        "{{password => '{}'}}",
        'password := "{}"',
        'password: Optional[str] = "{}"',
        "--password {}",
        "--password={}",
        "-e POSTGRES_PASSWORD={} image",
        "<password>{}</password>",
        "machine a.b login ann password {}",
        "default login ann password {}",
        "machine a.b\n  login ann\n  password {}\n",
        "Pwd={};",
        "İpassword={}",
        "?password={}&x=1",
    ],
)
def test_a_password_is_found_by_its_label(text):
    text = text.format(SECRET)
    shown = redact(text)
    assert SECRET not in shown
    assert shown == text.replace(SECRET, shown[shown.index("‹") : shown.index("›") + 1])


@pytest.mark.parametrize("label", ["token", "secret", "auth", "X-Auth-Token", "session_token", "bot.token"])
def test_bare_labels_need_a_value_that_looks_like_one(label):
    assert TOKEN not in redact(f"{label}: {TOKEN}")
    for value in ("short1", "withoutanydigit", "123456789012345"):
        assert value in redact(f"{label}: {value}")


@pytest.mark.parametrize(
    "label", ["api_key", "apiKey", "api-key", "API KEY", "access_key", "client_secret", "SecretAccessKey"]
)
def test_keys_are_found_by_their_owner(label):
    assert TOKEN not in redact(f'{label} = "{TOKEN}"')


@pytest.mark.parametrize(
    "text",
    [
        'password = "***"',
        'password = "<your password>"',
        'password = "${DB_PASSWORD}"',
        'password = "changeme"',
        'password = "example-value-1"',
        "password = ‹redacted:password›",
        "password = getpass.getpass()",
        "password = self.password2",
        'password = os.environ["DB_PASSWORD"]',
        "password: str = Field(...)",
        "password: string",
        'label: "password", type: "password"',
        '"password": "New password please"',
        "password == 'tundra!Maple77'",
        "max_tokens = 128000123456",
        'next_page_token = "a1B2c3D4e5F6g7H8"',
        "key = a1B2c3D4e5F6g7H8",
        "keyboard: a1B2c3D4e5F6g7H8",
        '"AWS::SecretsManager::Secret": "c85175a4ebcce361"',
        "PWD=/home/ann/project1",
        "WININET_E_INCORRECT_PASSWORD: Final = -2147012882",
        "private_key = file:///etc/ssl/key1.pem",
        "machine learning password policies",
        "author: a1B2c3D4e5F6g7H8 ",
    ],
)
def test_what_is_no_secret_stays(text):
    assert scan(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer {}",
        "authorization: {}",
        '"Authorization": "Basic {}"',
        '("Authorization", "token {}")',
        "Proxy-Authorization: Basic {}",
        "curl -H 'Authorization: Bearer {}'",
        "with Bearer {} sent",
        "Cookie: a=b; session={}",
        "set-cookie: session={}; Path=/",
    ],
)
def test_headers(text):
    text = text.format(TOKEN)
    assert TOKEN not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer ${TOKEN}",
        "Authorization: Bearer <token>",
        "Cookie: a=b",
        "AggregationAuthorization: " + TOKEN,
    ],
)
def test_headers_without_a_secret(text):
    assert scan(text) == []


def test_a_long_value_is_followed_to_its_end():
    value = TOKEN * 100
    for text in (f'token="{value}"', f"token={value}", f"Authorization: Bearer {value}"):
        assert "a1B2" not in redact(text)
