"""The store behind the real server: its records, and what works without it. SQLite and a real Postgres."""

import json
import re
import sqlite3
import subprocess
import time

import nbformat
import pytest
from harness import PATIENCE, clean_env, husk_binary, wait_until
from postgres import CANARY, Postgres
from pty_program import Program


@pytest.fixture(scope="module")
def _postgres():
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def postgres(_postgres):
    """A running Postgres, with no data of Husk's in it."""
    if _postgres.process.poll() is not None:
        _postgres.start()
    _postgres.resume()
    _postgres.await_ready()
    _postgres.sql("SET client_min_messages = error; DROP SCHEMA IF EXISTS husk CASCADE")
    return _postgres


class Place:
    """One of the two databases: settings that choose it, and a way to look into it."""

    def __init__(self, home, postgres=None):
        self.home = home
        self.postgres = postgres
        self.settings = {"DATABASE_URL": postgres.url} if postgres else {}

    def sql(self, text):
        if self.postgres:
            return self.postgres.sql("SET search_path = husk; " + text)
        with sqlite3.connect(self.home / "state" / "husk" / "husk.db") as database:
            return [[str(field) for field in row] for row in database.execute(text)]

    def husk(self, *args, **settings):
        return subprocess.run([husk_binary(), *args], env=clean_env(self.home, **self.settings, **settings), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE)

    def on_terminal(self, *args, **settings):
        env = clean_env(self.home, LC_ALL="C.UTF-8", TERM="xterm", **self.settings, **settings)
        with Program([husk_binary(), *args], env, cols=80) as program:
            assert program.wait() == 0
            return program.all.decode().replace("\r\n", "\n")

    def json(self, *args, **settings):
        done = self.husk(*args, "--json", **settings)
        assert (done.returncode, done.stderr) == (0, ""), done
        return json.loads(done.stdout)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return Place(home, request.getfixturevalue("postgres") if request.param == "postgres" else None)


# --- records


def check_table(place, args, title, shortened):
    """The table fits 80 columns, shortens one value in the middle, and has colours only at a terminal without NO_COLOR."""
    text = place.husk(*args).stdout
    assert all(len(line) <= 80 for line in text.splitlines()) and "\033" not in text
    assert re.search(rf"{shortened('[.]{3}')}$", text, re.MULTILINE), text
    assert f"\033[1m{title}\033[0m" in place.on_terminal(*args)
    plain = place.on_terminal(*args, NO_COLOR="1")
    assert all(len(line) <= 80 for line in plain.splitlines()) and "\033" not in plain
    assert re.search(rf"{shortened('…')}$", plain, re.MULTILINE), plain


def fill(place):
    """Writes rows as a server does, into an empty file that husk turns into a store first."""
    if not place.postgres:
        (place.home / "state" / "husk").mkdir(parents=True)
        (place.home / "state" / "husk" / "husk.db").touch(0o600)
    assert place.json("exports", "--all") == {"exports": []}
    rows = [("e1", "t1", "s1", "/workspace/a.csv", "a.csv", 0, 1536, 1000), ("e2", "t1", "s1", "/workspace/out", "out", 1, 7, 2000),
            ("e3", "t2", "s2", "/workspace/%FF%0A%25", "%FF%0A%25", 0, 0, 3000)]
    for row in rows:
        values = ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in row)
        place.sql("INSERT INTO exports (id, thread, session, path, name, directory, size, created, stored, hash, mode, mtime_ms) "
                  f"VALUES ({values}, 0, 'ab', 0, 0)")


