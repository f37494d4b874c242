"""Invented secrets of every kind, in the places where secrets are met. Nothing here was ever valid.

The issuers' prefixes are put together from parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import random
import string
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
HEX = "0123456789abcdef"


class Planted(NamedTuple):
    kind: str
    secret: str
    text: str  # where it stands


class Planter:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def letters(self, alphabet: str, size: int) -> str:
        """At random, with a digit and a letter: what a real one has but for odds nobody meets."""
        while True:
            drawn = "".join(self.random.choices(alphabet, k=size))
            if any(c.isdigit() for c in drawn) and any(c.isalpha() for c in drawn):
                return drawn

    def pass_word(self) -> str:
        words = ["blue", "otter", "Maple", "rocket", "Violin", "tundra", "cactus"]
        marks = "!#%+~^*"
        pick = self.random.choice
        return f"{pick(words)}{pick(marks)}{pick(words)}{self.random.randrange(10, 9999)}"

    def tokens(self) -> list[tuple[str, str]]:
        a, u = (lambda n: self.letters(ALNUM, n)), (lambda n: self.letters(URLSAFE, n))
        h = lambda n: self.letters(HEX, n)  # noqa: E731
        up = lambda n: self.letters(string.ascii_uppercase + string.digits, n)  # noqa: E731
        digits = lambda n: "".join(self.random.choices("123456789", k=n))  # noqa: E731
        b64 = lambda n: base64.b64encode(self.random.randbytes(n)).decode()  # noqa: E731
        segment = lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")  # noqa: E731
        pick = self.random.choice
        jwt = ".".join((segment('{"alg":"HS256","typ":"JWT"}'), segment(f'{{"sub":"{a(8)}"}}'), u(43)))
        return [
            ("openai", "sk" + "-" + a(48)),
            ("openai project", "sk" + "-proj-" + u(80)),
            ("anthropic", "sk" + "-ant-" + "api03-" + u(90)),
            ("github", "gh" + pick("pousr") + "_" + a(36)),
            ("github fine", "github" + "_pat_" + a(22) + "_" + a(59)),
            ("gitlab", "gl" + "pat-" + u(20)),
            ("slack", "xox" + pick("abeoprs") + "-" + digits(12) + "-" + digits(12) + "-" + a(24)),
            ("slack app", "xa" + "pp-1-" + up(11) + "-" + digits(13) + "-" + h(64)),
            ("stripe", pick("spr") + "k_" + pick(("live", "test")) + "_" + a(24)),
            ("stripe hook", "wh" + "sec_" + a(32)),
            ("npm", "np" + "m_" + a(36)),
            ("pypi", "py" + "pi-" + "AgEIcHlwaS5vcmc" + u(80)),
            ("hugging face", "h" + "f_" + a(34)),
            ("aws", "A" + pick(("KIA", "SIA")) + up(16)),
            ("google", "AI" + "za" + u(35)),
            ("google access", "ya" + "29." + u(60)),
            ("sendgrid", "S" + "G." + u(22) + "." + u(43)),
            ("twilio", "S" + "K" + h(32)),
            ("digitalocean", "dop" + "_v1_" + h(64)),
            ("telegram", digits(10) + ":AA" + u(33)),
            ("discord", "M" + a(25) + "." + a(6) + "." + a(38)),
            ("jwt", jwt),
            ("azure", "Account" + "Key=" + b64(64)),
        ]

    def labelled(self) -> list[tuple[str, str, str]]:
        """Kind, secret, the text it stands in."""
        word, key, long = self.pass_word(), self.letters(ALNUM, 32), self.letters(ALNUM, 40)
        aws = base64.b64encode(self.random.randbytes(30)).decode()
        plain = self.random.choice(["blueotter", "maplerocket", "tundracactus"])
        return [
            ("json", word, f'{{"user": "ann", "password": "{word}", "port": 5432}}'),
            ("yaml", word, f"db:\n  host: localhost\n  password: {word}\n  port: 5432\n"),
            ("yaml plain", plain, f"db:\n  host: localhost\n  password: {plain}\n  port: 5432\n"),
            ("env", word, f"export DB_PASSWORD={word}\nDEBUG=1\n"),
            ("env plain", plain, f"DB_PASSWD={plain}\nDEBUG=1\n"),
            ("code", key, f'client = Client(api_key="{key}", timeout=30)'),
            ("code plain", plain, f"connect(user='ann', passwd='{plain}')"),
            ("annotated", word, f'password: str = "{word}"'),
            ("camel case", key, f'{{"apiKey": "{key}", "region": "eu"}}'),
            ("client secret", word, f"client_secret = '{word}'"),
            ("escaped", word, f'{{"body": "{{\\"password\\": \\"{word}\\"}}"}}'),
            ("aws secret", aws, f"aws_secret_access_key = {aws}\n"),
            ("aws session", aws + "A1", f"aws_session_token = {aws}A1\n"),
            ("token", key, f"token: {key}\n"),
            ("secret", key, f'"secret": "{key}"'),
            ("auth", key, f"//registry.local/:_authToken={key}\n"),
            ("pwd", word, f"Server=db;Uid=ann;Pwd={word};Timeout=3"),
            ("query", key, f"GET /v1/items?api_key={key}&page=2 HTTP/1.1"),
            ("option", word, f"mysql --user ann --password {word} --host db"),
            ("element", word, f"<server><password>{word}</password></server>"),
            ("bearer", long, f"Authorization: Bearer {long}\r\nAccept: */*"),
            ("basic", aws, f'{{"headers": {{"Authorization": "Basic {aws}"}}}}'),
            ("curl", long, f"curl -H 'authorization: bearer {long}' https://api.local/x"),
            ("cookie", long, f"Cookie: theme=dark; session={long}\r\n"),
            ("set cookie", long, f"Set-Cookie: sid={long}; Path=/; HttpOnly\r\n"),
            ("netrc", word, f"machine api.local login ann password {word}\n"),
            ("url", word.replace("#", "-"), f"postgres://ann:{word.replace('#', '-')}@db.local:5432/app"),
            ("url token", key, f"git clone https://{key}@git.local/a.git"),
            ("sas", long + "%3D", f"https://x.blob.local/c?sv=2024&se=2026&sig={long}%3D"),
        ]

    def private_key(self, name: str) -> str:
        body = base64.encodebytes(self.random.randbytes(400)).decode()
        dashes = "-" * 5
        head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n" if name.startswith("RSA E") else ""
        name = name.replace("RSA E", "RSA ")
        return f"{dashes}BEGIN {name}{dashes}\n{head}{body}{dashes}END {name}{dashes}"


PEM_NAMES = (
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "RSA EPRIVATE KEY",
    "EC PRIVATE KEY",
    "DSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
)
PLACES = (
    "{}",
    "the key is {} and was rotated",
    'KEY="{}"',
    '{{"value":"{}"}}',
    "log line\n  - {}\nnext line",
    "https://api.local/?k={}&x=1",
    "({})",
    "값은 {}입니다",
)


def planted(rounds: int = 6, seed: int = 7) -> list[Planted]:
    planter = Planter(seed)
    found: list[Planted] = []
    for number in range(rounds):
        for kind, token in planter.tokens():
            place = PLACES[(len(found) + number) % len(PLACES)]
            found.append(Planted(kind, token, place.format(token)))
        found += [Planted(kind, secret, text) for kind, secret, text in planter.labelled()]
        for name in PEM_NAMES:
            key = planter.private_key(name)
            found.append(Planted(name, key, f"before\n{key}\nafter"))
        key = planter.private_key("PRIVATE KEY").replace("\n", "\\n")
        found.append(Planted("service account", key, f'{{"type": "service_account", "private_key": "{key}\\n"}}'))
    return found
