from __future__ import annotations

import json

from remora.gateway.compression.job import Job
from remora.gateway.compression.strategies import table

ROWS = [{"id": i, "name": f"thing {i}", "state": "ok"} for i in range(200)]


def test_arrays_of_like_objects_become_one_table() -> None:
    draft = table.run(Job(json.dumps(ROWS), "json", 1_500))
    shown = json.loads(draft.body)
    assert (draft.label, draft.unit, shown["rem"], shown["total"]) == ("table", "rows", "table/1", 200)
    assert len(draft.body) <= 1_500


def test_lines_of_json_too() -> None:
    text = "\n".join(map(json.dumps, ROWS))
    draft = table.run(Job(text, "ndjson", 1_500))
    assert (draft.label, json.loads(draft.body)["total"]) == ("table:ndjson", 200)
    unlike = "\n".join(json.dumps({f"k{i}": i}) for i in range(200))
    assert table.run(Job(unlike, "ndjson", 500)).unit == "lines"


def test_rows_of_csv_and_what_is_no_table() -> None:
    text = "id,name\n" + "\n".join(f"{i},thing {i}" for i in range(200))
    assert table.run(Job(text, "csv", 600)).label == "table"
    assert table.run(Job(json.dumps({"a": "b" * 900}), "json", 300)).label == "table→extract_fields"