def test_exports_are_listed(place):
    fill(place)
    listed = place.json("exports", "--thread", "t1")["exports"]
    assert [e["id"] for e in listed] == ["e2", "e1"]
    assert listed[1] == {"id": "e1", "conversation": "t1", "session": "s1", "path": "/workspace/a.csv", "name": "a.csv", "size": 1536, "hash": "ab",
                         "host_path": listed[1]["host_path"], "uri": "husk://exports/e1/a.csv", "created_ms": 1000}
    assert [e["id"] for e in place.json("exports", "--all")["exports"]] == ["e3", "e2", "e1"]
    assert [e["id"] for e in place.json("exports", HUSK_THREAD_ID="t2")["exports"]] == ["e3"]
    assert place.json("exports") == {"exports": []}
    text = place.husk("exports", "--all").stdout.splitlines()
    assert text[0].split() == ["CREATED", "SIZE", "SESSION", "ID", "PATH"]
    assert text[2].endswith("/workspace/out/") and text[3].split()[2:4] == ["1.5", "kB"]
    assert len(text) == 4, "a path with a line break takes one line"
    place.sql(f"UPDATE exports SET path = '/workspace/{'x' * 200}/a.csv', id = '{'e' * 26}' WHERE id = 'e1'")
    check_table(place, ("exports", "--all"), "CREATED", lambda mark: f" {'e' * 26}  /workspace/?{mark}x+/a\\.csv")


def test_reading_creates_no_files(tmp_path):
    place = Place(tmp_path)
    assert place.json("exports") == {"exports": []}
    assert place.husk("exports").stdout.startswith("No exports of this conversation")
    done = place.husk("history", "none")
    assert done.returncode == 1 and "no session 'none'" in done.stderr
    assert place.json("history", "--verify")["records"] == 0
    assert list(tmp_path.iterdir()) == []


# evidence: history-tampering
def test_runs_are_recorded(place, start):
    server = start(home=place.home, **place.settings)
    session = server.session(network=False)
    session.code("print('x' * 100)").ok()
    session.code("1/0")
    session.shell("echo out; echo err >&2")
    server.call("execute_code", {"session_id": session.id, "code": "import time; time.sleep(60)", "timeout": 1})

    def finished():
        found = place.json("history", session.id)["runs"]
        return found if len(found) == 4 and all("ending" in e for e in found) else None

    done = wait_until(finished, what="four ends in the history")
    assert [(e["kind"], e["ending"]) for e in done] == [("cell", "ok"), ("cell", "error"), ("command", "ok"), ("cell", "timeout")]
    assert [e["run"] for e in done] == sorted(e["run"] for e in done)
    assert (done[0]["in_bytes"], done[0]["out_bytes"]) == (len("print('x' * 100)"), 101)
    assert done[2]["out_bytes"] == 8
    assert done[3]["duration_ms"] >= 1000
    assert all(e["started_ms"] <= e["ended_ms"] for e in done)
    about = place.json("history", session.id)["session"]
    assert (about["id"], about["language"], about["status"]) == (session.id, "python", "running")
    text = place.husk("history", session.id).stdout
    assert f"session {session.id} (python), running since" in text and " command " in text

    verdict = place.json("history", "--verify")
    assert verdict["ok"] and (verdict["records"], verdict["sessions"], verdict["findings"]) == (4, 1, [])
    assert place.husk("history", session.id, "--verify").stdout.startswith("The log is intact.")
    place.sql("UPDATE executions SET ending = 'ok' WHERE ending = 'error'")
    for args in ((), (session.id,)):
        changed = place.husk("history", "--verify", *args)
        assert changed.returncode == 1 and f"session {session.id}: execution {done[1]['run']} was changed" in changed.stdout
    place.sql(f"UPDATE executions SET env = 'FIRST{'X' * 100}LAST'")
    check_table(place, ("history", session.id), "RUN", lambda mark: f" FIR[^ ]*{mark}[^ ]*ST")


