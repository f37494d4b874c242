from remora.config.problems import InvalidConfig, Problem


def test_a_problem_reads_from_place_to_cure():
    assert str(Problem("c.toml", 3, "http.port", "is odd", "try 4")) == "c.toml:3: http.port: is odd (try 4)"
    assert str(Problem("REMORA_X", None, "", "is odd")) == "REMORA_X: is odd"


def test_all_problems_are_told_together():
    problems = [Problem("c", 1, "a", "x"), Problem("c", 2, "b", "y")]
    error = InvalidConfig(problems, path="c")
    assert str(error) == "c:1: a: x\nc:2: b: y"
    assert (error.exit_code, error.code, error.path) == (3, "config_invalid", "c")
    assert error.problems == tuple(problems)
