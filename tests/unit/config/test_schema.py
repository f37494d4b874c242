import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from remora.config.schema import SHIPPED, json_schema, main, reference, schema_text, with_reference

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_shipped_schema_is_current():
    assert SHIPPED.read_text(encoding="utf-8") == schema_text(), "run: python -m remora.config.schema"


def test_the_reference_in_the_documentation_is_current():
    page = PAGE.read_text(encoding="utf-8")
    assert with_reference(page) == page, "run: python -m remora.config.schema docs/configuration.md"


def test_the_schema_is_a_schema_of_2020_12():
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("", True),
        ('[servers.a]\ncommand = "x"\nenv_inherit = ["A"]\n[servers.a.tools.t]\ntitle = "T"\n', True),
        ("[http]\nport = 70000\n", False),
        ("[http]\nprot = 1\n", False),
        ('[catalog]\nmode = "thin"\n', False),
    ],
)
def test_the_schema_judges_files_as_we_do(text, valid):
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(tomllib.loads(text)) is valid


def test_inherited_keys_have_no_default_of_their_own():
    server = json_schema()["$defs"]["ServerConfig"]["properties"]
    assert "default" not in server["call_timeout_seconds"]
    assert server["enabled"]["default"] is True


def test_the_examples_of_the_documentation_are_valid():
    blocks = PAGE.read_text(encoding="utf-8").split("```toml\n")[1:]
    files = [tomllib.loads(block.split("```")[0]) for block in blocks]
    assert len(files) == 3
    for data in files:
        if "project" not in data:
            jsonschema.validate(data, json_schema())


def test_rows_of_the_reference():
    text = reference()
    assert "| `port` ↻ | whole number ≥ 0 ≤ 65535 | `7437` | Port to bind; 0 = any free port. |" in text
    assert '| `mode` ◇ | `"slim"`, `"full"`, `"lazy"` | `"slim"` |' in text
    assert "| `max_retries` | whole number ≥ 0 | inherited |" in text
    assert "| `safe` | true, false | unset |" in text


def test_writing_both_anew(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{PAGE.read_text().partition('## Reference')[2]}after\n")
    monkeypatch.setattr("remora.config.schema.SHIPPED", tmp_path / "schema.json")
    main([str(page)])
    assert json.loads((tmp_path / "schema.json").read_text()) == json_schema()
    assert reference() in page.read_text()
    assert page.read_text().endswith("after\n")
