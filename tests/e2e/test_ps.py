"""`husk ps` and `husk stop`: the sessions of all servers of this user, on the terminal."""

import json
import re
import subprocess
import time

import pytest
from harness import clean_env, husk_binary, wait_until
from pty_program import Program


class Terminal:
    def __init__(self, home):
        self.home = home
        home.mkdir(exist_ok=True)

    def husk(self, *args, **settings):
        return subprocess.run([husk_binary(), *args], env=clean_env(self.home, **settings), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60)

    def sessions(self):
        done = self.husk("ps", "--json")
        assert done.returncode == 0, done.stderr
        return {s["id"]: s for s in json.loads(done.stdout)["sessions"]}


@pytest.fixture
def terminal(tmp_path):
    return Terminal(tmp_path / "home")


def test_sessions_of_all_servers_are_listed(start, terminal):
    assert terminal.sessions() == {}
    assert terminal.husk("ps").stdout.splitlines()[1:] == ["no sessions"]
    servers = [start(home=terminal.home), start(home=terminal.home, HUSK_THREAD_ID="another", HUSK_TRANSPORT="exec")]
    sessions = [server.session(network=False) for server in servers]
    found = terminal.sessions()
    assert set(found) == {s.id for s in sessions}
    for server, session in zip(servers, sessions):
        row = found[session.id]
        assert row["language"] == "python" and row["conversation"] == (server.env.get("HUSK_THREAD_ID") or server.thread_id())
        assert str(server.process.pid) in row["owner"]
        assert row["transport"] == ("exec" if server.env.get("HUSK_TRANSPORT") else "socket")
        assert 5 << 20 < row["memory"] < 1 << 30
        assert [row["limits"][name] for name in ("memory", "cpus", "disk")] == [2 << 30, 2, 4 << 30]
        assert 0 <= row["idle_seconds"] <= row["age_seconds"] < 600 and 0 < row["seconds_left"] <= 7200
    table = terminal.husk("ps").stdout
    assert table.isascii() and "\033" not in table and all(len(line) <= 80 for line in table.splitlines())
    # The limit of the memory is shown if the pids of the owners are short enough.
    header = [column for column in table.splitlines()[0].split() if column != "OF"]
    assert header == ["SESSION", "LANG", "STATE", "AGE", "IDLE", "MEMORY", "OWNER"]
    for session in sessions:
        assert re.search(rf"^{session.id} +python +running +[0-9]+s +[0-9]+s +[0-9]+M ", table, re.MULTILINE), table


def test_the_table_fits_the_terminal(start, terminal):
    """A narrow terminal gets 80 columns, a wide one all columns; the id is never shortened, and only a terminal that
    has colours gets colours.
    """
    server = start(home=terminal.home)
    name = "sales-of-the-north-branch"
    identity = server.call("create_session", {"network": False, "name": name}).fields["session_id"]

    def shown(cols, **settings):
        with Program([husk_binary(), "ps"], clean_env(terminal.home, **{"LC_ALL": "C.UTF-8", "TERM": "xterm", **settings}), cols=cols) as program:
            assert program.wait() == 0
            return program.all.decode().replace("\r\n", "\n")

    assert shown(80).startswith("\033[1mSESSION\033[0m")
    for cols in (60, 80, 140):
        text = shown(cols, NO_COLOR="1")
        titles, row = text.splitlines()
        assert "\033" not in text and max(len(titles), len(row)) <= max(cols, 80)
        assert row.startswith(f"{identity}  python ")
        assert row[titles.index("NAME"):].startswith(name if cols == 140 else "sales") and ("…" in row) == (cols != 140)
        assert ("STREAM" in titles) == (cols == 140)
    assert "\033" not in shown(80, TERM="dumb")


def test_a_session_without_a_server_is_listed_as_left(start, terminal):
    server = start(home=terminal.home)
    session = server.session(network=False)
    server.close_stdin()
    server.process.wait(10)
    assert terminal.sessions()[session.id]["status"] == "left"
    assert terminal.husk("stop", session.id).stdout == "1 session stopped\n"
    assert server.containers() == [] and terminal.sessions() == {}
    later = start(home=terminal.home).call("execute_code", {"session_id": session.id, "code": "1"})
    assert later.is_error and "stopped by husk stop" in later.text


