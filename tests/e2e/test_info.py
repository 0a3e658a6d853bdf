"""session_info: sessions and their state; a new interpreter on request, and what is lost with the old one."""

import pytest
from harness import wait_until


def info_of(server, **arguments):
    answer = server.call("session_info", arguments)
    assert not answer.is_error and answer.fields["success"] is True, answer.text
    return answer.fields


def look(session, **more):
    return info_of(session.server, session_id=session.id, **more)


def names(info):
    return [variable["name"] for variable in info["usage"]["variables"]]


def test_without_an_id_the_sessions_of_the_conversation_are_listed(server):
    assert info_of(server)["sessions"] == []
    session = server.session(network=False)
    [listed] = info_of(server)["sessions"]
    assert (listed["session_id"], listed["runtime"], listed["status"]) == (session.id, "python", "running")
    session.stop()
    assert info_of(server)["sessions"] == []


def test_a_session_shows_its_limits_time_and_variables(start):
    server = start(CONTAINER_MEMORY_LIMIT="512m", CONTAINER_TMPFS_SIZE="64m", SESSION_MAX_LIFETIME_SECONDS="3600")
    session = server.session(network=False)
    session.code("import numpy, pandas\na = numpy.zeros((1000, 50))\ndf = pandas.DataFrame({'n': range(10)})\nword = 'x' * 100\n_hidden = 1").ok()
    session.shell("head -c 1000000 /dev/zero >/workspace/f").ok()
    session.code("import os\n_pty = os.openpty()").ok()
    info = look(session)
    usage = info["usage"]
    assert usage["ptys"] == 1
    assert usage["variables"][0] == {"name": "a", "type": "numpy.ndarray", "shape": "1000 x 50", "bytes": 400000}
    assert {v["name"]: v.get("shape") for v in usage["variables"]} == {"a": "1000 x 50", "df": "10 x 1", "word": "100"}
    sizes = [v["bytes"] for v in usage["variables"]]
    assert sizes == sorted(sizes, reverse=True), "the largest first"
    assert usage["memory_limit"] == info["limits"]["memory"] == 512 << 20 and 10 << 20 < usage["memory"] < 512 << 20
    disks = {disk["path"]: disk for disk in usage["disks"]}
    assert disks["/workspace"]["size"] == 64 << 20 and disks["/workspace"]["used"] >= 1000000
    assert 3000 < info["seconds_left"] <= 3600 and info["idle_seconds_left"] > 0
    assert info["runs"] == [] and "note" not in info


def test_nothing_with_side_effects_is_evaluated(own_session):
    trap = "\n".join(f"    def {name}(self, *_): open('/workspace/ran', 'a').write('{name} ')" for name in
                     ("__len__", "__repr__", "__str__", "__sizeof__", "__getattribute__", "__iter__", "__hash__", "__eq__", "__bool__"))
    own_session.code(f"class Trap:\n{trap}\nt = Trap()").ok()
    info = look(own_session)
    assert {"name": "t", "type": "Trap"} in info["usage"]["variables"]
    assert own_session.shell("cat /workspace/ran").ending == "error"


def test_a_running_cell_is_listed_and_not_disturbed(own_session):
    s = own_session
    s.code("x = 1").ok()
    look(s)
    run = s.code("import time\ny = 1\nwhile True: time.sleep(0.01)", wait=0).run
    wait_until(lambda: look(s)["runs"][0]["state"] == "running", what="the cell")
    info = look(s)
    [listed] = info["runs"]
    assert (listed["run"], listed["kind"]) == (run, "cell") and names(info) == ["x"] and "before the running cell" in info["note"]
    assert s.code(run=run, interrupt=True).ending == "interrupted"
    assert set(names(look(s))) == {"x", "y"}


def test_a_look_does_not_count_as_use_but_keep_alive_does(own_session):
    own_session.code("1").ok()
    wait_until(lambda: look(own_session)["idle_seconds"] >= 1, what="a second without use")
    info = look(own_session, keep_alive=True)
    assert info["idle_seconds"] == 0 and info["idle_seconds_left"] >= look(own_session)["idle_seconds_left"]


def test_info_is_complete_after_a_restart_of_the_server(start, tmp_path):
    """The first call waits until the sessions of the ended server are found, whether it lists sessions or fails."""
    first = start(home=tmp_path / "home")
    session = first.session(network=False)
    session.code("x = 1").ok()
    first.kill()
    second = start(home=tmp_path / "home")
    refused = second.call("execute_code", {"session_id": "nosuchsession", "code": "1"})
    assert refused.is_error and session.id in refused.text, refused.text
    second.kill()
    third = start(home=tmp_path / "home")
    assert [entry["session_id"] for entry in info_of(third)["sessions"]] == [session.id]
    assert names(info_of(third, session_id=session.id)) == ["x"]
    third.call("stop_session", {"session_id": session.id})


@pytest.mark.parametrize("tool, arguments, words", [
    ("session_info", {"session_id": "nosuchsession"}, "not found"), ("session_info", {"keep_alive": True}, "keep_alive needs session_id"),
    ("session_info", {"keep_alive": "often"}, "keep_alive must be"), ("session_info", {"id": "x"}, "unknown"),
    ("execute_code", {"session_id": "x", "run": 1, "restart": True}, "restart"), ("execute_code", {"session_id": "x"}, "code is required"),
    ("execute_terminal", {"session_id": "x", "command": "true", "restart": True}, "unknown"),
])
def test_bad_input_is_refused_by_name(shared_server, tool, arguments, words):
    refused = shared_server.call(tool, arguments)
    assert refused.is_error and words in refused.text, refused.text


def test_an_unexpected_restart_names_the_lost_variables(own_session):
    own_session.code("import pandas\ndf = pandas.DataFrame()\nx = 1").ok()
    look(own_session)
    died = own_session.code("import os\nos._exit(3)")
    assert died.ending == "kernel_died" and died.fields["lost_variables"] == "x (int), df (pandas.DataFrame)", died.text
    assert "Lost variables: x (int), df (pandas.DataFrame)." in died.text
    assert "lost_variables" not in own_session.code("1").ok().fields
