from __future__ import annotations

import threading

from remora.model.memory import content_hash, decode_ulid, encode_ulid, is_ulid, new_id


def test_ids_sort_in_the_order_they_were_made() -> None:
    ids = [new_id() for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert all(map(is_ulid, ids))


def test_threads_never_get_the_same_id() -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.extend(new_id() for _ in range(500))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2000


def test_an_id_of_another_time_begins_like_that_time() -> None:
    at = 1_700_000_000_000_000
    assert new_id(at)[:10] == encode_ulid(at // 1000 << 80)[:10]
    assert decode_ulid(encode_ulid(12345)) == 12345


def test_what_is_no_ulid() -> None:
    assert not is_ulid("8" * 26)
    assert not is_ulid("01ARZ3NDEKTSV4RRFFQ69G5FAU")
    assert not is_ulid("01ARZ3NDEKTSV4RRFFQ69G5FA")


def test_the_hash_keeps_case() -> None:
    assert content_hash("FOO") != content_hash("foo")
