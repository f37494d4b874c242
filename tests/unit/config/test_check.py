from remora.config.check import check
from remora.config.model import Config


def issues(data):
    return [(issue.path, issue.message, issue.hint) for issue in check(Config, data)[1]]


def test_nothing_is_wrong():
    config, found = check(Config, {"servers": {"a": {"command": "x"}}})
    assert found == []
    assert list(config.servers) == ["a"]


def test_everything_is_told_at_once_and_the_rest_is_kept():
    data = {
        "log_level": "inf",
        "http": {"port": 70000, "prot": 1},
        "servers": {
            "a": {"command": "x", "prefx": "y"},
            "A": {"command": "x"},
            "b": {},
            "c": {"command": "x", "call_timeout_seconds": 999},
        },
    }
    config, found = check(Config, data)
    assert {issue.path for issue in found} == {
        ("log_level",),
        ("http", "port"),
        ("http", "prot"),
        ("servers", "a", "prefx"),
        ("servers", "A"),
        ("servers", "b"),
        ("servers", "c", "call_timeout_seconds"),
    }
    assert [issue.path for issue in found if issue.broken_server] == [("servers", "b")]
    assert list(config.servers) == ["a", "c"]
    assert data["http"] == {"port": 70000, "prot": 1}


def test_messages_and_hints():
    assert issues({"log_level": "inf"}) == [
        (
            ("log_level",),
            """should be 'trace', 'debug', 'info', 'warning' or 'error', not "inf\"""",
            'did you mean "info"?',
        )
    ]
    assert issues({"http": {"port": True}}) == [(("http", "port"), "should be a whole number, not true or false", "")]
    assert issues({"http": {"port": -1}}) == [(("http", "port"), "should be at least 0, not -1", "")]
    assert issues({"http": 3}) == [(("http",), "should be a table, not a number", "")]
    assert issues({"servers": {"a": "x"}}) == [(("servers", "a"), "should be a table, not text", "")]
    assert issues({"prt": 1, "port": 1}) == [
        (("prt",), 'unknown key "prt"', ""),
        (("port",), 'unknown key "port"', "it belongs in [http]"),
    ]
    assert issues({"catalog": {"mode": 1}}) == [
        (("catalog", "mode"), "should be 'slim', 'full' or 'lazy', not a number", "")
    ]


def test_a_value_of_the_wrong_type_is_not_shown():
    data = {"servers": {"a": {"command": "x", "env": {"K": ["hush"]}, "headers": "hush"}}}
    assert "hush" not in str(issues(data))


def test_a_bad_element_of_a_list_is_pointed_at():
    data = {"gateway": {"client_names": ["a", 1, 2]}}
    assert [path for path, _, _ in issues(data)] == [("gateway", "client_names", 1), ("gateway", "client_names", 2)]


def test_a_deadline_beside_a_mistake_is_not_another_mistake():
    assert len(issues({"gateway": {"call_timeout_seconds": 50, "overall_deadline_seconds": 20}})) == 1
    assert len(issues({"gateway": {"call_timeout_seconds": 300, "overall_deadline_seconds": "300"}})) == 1
    slow = {"command": "x", "call_timeout_seconds": 300}
    assert len(issues({"servers": {"a": dict(slow), "b": dict(slow)}})) == 2


def test_three_servers_of_one_prefix_are_two_mistakes():
    assert len(issues({"servers": {name: {"command": "x", "prefix": "p"} for name in "abc"}})) == 2
