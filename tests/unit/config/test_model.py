import pytest
from pydantic import ValidationError

from remora.config.model import INHERITED, Config, GatewayConfig, ServerConfig, derived_prefix


def server(**keys):
    return {"command": "run"} | keys


def errors(data):
    with pytest.raises(ValidationError) as caught:
        Config.model_validate(data)
    return [error["msg"] for error in caught.value.errors()]


def test_nothing_written_is_a_valid_configuration():
    config = Config()
    assert config.servers == {}
    assert (config.http.host, config.http.port, config.catalog.mode) == ("127.0.0.1", 7437, "slim")
    assert config.auth.anonymous == "off"


def test_a_configuration_cannot_be_changed_in_place():
    with pytest.raises(ValidationError):
        Config().http.port = 1  # type: ignore[misc]


def test_every_gateway_default_but_the_client_names_can_be_set_per_server():
    own = set(GatewayConfig.model_fields) - {"client_names"}
    assert own < set(INHERITED)
    assert set(INHERITED) <= set(ServerConfig.model_fields)


def test_a_server_inherits_what_it_leaves_out():
    config = Config.model_validate(
        {
            "gateway": {"call_timeout_seconds": 20, "env_inherit": ["A"]},
            "catalog": {"mode": "full", "max_description_chars": 7},
            "pipeline": {"structured": "drop"},
            "servers": {"a": server(), "b": server(call_timeout_seconds=5.0, catalog_mode="slim", env_inherit="all")},
        }
    )
    a, b = config.server("a"), config.server("b")
    assert (a.call_timeout_seconds, a.env_inherit, a.catalog_mode) == (20, ("A",), "full")
    assert (a.max_description_chars, a.structured) == (7, "drop")
    assert (b.call_timeout_seconds, b.env_inherit, b.catalog_mode) == (5, "all", "slim")
    assert b.max_description_chars == 7


def test_a_default_written_out_is_not_inherited_over():
    config = Config.model_validate({"catalog": {"mode": "full"}, "servers": {"a": server(catalog_mode="slim")}})
    assert config.server("a").catalog_mode == "slim"


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ({"command": "x"}, "stdio"),
        ({"url": "http://x"}, "http"),
        ({"url": "http://x", "transport": "sse"}, "sse"),
        ({"url": "http://x", "transport": "streamable_http"}, "http"),
        ({"url": "${BASE}/mcp", "transport": "streamable-http"}, "http"),
    ],
)
def test_kind_of_connection(keys, kind):
    assert ServerConfig.model_validate(keys).kind == kind


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "has neither command nor url"),
        ({"command": "  "}, "has neither command nor url"),
        ({"command": "x", "url": "http://x"}, "has both command and url"),
        ({"command": "x", "transport": "http"}, 'transport = "http" needs url'),
        ({"url": "http://x", "transport": "stdio"}, 'transport = "stdio" needs command'),
        ({"url": "localhost:3000"}, "url must begin with http:// or https://"),
        ({"command": "x", "env": {"ld_preload": "e"}}, "env sets ld_preload, which can run foreign code"),
        ({"command": "x", "prefix": "a__b"}, 'prefix "a__b" is not usable in tool names'),
        ({"command": "x", "prefix": "a" * 25}, f'prefix "{"a" * 25}" is not usable in tool names'),
        ({"url": "http://x", "auth": {"type": "bearer"}}, "a bearer login needs a token"),
        ({"url": "http://x", "auth": {"token": "t"}}, "a token is given, but the login type is none"),
    ],
)
def test_a_server_that_cannot_be(keys, message):
    assert errors({"servers": {"a": keys}}) == [message]


def test_dangerous_variables_are_accepted_when_meant():
    keys = server(env={"PYTHONPATH": "."}, allow_dangerous_env=True)
    assert Config.model_validate({"servers": {"a": keys}}).server("a").env == {"PYTHONPATH": "."}


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("git", "git"),
        ("my server!", "my-server-"),
        ("a__b", "a_b"),
        ("_x", "x"),
        ("x" * 30, "x" * 24),
        ("größe", "gr--e"),
        ("→", ""),
    ],
)
def test_prefix_from_a_name(name, prefix):
    assert derived_prefix(name) == prefix


def test_prefixes_stand_in_config_order():
    config = Config.model_validate({"servers": {"z.z": server(), "a": server(prefix="first")}})
    assert list(config.prefixes().items()) == [("z.z", "z-z"), ("a", "first")]


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ({"git": server(), "x": server(prefix="GIT")}, 'servers "git" and "x" have the same prefix "GIT"'),
        ({"→": server()}, 'no prefix can be derived from the name "→"'),
        ({"Remora": server()}, 'prefix "Remora" is the name of a tool of our own'),
        ({"a": server(bare_names=True), "b": server(bare_names=True)}, 'servers "a" and "b" both set bare_names'),
    ],
)
def test_servers_that_do_not_fit_together(servers, message):
    assert errors({"servers": servers}) == [message]


def test_a_call_may_not_outlast_the_deadline():
    expected = "call_timeout_seconds (200) is longer than overall_deadline_seconds (180)"
    assert errors({"gateway": {"call_timeout_seconds": 200}}) == [expected]
    assert errors({"servers": {"a": server(call_timeout_seconds=200)}}) == [expected]
    both = server(call_timeout_seconds=200, overall_deadline_seconds=200)
    assert Config.model_validate({"servers": {"a": both}}).server("a").overall_deadline_seconds == 200


@pytest.mark.parametrize(
    "data",
    [
        {"http": {"port": 65536}},
        {"http": {"port": -1}},
        {"http": {"port": "80"}},
        {"http": {"port": 80.0}},
        {"http": {"enabled": 1}},
        {"http": {"max_body_bytes": 0}},
        {"gateway": {"connect_timeout_seconds": 0}},
        {"gateway": {"connect_timeout_seconds": float("inf")}},
        {"gateway": {"max_retries": -1}},
        {"gateway": {"client_names": []}},
        {"gateway": {"client_names": "rem"}},
        {"gateway": {"env_inherit": "none"}},
        {"gateway": {"env_inherit": [1]}},
        {"catalog": {"mode": "thin"}},
        {"catalog": {"ttl_ms": -1}},
        {"observability": {"sampling_rate": 1.1}},
        {"auth": {"anonymous": True}},
        {"schema_version": 2},
    ],
)
def test_values_out_of_range_or_of_the_wrong_type(data):
    assert len(errors(data)) == 1


@pytest.mark.parametrize(
    "data",
    [{"daemon": {}}, {"stash": {}}, {"gateway": {"prefix": "x"}}, {"servers": {"a": server(local=True)}}],
)
def test_unknown_keys_are_errors(data):
    assert errors(data) == ["Extra inputs are not permitted"]


def test_secrets_do_not_show_in_a_printed_configuration():
    auth = {"type": "bearer", "token": "hush"}
    keys = {"url": "http://x", "headers": {"A": "hush"}, "env": {"B": "hush"}, "auth": auth}
    assert "hush" not in repr(Config.model_validate({"servers": {"a": keys}}))