def test_a_session_as_a_notebook(place, start):
    server = start(home=place.home, HISTORY_KEEPS_CODE="true", **place.settings)
    session = server.session(network=False)
    session.code("import matplotlib.pyplot as plt\nfigure = plt.plot([1, 2])").ok()
    session.code("print('said'); 6 * 7", env={"TOKEN": CANARY}).ok()
    session.code("1/0")
    session.shell("echo `uname`; false")
    waited = session.code("print('one', flush=True); import time; time.sleep(2); print('two')", wait=1)
    server.call("execute_code", {"session_id": session.id, "run": waited.fields["run"]})

    def written():
        notebook = nbformat.reads(place.husk("history", session.id, "--ipynb").stdout, as_version=nbformat.NO_CONVERT)
        return notebook if len(notebook.cells) == 5 and len(notebook.cells[-1].outputs) == 2 else None

    notebook = wait_until(written, what="five cells in the notebook")
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor, notebook.metadata.kernelspec.name) == (4, 5, "python3")
    picture, value, error, command, pieces = (cell.outputs for cell in notebook.cells)
    assert [o.output_type for o in picture] == ["display_data"] and picture[0].data["image/png"].startswith("iVBOR")
    assert [o.output_type for o in value] == ["stream", "execute_result"] and value[1].data["text/plain"] == "42"
    assert value[1].execution_count == notebook.cells[1].execution_count == 2
    assert (error[-1].ename, error[-1].evalue) == ("ZeroDivisionError", "division by zero")
    assert notebook.cells[3].source == "%%bash\necho `uname`; false" and command[0].text == "Linux\n"
    assert [o.text for o in pieces] == ["one\n", "two\n"]
    # Code and output are sealed in the store, and values of variables are not kept at all.
    assert {len(row) for row in place.sql("SELECT sealed FROM cells")} == {1}
    everything = str(place.sql("SELECT sealed FROM cells")) + str(notebook)
    assert "uname" not in str(place.sql("SELECT sealed FROM cells")) and CANARY not in everything


def test_without_the_setting_no_cells_are_kept(tmp_path, start):
    place = Place(tmp_path / "home")
    server = start(home=place.home)
    session = server.session(network=False)
    session.code("1").ok()
    done = wait_until(lambda: done if (done := place.husk("history", session.id, "--ipynb")).returncode == 1 else None, what="a refusal")
    assert done.stdout == "" and "HISTORY_KEEPS_CODE" in done.stderr
    assert place.sql("SELECT COUNT(*) FROM cells") == [["0"]]


def test_a_cancelled_run_is_recorded_as_such(place, start):
    server = start(home=place.home, **place.settings)
    session = server.session(network=False)
    answer = server.start_call("execute_code", {"session_id": session.id, "code": "print('on', flush=True)\nimport time; time.sleep(60)"},
                               progress="p")
    server.wait_for(lambda s: s.progress_of("p"))
    server.cancel(answer)
    wait_until(lambda: [e.get("ending") for e in place.json("history", session.id)["runs"]] == ["cancelled"])


def test_copies_and_ends_seen_by_another_server_are_recorded(place, start):
    first = start(home=place.home, **place.settings)
    session = first.session(network=False)
    files = [{"file_content": "12345678", "destination": "a"}]
    assert not first.call("import_files", {"session_id": session.id, "files": files}).is_error
    assert not first.call("export_files", {"session_id": session.id, "files": [{"source": "a"}, {"source": "missing"}]}).is_error
    code = "print('on', flush=True)\nimport time; time.sleep(2)"
    first.start_call("execute_code", {"session_id": session.id, "code": code}, progress="p")
    first.wait_for(lambda s: s.progress_of("p"))
    first.process.kill()
    first.process.wait()
    second = start(home=place.home, **place.settings)
    second.call("execute_code", {"session_id": session.id, "code": "1"})

    def ends():
        return [(e["kind"], e.get("ending"), e["in_bytes"], e["out_bytes"]) for e in place.json("history", session.id)["runs"]]

    expected = [("import", "ok", 8, 0), ("export", "ok", 0, 8), ("export", "error", 0, 0)]
    wait_until(lambda: ends()[:3] == expected and ends()[3][:2] == ("cell", "ok") and len(ends()) == 5)


# --- without the store


def says_why(result):
    assert result.is_error, result.text
    assert "Postgres" in result.text and "DATABASE_URL" in result.text, result.text
    assert CANARY not in result.text


