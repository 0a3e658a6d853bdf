"""Environment variables and directories: of a session, of one call, and what the history keeps of them."""
# evidence: env-values

import json
import subprocess

import pytest
from harness import clean_env, docker, husk_binary, wait_until

SECRET = "swordfish-5309"


def history(server, session):
    done = subprocess.run([husk_binary(), "history", session.id, "--json"], env=clean_env(server.home), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)["runs"]


def test_a_sessions_variables_and_directory_reach_all_its_processes(server):
    session = server.session(network=False, env={"WORD": SECRET, "LC_TIME": "C"}, cwd="/tmp")
    assert session.code("import os\n(os.environ['WORD'], os.getcwd())").ok().value == f"('{SECRET}', '/tmp')"
    assert session.shell("echo $WORD $LC_TIME; pwd; cd /; export WORD=other").ok().stdout == f"{SECRET} C\n/tmp\n"
    assert session.shell("echo $WORD; pwd").ok().stdout == "other\n/\n"
    assert session.code("os._exit(1)").ending == "kernel_died"
    assert session.code("import os\n(os.environ['WORD'], os.getcwd())").ok().value == f"('{SECRET}', '/tmp')"
    assert SECRET not in docker("inspect", session.container), "never in the container's own environment"


def test_the_home_directory_has_two_names_everywhere(server):
    """Tested here for create_session and execute_terminal, in tests/e2e/test_shell.py for consoles, and in
    tests/scripts for the Python module.
    """
    for name in ("~", "$HOME"):
        session = server.session(network=False, cwd=name)
        assert session.code("import os\nos.getcwd()").ok().value == "'/home/sandbox'"
        assert session.shell("pwd; mkdir -p below; cd /").ok().stdout == "/home/sandbox\n"
        assert session.shell("pwd", cwd=f"{name}/below").ok().stdout == "/home/sandbox/below\n"
        session.stop()


def test_variables_of_a_run_end_with_it_and_only_their_names_are_kept(server):
    session = server.session(network=False)
    assert session.code("import os\nos.environ['KEY']", env={"KEY": SECRET}).ok().value == f"'{SECRET}'"
    assert session.shell("echo $KEY; exit 3", env={"KEY": SECRET, "B": ""}, cwd="/usr").stdout == f"{SECRET}\n"
    assert session.code("'KEY' in os.environ").ok().value == "False"
    assert session.shell("echo ${KEY-none}; pwd").ok().stdout == "none\n/workspace\n"
    server.close_stdin()
    server.process.wait(20)
    assert [row.get("env") for row in history(server, session)] == ["KEY", "KEY B", None, None]
    for path in (server.home / "state").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_sessions_variables_are_in_the_history_by_name(server):
    session = server.session(network=False, env={"TOKEN": SECRET})
    session.code("1").ok()
    server.close_stdin()
    server.process.wait(20)
    first, *_ = history(server, session)
    assert (first["run"], first["kind"], first["env"]) == (0, "create", "TOKEN")


@pytest.mark.parametrize("arguments, words", [
    ({"env": {"A=B": "1"}}, "A=B"), ({"env": {"": "1"}}, "an invalid name"), ({"env": {"a b": "1"}}, "a b"),
    ({"env": {"A": "x" * (64 << 10)}}, "the limit is 65536"), ({"env": {"A": 5}}, "env must be an object of strings"),
    ({"env": {"A": "x\0y"}}, "env must be an object of strings"), ({"env": "A=1"}, "env must be"),
])
def test_a_bad_environment_is_refused_by_name_and_nothing_runs(session, arguments, words):
    for tool, more in (("execute_code", {"code": "open('ran', 'w')"}), ("execute_terminal", {"command": "touch ran"})):
        refused = session.server.call(tool, {"session_id": session.id, **more, **arguments})
        assert refused.is_error and words in refused.text, refused.text
    assert session.shell("ls ran").ending == "error"
    refused = session.server.call("create_session", arguments)
    assert refused.is_error and words in refused.text


def test_a_directory_that_does_not_exist_is_refused_by_name(server):
    session = server.session(network=False)
    refused = server.call("execute_terminal", {"session_id": session.id, "command": "touch /tmp/ran", "cwd": "/nowhere"})
    assert refused.is_error and "'/nowhere' does not exist" in refused.text, refused.text
    assert session.shell("ls /tmp").ok().stdout == ""
    before = server.containers()
    refused = server.call("create_session", {"cwd": "/nowhere", "network": False})
    assert refused.is_error and "'/nowhere' does not exist" in refused.text and "INVALID_INPUT" in refused.text, refused.text
    wait_until(lambda: server.containers() == before, what="the removal of the refused one")
