import os

from remora.gateway.cache.epochs import Epochs


def test_a_write_makes_the_number_of_its_server_a_new_one_for_every_engine(tmp_path):
    one, two = Epochs(tmp_path / "epochs"), Epochs(tmp_path / "epochs")
    assert one.of("a", "b") == two.of("a", "b")
    before = one.of("a", "b")
    two.renew(["a"])
    after = one.of("a", "b")
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] != before[1]
    one.renew_all()
    assert two.of()[0] != before[0]
    one.close()
    two.close()


def test_numbers_outlive_an_engine_that_ends_in_order(tmp_path):
    one = Epochs(tmp_path / "epochs")
    one.renew(["a"])
    before = one.of("a")
    one.close()
    two = Epochs(tmp_path / "epochs")
    assert two.of("a") == before
    two._numbers.close()  # as if it had been killed
    os.close(two._file)
    two._file = None
    three = Epochs(tmp_path / "epochs")
    assert three.of("a") != before
    three.close()


def test_a_file_that_was_removed_is_made_anew(tmp_path):
    one = Epochs(tmp_path / "epochs")
    before = one.of("a")
    (tmp_path / "epochs").unlink()
    assert one.of("a") != before
    assert (tmp_path / "epochs").stat().st_mode & 0o777 == 0o600
    one.close()


def test_without_a_file_numbers_are_its_own(tmp_path):
    one = Epochs(tmp_path / "none" / "epochs")
    before = one.of("a")
    assert one.of("a") == before
    one.renew(["a"])
    assert one.of("a") != before
    one.close()
