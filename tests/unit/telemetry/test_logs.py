from __future__ import annotations

import json
import logging
import multiprocessing
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remora.telemetry import logs
from remora.telemetry.logs import TRACE, RotatingFile, UpstreamLog, setup_logging

PASSWORD = "tundra!Maple77"


@pytest.fixture
def lines(tmp_path) -> Iterator[Any]:
    root, ours = logging.getLogger(), logging.getLogger("remora")
    before = (list(root.handlers), root.level, ours.level)
    yield lambda: [json.loads(line) for line in (tmp_path / "remora.log").read_text("utf-8").splitlines()]
    for handler in [one for one in root.handlers if one not in before[0]]:
        root.removeHandler(handler)
    root.setLevel(before[1])
    ours.setLevel(before[2])


def test_importing_is_cheap():
    code = (
        "import sys, remora.telemetry.logs;"
        "heavy = {'logging.handlers', 'socket', 'asyncio', 'remora.privacy.secrets'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_json_line_a_record(tmp_path, lines):
    setup_logging(tmp_path, "info", stderr=False)
    logging.getLogger("remora.gateway").info("server %s: ready", "git")
    (line,) = lines()
    assert line["message"] == "server git: ready"
    assert (line["level"], line["logger"], line["pid"]) == ("info", "remora.gateway", os.getpid())
    assert line["ts"].endswith("Z")
    assert stat.S_IMODE((tmp_path / "remora.log").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("level", "seen"),
    [
        ("trace", ["trace", "debug", "info", "warning", "error"]),
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_levels(tmp_path, lines, level, seen):
    setup_logging(tmp_path, level, stderr=False)
    logger = logging.getLogger("remora.x")
    for number in (TRACE, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        logger.log(number, "said")
    assert [line["level"] for line in lines()] == seen


def test_libraries_only_warn(tmp_path, lines):
    setup_logging(tmp_path, "trace", stderr=False)
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("some.library").warning("trouble")
    assert [line["message"] for line in lines()] == ["trouble"]


def test_setting_up_again_replaces(tmp_path, lines, capsys):
    setup_logging(tmp_path / "old", "info", stderr=True)
    setup_logging(tmp_path, "info", stderr=False)
    logging.getLogger("remora").info("once")
    assert len(lines()) == 1
    assert not (tmp_path / "old").exists()
    assert capsys.readouterr().err == ""


def test_secrets_and_personal_data_are_in_neither_output(tmp_path, lines, capsys):
    setup_logging(tmp_path, "info", stderr=True)
    logger = logging.getLogger("remora")
    logger.info("connecting with password=%s for %s", PASSWORD, "ann@example.org")
    try:
        raise ValueError(f"password={PASSWORD}")
    except ValueError:
        logger.exception("failed")
    text = (tmp_path / "remora.log").read_text("utf-8") + capsys.readouterr().err
    assert PASSWORD not in text
    assert "ann@" not in text
    assert "‹redacted:password›" in text
    assert "ValueError" in lines()[1]["trace"]


def test_nobody_forges_a_line(tmp_path, lines, capsys):
    setup_logging(tmp_path, "info", stderr=True)
    logging.getLogger("remora").warning("a\nremora: error: b\x1b[2J\u2028c\x85d")
    assert lines()[0]["message"] == "a\nremora: error: b\x1b[2J\u2028c\x85d"
    assert len((tmp_path / "remora.log").read_text("utf-8").splitlines()) == 1
    assert capsys.readouterr().err == "remora: warning: a\\u000aremora: error: b\\u001b[2J\\u2028c\\u0085d\n"


def test_odd_records_do_not_raise(tmp_path, lines, monkeypatch):
    setup_logging(tmp_path, "info", stderr=True)
    monkeypatch.setattr(sys, "stderr", None)
    ours = [one for one in logging.getLogger().handlers if type(one).__module__ == logs.__name__]
    for message, args in (("%d and %s", ("no number",)), ("\ud800 alone", ()), ("x" * 1_000_000, ())):
        for handler in ours:  # pytest's own handlers would raise
            handler.handle(logging.LogRecord("remora", logging.WARNING, "", 0, message, args, None))
    assert len(lines()) == 3
    assert len(lines()[2]["message"]) < 10_000


def test_a_file_turns_over_by_size(tmp_path):
    file = RotatingFile(tmp_path / "a.log", 100, 3)
    for number in range(40):
        file.write(b"%039d\n" % number)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a.log", "a.log.1", "a.log.2", "a.log.3"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    assert int((tmp_path / "a.log").read_text().split()[-1]) == 39
    assert int((tmp_path / "a.log.3").read_text().split()[0]) == 32


def fill(path: Path, name: int) -> None:
    file = RotatingFile(path, 2_000, 400)
    for number in range(200):
        file.write(b"%d-%06d\n" % (name, number))


def test_several_processes_share_a_file_that_turns_over(tmp_path):
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=fill, args=(tmp_path / "a.log", name)) for name in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    written = [line for path in tmp_path.iterdir() for line in path.read_text().split()]
    assert len(written) == len(set(written)) == 600


def test_a_log_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    RotatingFile(tmp_path / "file" / "a.log", 100, 1).write(b"x")


def written(folder: Path, name: str = "git") -> str:
    logs._writer.drain()
    text = (folder / f"upstream-{name}.log").read_text("utf-8")
    return "\n".join(line.partition(" ")[2] for line in text.splitlines())


def test_an_upstreams_lines_are_put_together_and_stamped(tmp_path):
    log = UpstreamLog(tmp_path, "git")
    for piece in (b"starting\r\nlist", b"ening on 1", b"23\nno end"):
        log.write(piece)
    assert written(tmp_path) == "starting\nlistening on 123\nno end"
    assert (tmp_path / "upstream-git.log").read_text().startswith("20")


def test_an_upstreams_secrets_are_redacted_also_across_pieces_and_lines(tmp_path):
    log = UpstreamLog(tmp_path, "git")
    log.write(b"GITHUB_TOKEN=abcdef012345")
    log.write(b"6789abcdef x\n")
    dashes = b"-" * 5
    body = b"\n".join([b"A1b2C3d4" * 8] * 5)
    log.write(b"key: " + dashes + b"BEGIN RSA PRIVATE KEY" + dashes + b"\n" + body[:100])
    log.write(body[100:] + b"\n" + dashes + b"END RSA PRIVATE KEY" + dashes + b"\nafter\n")
    text = written(tmp_path)
    assert "0123456789" not in text
    assert "A1b2" not in text
    assert text.splitlines()[0] == "GITHUB_TOKEN=‹redacted:token› x"
    assert text.splitlines()[-1] == "after"


def test_long_lines_are_cut_and_bytes_that_are_no_text_survive(tmp_path):
    log = UpstreamLog(tmp_path, "git")
    log.write(b"\xff\xfe\x00\x1b[31m\n")
    log.write(b"x" * 100_000)
    log.write(b"y\n")
    first, *rest = written(tmp_path).splitlines()
    assert first == "��\\u0000\\u001b[31m"
    assert max(map(len, rest)) < 10_000


def test_what_comes_too_fast_is_left_out_and_said_so(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "PENDING_LIMIT", 100)
    log, hold = UpstreamLog(tmp_path, "git"), threading.Event()
    monkeypatch.setattr(logs, "_redacted", lambda text: text if hold.wait() else "")
    log.write(b"z" * 150 + b"\n")
    log.write(b"lost\n")
    hold.set()
    logs._writer.drain()
    log.write(b"then\n")
    assert written(tmp_path).splitlines()[1:] == ["then", "(5 bytes came too fast and were left out)"]


def test_a_name_is_no_path(tmp_path):
    UpstreamLog(tmp_path / "logs", "../../etc/x").write(b"a\n")
    assert written(tmp_path / "logs", ".._.._etc_x") == "a"


def test_an_upstreams_log_turns_over_and_leaves_no_descriptor_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for number in range(30):
        UpstreamLog(tmp_path, f"s{number}").write(b"x\n")
        UpstreamLog(tmp_path, "git").write((b"z" * 1000 + b"\n") * 200)
        logs._writer.drain()
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(list(tmp_path.glob("upstream-git.log*"))) == 4
    assert all(path.stat().st_size <= 1_000_000 for path in tmp_path.iterdir())