def test_stop_all_ends_every_session_and_their_servers_notice(start, terminal):
    servers = [start(home=terminal.home), start(home=terminal.home, HUSK_THREAD_ID="another")]
    sessions = [server.session(network=False) for server in servers]
    running = sessions[0].start_code("print('on', flush=True)\nimport time; time.sleep(100)", 120, progress="p")
    servers[0].wait_for(lambda s: s.progress_of("p"))
    assert terminal.husk("stop", "--all").stdout == "2 sessions stopped\n"
    assert running.tool().fields["ending"] == "container_died"
    for server, session in zip(servers, sessions):
        assert server.containers() == []
        wait_until(lambda: "CONTAINER_DIED" in session.code("1").text)
        assert not server.call("create_session", {"network": False}).is_error


def test_stop_of_an_unknown_session_fails(terminal):
    done = terminal.husk("stop", "a" * 26)
    assert done.returncode == 1 and "not found" in done.stderr
    assert terminal.husk("stop", "--all").stdout == "0 sessions stopped\n"


@pytest.mark.parametrize("args", [("stop",), ("stop", "x", "y"), ("stop", "x", "--all"), ("ps", "x"), ("gc", "--watch")])
def test_wrong_usage(terminal, args):
    done = terminal.husk(*args)
    assert done.returncode == 64 and "usage:" in done.stderr


def test_watch_runs_until_interrupted(start, terminal):
    server = start(home=terminal.home)
    server.session(network=False)
    process = subprocess.Popen([husk_binary(), "ps", "--watch"], env=clean_env(terminal.home), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
    gone = subprocess.Popen([husk_binary(), "ps", "--watch"], env=clean_env(terminal.home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    gone.stdout.close()  # nobody reads it any more
    try:
        headings, deadline = 0, time.monotonic() + 60
        while headings < 2 and time.monotonic() < deadline:
            headings += process.stdout.readline().startswith("SESSION")
        assert headings == 2
        assert gone.wait(60) == 111
    finally:
        gone.kill()
        process.terminate()
        assert process.wait(20) == 0
        process.stdout.close()


def test_names_prefixes_and_ended_sessions(start, terminal):
    """A name or a unique prefix of an id works in place of the id. Ended sessions are listed with their cause."""
    server = start(home=terminal.home)
    made = server.call("create_session", {"network": False, "name": "sales"})
    identity = made.fields["session_id"]
    assert made.fields["name"] == "sales", made.text
    assert server.call("execute_code", {"session_id": "sales", "code": "x = 41"}).fields["ending"] == "ok"
    assert "42" in server.call("execute_code", {"session_id": identity[:8], "code": "x + 1"}).text
    assert server.call("session_info", {"session_id": "sales"}).fields["name"] == "sales"
    taken = server.call("create_session", {"network": False, "name": "sales"})
    assert taken.is_error and "already" in taken.text
    bad = server.call("create_session", {"network": False, "name": "a b"})
    assert bad.is_error and "not a name" in bad.text
    assert terminal.sessions()[identity]["name"] == "sales"
    latest = json.loads(terminal.husk("history", "--json").stdout)
    assert latest["session"]["id"] == identity and len(latest["runs"]) >= 2
    assert json.loads(terminal.husk("history", "--json", "sales").stdout)["session"]["id"] == identity
    repl = subprocess.run([husk_binary(), "repl", "sales"], input="print(x + 2)\n", env=clean_env(terminal.home), capture_output=True, text=True,
                          timeout=60)
    assert repl.stdout == "43\n", repl
    assert terminal.husk("stop", identity[:10]).stdout == "1 session stopped\n"
    assert identity not in terminal.sessions()
    ended = {s["id"]: s for s in json.loads(terminal.husk("ps", "--all", "--json").stdout)["sessions"]}[identity]
    assert ended["status"] == "ended" and ended["cause"], ended
    again = server.call("create_session", {"network": False, "name": "sales"})
    assert not again.is_error
    server.call("stop_session", {"session_id": "sales"})
    server.session(network=False, name="sales-of-the-north")
    table = terminal.husk("ps", "--all").stdout
    assert "..." not in table.splitlines()[0] and " NAME " in table.splitlines()[0]
    assert re.search(rf"^{again.fields['session_id']} .* stopped by its client$", table, re.MULTILINE), table
    assert re.search(r"\(python\), ended 2\d{3}-", terminal.husk("history", again.fields["session_id"]).stdout)
