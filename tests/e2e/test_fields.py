"""REST, MCP, the verbs and the stored form describe the same thing with the same field names."""

import json

import pytest

# The reference has these names, so answers of tools keep them.
OLD_NAMES = {"session_id": "id", "runtime": "language"}


@pytest.fixture(scope="module")
def session(serving):
    return serving.create()


def names(value, path=""):
    """The names of all fields, with those of the fields around them: usage.disks.size."""
    if isinstance(value, dict):
        return {name for key, inner in value.items() for name in {f"{path}{key}", *names(inner, f"{path}{key}.")}}
    return {name for inner in value for name in names(inner, path)} if isinstance(value, list) else set()


def renamed(fields):
    return {OLD_NAMES.get(name, name): value for name, value in fields.items()}


def test_a_session_has_the_same_fields_everywhere(serving):
    session = serving.create(name="fields", labels={"team": "data"})
    serving.run(session, "import array\nheld = array.array('d', [1.0])")
    serving.call("POST", f"/v1/sessions/{session}/runs", {"text": "while True: pass"}).ok()
    rest = serving.call("GET", f"/v1/sessions/{session}").ok().json
    tool = renamed(serving.call_tool("session_info", {"session_id": session}))
    assert names(tool) - {"success", "note"} == names(rest)
    assert {name: tool[name] for name in ("id", "name", "language", "labels", "limits")} == {
        name: rest[name] for name in ("id", "name", "language", "labels", "limits")}
    assert tool["usage"]["variables"] == rest["usage"]["variables"] and tool["runs"][0]["kind"] == rest["runs"][0]["kind"] == "cell"
    [listed] = [one for one in serving.call_tool("session_info", {})["sessions"] if one["session_id"] == session]
    assert names(renamed(listed)) <= names(rest)
    [everywhere] = [one for one in serving.call("GET", "/v1/sessions?all=true").ok().json["sessions"] if one["id"] == session]
    [printed] = [one for one in json.loads(serving.husk("ps", "--json").stdout)["sessions"] if one["id"] == session]
    assert names(printed) - {"owner"} == names(everywhere)
    serving.call("DELETE", f"/v1/sessions/{session}").ok()


def test_a_run_has_the_same_fields_everywhere(serving, session):
    code = "import sys\nprint(1)\nprint(2, file=sys.stderr)\n3"
    rest = serving.run(session, code)
    tool = serving.call_tool("execute_code", {"session_id": session, "code": code})
    same = ("ending", "stdout", "result")
    assert [tool[name] for name in same] == [rest[name] for name in same]
    of_results = {"stdout", "stderr", "display_outputs", "displays_dropped", "success", "session_id", "signal", "error", "hint", "detail",
                  "exit_code", "stdout_truncated", "stderr_truncated"}
    assert names(tool) - names(rest) <= of_results, "a name that the record of a run does not have"


def test_an_export_has_the_same_fields_everywhere(serving, session):
    serving.call("PUT", f"/v1/sessions/{session}/files/workspace/fields.txt", b"1").ok()
    [made] = serving.call("POST", f"/v1/sessions/{session}/exports", {"files": [{"path": "fields.txt"}]}).ok().json["files"]
    [tool] = serving.call_tool("export_files", {"session_id": session, "files": [{"source": "fields.txt"}]})["files"]
    tool["session"] = tool.pop("session_id")
    assert names(made["export"]) - names(tool) == {"conversation", "stored"}
    assert names(tool) - names(made["export"]) == {"success"}
    assert (tool["hash"], tool["hash_kind"], tool["mime"]) == tuple(made["export"][name] for name in ("hash", "hash_kind", "mime"))
    [printed] = [one for one in json.loads(serving.husk("exports", "--all", "--json").stdout)["exports"] if one["id"] == tool["id"]]
    assert names(printed) - names(made["export"]) == {"host_path"}


def test_the_doctor_has_the_same_fields_everywhere(serving):
    rest, printed = serving.call("GET", "/v1/doctor").ok().json, json.loads(serving.husk("doctor", "--json", check=False).stdout)
    assert names(rest) == names(printed) == {"ok", "version", "checks", "checks.name", "checks.status", "checks.detail", "checks.fix"}
