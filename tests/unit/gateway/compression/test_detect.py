from __future__ import annotations

import pytest

from remora.gateway.compression.detect import Hints, detect

SAMPLES = {
    "json": '{"a": [1, 2, {"b": null}]}',
    "ndjson": '{"a":1}\n{"a":2}\n{"a":3}\n',
    "html": "<!DOCTYPE html><html><body><p>x</p></body></html>",
    "xml": '<config><db host="a"/><x>1</x></config>',
    "diff": "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n",
    "csv": "a,b\n1,2\n3,4\n5,6\n7,8\n9,10\n",
    "snapshot": '- main [ref=e1]:\n  - heading "T" [level=1] [ref=e2]\n  - button "Go" [ref=e3]\n',
    "grep": "src/a.py:1:x = 1\nsrc/a.py:20:y = 2\nsrc/b.py:3:import z\n",
    "log": "2026-01-01T10:00:00Z INFO a\n2026-01-01T10:00:01Z WARN b\n2026-01-01T10:00:02Z ERROR c\n",
    "listing": "src/a.py\nsrc/b.py\nsrc/c/d.py\nREADME.md\ntests/test_a.py\n",
    "table": "NAME    READY   AGE\npod-a   1/1     3d\npod-b   0/1     4d\npod-c   1/1     5d\npod-d   1/1     6d\n",
    "yaml": "name: x\nversion: 1\nitems:\n  - a\n  - b\n",
    "python": "# one\n# two\nimport os\n\n\ndef f(x):\n    return os.path.join(x)\n\n\nclass A:\n    pass\n",
    "markdown": "# Title\n\nSome words that form a sentence here.\n\n## Part\n\n- a list of things\n- another thing\n",
    "code": "function f(x) {\n  const y = x;\n  return y;\n}\nexport function g() {\n  return 1;\n}\n",
    "gitlog": "commit 0123456789abcdef\nAuthor: A\n\n    one\n\ncommit 1123456789abcdef\nAuthor: B\n\n    two\n",
    "test": "tests/test_a.py::test_one PASSED [ 50%]\ntests/test_a.py::test_two FAILED [100%]\n",
    "prose": "It was a bright cold day in April and the clocks were striking thirteen when he came home.\n",
}


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_content_tells_the_kind(kind: str) -> None:
    assert detect(SAMPLES[kind]) == kind


def test_a_hint_counts_unless_the_content_contradicts_it() -> None:
    assert detect("# a\n# b\nx = 1\n", Hints(arguments={"path": "x.py"})) == "python"
    assert detect("not json at all", Hints(mime="application/json")) != "json"
    assert detect("plain words here and there", Hints(arguments={"path": "README.md"})) == "markdown"


def test_file_reads_are_known_by_tool_and_path() -> None:
    assert Hints(tool="fs__read_file", arguments={"path": "a"}).file_read
    assert not Hints(tool="fs__read_file").file_read
    assert not Hints(tool="thread_list", arguments={"path": "a"}).file_read
    assert Hints(tool="readFile", arguments={"path": "a", "offset": 3}).slice_read
    assert not Hints(tool="read_file", arguments={"path": "a"}, verbatim=False).file_read
