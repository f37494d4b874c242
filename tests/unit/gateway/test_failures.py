from remora.errors import UpstreamError
from remora.gateway.failures import failure_data, failure_result, failure_text


class Away(UpstreamError):
    code = "unavailable"


def test_a_failure_names_the_server_the_cause_and_when_to_try_again():
    problem = Away("connect refused", retry_after=4.2)
    assert failure_text("git", problem) == 'remora: server "git" is unavailable (connect refused); next attempt in 4 s'
    data = failure_data("git", "git__log", problem, "trace")
    assert (data["code"], data["retry_after_ms"], data["trace_id"]) == ("unavailable", 4200, "trace")
    made = failure_result("git", "git__log", problem, "trace")
    assert made["isError"] is True
    assert made["_meta"]["remora/error"] == data