def test_a_stopped_postgres_does_not_stop_sessions(start, tmp_path, postgres):
    server = start(DATABASE_URL=postgres.url)
    session = server.session(network=False)
    postgres.pause()
    create = server.start_call("create_session", {"network": False})
    # Everything but the create is answered while it waits.
    for n in range(20):
        assert session.code(f"{n} + 1").value == str(n + 1)
        server.ping()
    assert session.shell("echo x").stdout == "x\n"
    assert not create.done
    says_why(create.tool())
    again = server.start_call("create_session", {"network": False})
    says_why(again.tool())
    postgres.resume()
    created = wait_until(lambda: next((c for c in [server.call("create_session", {"network": False})] if not c.is_error), None),
                         what="a session without a restart of the server")
    assert created.status == "running"
    wait_until(lambda: len(Place(tmp_path, postgres).json("history", session.id)["runs"]) == 21, what="what was done meanwhile")


def test_a_killed_postgres_is_reconnected(start, postgres):
    server = start(DATABASE_URL=postgres.url)
    session = server.session(network=False)
    postgres.kill()
    assert session.code("1").value == "1"
    says_why(server.call("create_session", {"network": False}))
    postgres.start()
    wait_until(lambda: not server.call("create_session", {"network": False}).is_error, what="a session without a restart of the server")
    postgres.restart()
    assert session.code("2").value == "2"
    wait_until(lambda: len(Place(server.home, postgres).json("history", session.id)["runs"]) == 2, what="what was done meanwhile")


def test_a_server_ends_at_once_whatever_its_store_does(start, postgres):
    server = start(DATABASE_URL=postgres.url)
    session = server.session(network=False)
    postgres.pause()
    create = server.start_call("create_session", {"network": False})
    session.code("1").ok()
    assert not create.done
    began = time.monotonic()
    server.close_stdin()
    assert server.process.wait(PATIENCE) == 0
    took = time.monotonic() - began
    print(f"ended within {took * 1000:.0f} ms")
    assert took < 3, "it waited for the store, whose deadline is longer"
    postgres.resume()


def test_commands_report_that_the_store_is_down(tmp_path, postgres):
    place = Place(tmp_path, postgres)
    postgres.kill()
    for args in (("exports",), ("exports", "--all"), ("history", "x")):
        done = place.husk(*args, HUSK_THREAD_ID="t1")
        assert done.returncode == 111 and done.stdout == ""
        assert "cannot use Postgres at" in done.stderr and "DATABASE_URL" in done.stderr
    report = json.loads(place.husk("doctor", "--json").stdout)
    (check,) = [c for c in report["checks"] if c["name"] == "store"]
    assert check["status"] == "fail" and "DATABASE_URL" in check["detail"] and check["fix"]


# evidence: store-password
def test_a_password_is_never_shown(start, tmp_path, postgres):
    server = start(DATABASE_URL=postgres.url, HUSK_LOG="debug")
    session = server.session(network=False)
    session.code("import os; print(dict(os.environ))").ok()
    postgres.kill()
    server.call("create_session", {"network": False})
    place = Place(tmp_path, postgres)
    said = [server.stderr(), *(json.dumps(m) for m in server.messages)]
    for args in (("doctor",), ("doctor", "--json"), ("exports", "--all"), ("history", session.id)):
        done = place.husk(*args, HUSK_LOG="debug")
        said += [done.stdout, done.stderr]
    assert all(CANARY not in text for text in said)
    assert CANARY not in server.docker("inspect", session.container)


def test_a_damaged_database_is_named(start, tmp_path):
    home = tmp_path / "home"
    server = start(home=home)
    server.session(network=False)
    server.stop()
    database = home / "state" / "husk" / "husk.db"
    files = [database.with_name(database.name + end) for end in ("", "-wal", "-shm")]
    for file in files:
        file.write_bytes(b"this is no database" * 1000)
    server = start(home=home)
    create = server.call("create_session", {"network": False})
    assert create.is_error and "damaged" in create.text and str(database) in create.text and "move it" in create.text
    for file in files:
        file.unlink(missing_ok=True)
    wait_until(lambda: not server.call("create_session", {"network": False}).is_error, what="a session after its removal")
