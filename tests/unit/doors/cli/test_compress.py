from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import Run

LOG = "".join(f"2026-01-01T00:00:{n % 60:02d} INFO request {n} served in 12 ms\n" for n in range(800))
LOG = LOG[:20_000] + "2026-01-01T00:00:00 ERROR disk full on node-7\n" + LOG[20_000:]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app.log"
    path.write_text(LOG)
    return path


def test_the_result_is_on_stdout_and_the_figures_beside_it(run: Run, log: Path) -> None:
    done = run("compress", str(log), "--budget", "400")
    assert done.code == 0
    assert "ERROR disk full on node-7" in done.out
    assert "[rem: kept" in done.out
    assert "auto→log" in done.err
    assert "tokens" in done.err
    assert " ms" in done.err
    assert run("compress", str(log), "--budget", "400", "--quiet").err == ""


def test_all_of_it_as_one_document(run: Run, log: Path) -> None:
    document = run("compress", str(log), "--ratio", "0.1", "--query", "disk full", "--json").document
    assert set(document) == {"text", "type", "strategy", "tokens_in", "tokens_out", "ratio", "omitted", "handle",
                             "scorer", "ms"}  # fmt: skip
    assert len(document["text"]) <= 0.1 * len(LOG)
    assert document["omitted"]["kept"] < document["omitted"]["total"]
    assert document["handle"] == hashlib.sha256(LOG.encode()).hexdigest()[:16]


def test_explained(run: Run, log: Path) -> None:
    told = run("compress", str(log), "--budget", "400", "--query", "disk", "--explain").err
    for word in ("type", "strategy", "tokens", "kept", "query", "handle", "time"):
        assert f"\n{word}" in f"\n{told}"


def test_a_text_that_fits_passes_byte_for_byte(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"one":\r\n  1.0}')
    assert run("compress", str(path)).out == '{"one":\r\n  1.0}'
    assert run("compress", str(path), "--strategy", "none").out == '{"one":\r\n  1.0}'


def test_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
    assert run("compress", "-", "--budget", "400", "--json").document["tokens_out"] <= 400


def test_what_cannot_be_done(run: Run, log: Path, tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff\xfe")
    assert run("compress", str(log), "--strategy", "magic").code == 2
    assert run("compress", str(log), "--budget", "400", "--ratio", "0.5").code == 2
    assert run("compress", str(log), "--ratio", "2").code == 2
    assert run("compress", str(tmp_path / "picture")).code == 2
    assert run("compress", str(tmp_path / "nothing")).code == 1
    assert run("compress").code == 2


def test_nothing_is_stored(run: Run, log: Path, home: Path) -> None:
    run("compress", str(log), "--budget", "400")
    assert not home.exists()


def test_a_document_hides_secrets_and_the_text_does_not(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "env"
    path.write_text("AWS_KEY=AKIAIOSFODNN7EXAMPLQ\n")
    assert "AKIAIOSFODNN7EXAMPLQ" in run("compress", str(path)).out
    assert "AKIAIOSFODNN7EXAMPLQ" not in run("compress", str(path), "--json").out
