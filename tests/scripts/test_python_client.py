"""The Python module: the calls and attributes that scripts use, and its behaviour apart from them."""

import ast
import asyncio
import base64
import concurrent.futures
import ctypes
import inspect
import os
import re
import signal
import subprocess
import sys
import threading
import types

import attach_client
import husk
import pytest
from conftest import ROOT, containers, places
from husk import _lib
from husk._values import literal

PACKAGE = ROOT / "clients" / "python" / "husk"


# --- results


def test_a_cell_and_its_attributes(session):
    result = session.run("print('out'); import sys; print('err', file=sys.stderr); 6 * 7")
    assert (result.success, result.ending, result.stdout, result.stderr, result.value) == (True, "ok", "out\n", "err\n", "42")
    assert result.result == {"text/plain": "42"}
    assert result.error is None and result.display_outputs == []
    assert bool(result) and "42" in str(result)


def test_state_persists(session):
    session.run("kept = [1, 2, 3]")
    assert session.run("sum(kept)").value == "6"


def test_an_error_is_a_result(session):
    result = session.run("1 / 0")
    assert not result
    assert (result.ending, result.error["type"], result.error.type) == ("error", "ZeroDivisionError", "ZeroDivisionError")
    assert "division by zero" in result.error.message and "1 / 0" in result.error.traceback
    with pytest.raises(husk.RunError, match="ZeroDivisionError") as raised:
        result.check()
    assert raised.value.result is result


def test_a_timeout_keeps_variables(session):
    session.run("before = 1")
    result = session.run("while True: pass", timeout=1)
    assert result.ending == "timeout" and not result.kernel_restarted
    assert session.run("before").value == "1"


def test_shell_returns_output_and_exit_code(session):
    result = session.shell("echo hi; exit 3")
    assert (result.stdout, result.exit_code, result.success) == ("hi\n", 3, False)


def test_limits_of_one_session(manager):
    info = manager.create_session(network=False, memory="400m", cpus=0.5, disk=64 << 20)
    assert (info.memory_limit, info.cpus, info.disk_limit) == (400 << 20, 0.5, 64 << 20)
    assert manager.list_everything()[0].memory_limit == manager.session_info(info.id).memory_limit == 400 << 20
    for wrong in ({"memory": "lots"}, {"memory": 0}, {"disk": -1}, {"cpus": 0}, {"memory": True}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            manager.create_session(network=False, **wrong)
    with pytest.raises(husk.InvalidError, match="memory: 100g is more than a session may have here") as raised:
        manager.create_session(network=False, memory="100 GB")
    assert raised.value.cause == "too_much" and "CONTAINER_MEMORY_MAX" in raised.value.hint


def test_pictures(session, tmp_path):
    result = session.run("import matplotlib.pyplot as plt; plt.plot([1, 2]); None", timeout=150)
    (picture,) = result.pictures
    assert picture.type == picture["type"] == "image/png"
    assert picture.bytes().startswith(b"\x89PNG") and base64.b64decode(picture["data"]) == picture.bytes()
    assert picture.save(tmp_path / "p.png").read_bytes() == picture.bytes()
    assert picture.chart["type"] == "line" and picture.chart["elements"][0]["points"] == [[0, 1], [1, 2]]


@pytest.mark.parametrize("text", [None, "", "[]", "{", "[" * 100_000])
def test_hostile_charts_are_none(text):
    assert husk.Display({"application/vnd.husk.chart+json": text} if text is not None else {}).chart is None


def test_environment_variables_of_one_run(session):
    assert session.run("import os; os.environ.get('ONE_RUN')", env={"ONE_RUN": "x=y"}).value == "'x=y'"
    assert session.run("os.environ.get('ONE_RUN')").value is None
    assert session.shell("pwd", cwd="/tmp").stdout == "/tmp\n"
    assert session.shell("pwd", cwd="~").stdout == session.shell("pwd", cwd="$HOME").stdout == "/home/sandbox\n"


def test_a_notebook_shows_pictures_and_tables(session, monkeypatch, capsys):
    shown = []
    module = types.ModuleType("IPython.display")
    module.display = lambda bundle, raw: shown.append(bundle)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    session.run("import pandas as pd, matplotlib.pyplot as plt; plt.plot([1]); print('text'); pd.DataFrame({'a': [1]})",
                timeout=150)._ipython_display_()
    assert capsys.readouterr().out == "text\n"
    assert "image/png" in shown[0] and "<table" in shown[1]["text/html"]
    session.run("1 / 0")._ipython_display_()
    assert "ZeroDivisionError" in capsys.readouterr().out


# --- runs that outlive their call


def test_a_run_continues_after_the_wait(session):
    begun = session.run("print('begun', flush=True)\nimport os, time\nwhile not os.path.exists('/tmp/went'): time.sleep(0.01)\n'went'", wait=0)
    assert begun.running and not begun and begun.run
    assert [(run.number, run.kind, run.state) for run in session.look().runs] == [(begun.run, "code", "running")]
    beside = session.shell("touch /tmp/went")
    assert beside.others_running == [begun.run] or beside.earlier[0].value == "'went'"
    if not beside.earlier:
        ended = session.run(run=begun.run, wait=60)
        assert (ended.value, ended.run, ended.running) == ("'went'", begun.run, False)
    with pytest.raises(husk.InvalidError, match="has ended") as raised:
        session.run(run=begun.run)
    assert raised.value.cause == "run_told"


def test_an_interpreter_answers_queries(session):
    session.run("größe = {'a': 1}\ndef double(n):\n    'Twice as much.'\n    return n + n")
    found = session.complete("x = 1\ngrö + 1", 9)
    assert ("x = 1\ngrö + 1"[found.start:found.end], found.matches, found.more) == ("grö", ["größe"], False)
    text = session.inspect("double(").text
    assert "Twice as much." in text and "return n + n" not in text
    assert "return n + n" in session.inspect("double", detail=True).text and not session.inspect("nobody_has_this")
    whole = session.is_complete("for i in range(3):")
    assert (whole.state, whole.indent) == ("incomplete", "    ")
    begun = session.run("import time; open('/tmp/busy', 'w').close(); time.sleep(1000)", wait=0)
    session.shell("until [ -e /tmp/busy ]; do sleep 0.01; done")
    with pytest.raises(husk.BusyError) as caught:
        session.complete("dou")
    assert caught.value.cause == "interpreter_busy"
    session.run(run=begun.run, interrupt=True)
    assert session.complete("doub").matches == ["double"]


def test_interrupt_restart_and_look_work(session):
    session.run("held = [1, 2, 3]")
    endless = session.shell("sleep 1000", wait=0)
    assert session.shell(run=endless.run, interrupt=True).ending == "interrupted"
    look = session.look(keep_alive=True)
    held = next(variable for variable in look.variables if variable.name == "held")
    assert (held.type, look.answered, look.fresh, look.session.id) == ("list", True, True, session.id)
    assert look.memory_limit and "/tmp" in " ".join(look.disks) and look.left > 0
    restarted = session.run("'held' in globals()", restart=True)
    assert restarted.value == "False" and restarted.kernel_restarted and "held" in restarted.lost
    session.run("again = 1")
    session.look()  # so that the list of variables is up to date
    died = session.run("import os; os.kill(os.getpid(), 9)")
    assert (died.ending, died.signal) == ("kernel_died", 9) and "Lost variables: again (int)." in str(died)
    for wrong in ({"run": 1, "code": "1"}, {"interrupt": True, "code": "1"}, {"run": 1, "restart": True}, {"wait": 301, "code": "1"}, {"run": 0}):
        with pytest.raises(ValueError, match="run|wait"):
            session.run(**wrong)


def test_prompts_of_cells_and_commands_are_answered(session):
    asks = session.run("name = input('Name? ')\nname * 2", interactive=True)
    assert (asks.ending, asks.waiting, asks.prompt) == ("waiting", True, "Name? ")
    assert session.run(run=asks.run, input="ab").value == "'abab'"
    at_terminal = session.shell("read -p 'Go? ' x; echo got $x; tput cols", interactive=True, rows=30, cols=100)
    assert at_terminal.waiting and "Go?" in at_terminal.prompt
    answered = session.shell(run=at_terminal.run, input="yes", wait=60)
    assert answered.success and "got yes" in answered.stdout and "100" in answered.stdout
    for wrong in ({"code": "1", "input": "x"}, {"run": 1, "input": "x" * 40000}, {"code": "1", "interactive": True, "rows": 999}):
        with pytest.raises(ValueError, match="input|terminal"):
            session.run(**wrong)


def test_values_are_copied_out_of_the_session(session):
    assert session.run("{'a': [1, -2.5, None, True], 'b': ('x', \"it's\")}").json() == {"a": [1, -2.5, None, True], "b": ("x", "it's")}
    for code in ("object()", "None", "set()", "{1: print}"):
        with pytest.raises(ValueError, match="value"):
            session.run(code).json()


@pytest.mark.parametrize("text", ["1" + "+1" * 100_000, "[0]" + "[0]" * 100_000, "-" * 100_000 + "1", "[" * 100_000, "f(1)", "'a" + "'*9" * 9, ""])
def test_hostile_values_are_rejected(text):
    with pytest.raises(ValueError, match="literal|syntax|empty"):
        literal(text)


def test_an_exit_code_is_shown(session):
    assert str(session.shell("false")) == "exit code 1"
    with pytest.raises(husk.RunError, match="exit code 3"):
        session.shell("(exit 3)").check()


# --- while it runs


def test_lines_are_passed_on_live(session):
    items = list(session.stream("import sys\nfor i in range(3): print(i)\nprint('no end', end='')\nprint('bad', file=sys.stderr)\n5"))
    assert [line for kind, line in items if kind == "stdout"] == ["0\n", "1\n", "2\n", "no end"]
    assert ("stderr", "bad\n") in items and items[-1][0] == "result" and items[-1][1].json() == 5
    for _, line in session.stream("while True: print('line')", 300):
        assert line == "line\n"
        break
    assert session.run("6").json() == 6


def test_output_is_passed_on_live(session):
    """The listener gets each line before the next one is printed: the cell waits for a file that the listener
    creates.
    """
    heard = [""]

    def on_stdout(text):
        heard[0] += text
        session.shell(f"touch /tmp/heard-{heard[0].count(chr(10))}")

    result = session.run("""
import os, time
for i in (1, 2):
    print("line", i, flush=True)
    while not os.path.exists(f"/tmp/heard-{i}"):
        time.sleep(0.01)
""", timeout=60, on_stdout=on_stdout)
    assert result.success, result
    assert heard == ["line 1\nline 2\n"] == [result.stdout]


def test_an_exception_in_a_listener_ends_the_call_and_is_raised(session):
    def listen(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        session.run("print('x', flush=True)\nwhile True: pass", timeout=300, on_stdout=listen)
    assert session.run("1").success


def test_cancel_from_another_thread(session):
    cancel = husk.Cancel()

    def listen(_):
        threading.Thread(target=cancel.cancel).start()

    with pytest.raises(husk.CancelledError) as raised:
        session.run("print('x', flush=True)\nwhile True: pass", timeout=300, on_stdout=listen, cancel=cancel)
    assert (raised.value.kind, raised.value.cause) == ("cancelled", "cancelled")
    assert session.run("1").success


def test_a_timeout_is_a_result(session):
    result = session.run("while True: pass", timeout=1)
    assert result.ending == "timeout" and result.error.type == "TimeoutError" and "timeout: The cell ran longer than 1 s" in str(result)
    assert "while True: pass" in str(result) and "KeyboardInterrupt" not in str(result)
    with pytest.raises(husk.RunError, match="timeout: The cell ran longer than 1 s"):
        result.check()


def test_a_deadline_ends_the_call(session):
    with pytest.raises(TimeoutError) as raised:
        session.run("while True: pass", timeout=300, deadline=0.5)
    assert raised.value.cause == "deadline" and raised.value.hint


def test_ctrl_c_ends_the_call(session):
    def listen(_):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        session.run("print('x', flush=True)\nwhile True: pass", timeout=300, on_stdout=listen)
    assert session.run("1").success


# --- files


def test_a_program_reads_its_own_files(manager, tmp_path, monkeypatch):
    """Files of its working directory can be given by name, whatever IMPORT_ALLOWED_DIRS says."""
    (tmp_path / "sales.csv").write_text("a,b\n")
    monkeypatch.chdir(tmp_path)
    sid = manager.create_session(network=False).session_id
    done = manager.import_files(sid, ["sales.csv", {"source": "/etc/hostname", "destination": "/tmp/h"}])
    assert done.success and done.files[0].destination == "/workspace/sales.csv", done
    assert manager.execute_terminal(sid, "cat sales.csv").stdout == "a,b\n"
    manager.stop_session(sid)


def test_a_folder_is_exported_as_a_folder(manager, tmp_path):
    """A folder is merged into an existing one. Links that lead outside are left out, and no link is followed."""
    session = husk.Session(manager=manager, network=False)
    session.shell("mkdir -p out/sub; echo 1 >out/sub/a; ln -s /etc/passwd out/bad; ln -s sub/a out/good; echo x >f")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    (tmp_path / "f").symlink_to(tmp_path / "elsewhere")
    done = session.get("out", "f", to=tmp_path)
    assert done.success and [file.host_path for file in done] == [str(tmp_path / "out"), str(tmp_path / "f")]
    assert (tmp_path / "out" / "sub" / "a").read_text() == "1\n" and (tmp_path / "out" / "mine").read_text() == "mine"
    assert os.readlink(tmp_path / "out" / "good") == "sub/a" and not os.path.lexists(tmp_path / "out" / "bad")
    assert (tmp_path / "f").read_text() == "x\n" and not (tmp_path / "elsewhere").exists()
    session.stop()


def test_a_file_that_cannot_be_copied_raises(session):
    with pytest.raises(husk.FilesError, match="no-such-file") as raised:
        session.put("/etc/no-such-file", {"content": "x", "destination": "good"})
    assert [file.success for file in raised.value.result] == [False, True]
    with pytest.raises(husk.HuskError, match="missing"):
        session.get("missing")


def test_files_in_and_out(manager, tmp_path):
    sid = manager.create_session(network=False).session_id
    done = manager.import_files(sid, [{"content": b"\x00\x01", "destination": "raw.bin"}, {"file_content": "text", "destination": "a/b.txt"},
                                      {"source": "/etc/no-such-file"}])
    assert [file.success for file in done.files] == [True, True, False]
    assert done.files[0].destination == "/workspace/raw.bin" and done.files[0].size == 2
    assert "/etc/no-such-file" in done.files[2].error
    assert not done.success
    out = manager.export_files(sid, [{"source": "raw.bin"}, "a/", {"source": "missing"}])
    assert [(file.session_id, file.path, file.success) for file in out.files][:2] == [
        (sid, "/workspace/raw.bin", True), (sid, "/workspace/a", True)]
    assert not out.files[2].success and out.files[2].error
    with open(out.files[0].host_path, "rb") as file:
        assert file.read() == b"\x00\x01"
    assert {file.path for file in manager.list_exports()} == {"/workspace/raw.bin", "/workspace/a"}
    assert manager.read_export(out.files[0].id) == b"\x00\x01"
    assert b"b.txt" in manager.read_export(out.files[1].id)
    with pytest.raises(husk.LimitError, match="has 2 bytes"):
        manager.read_export(out.files[0].id, 1)


def ask_api(folder, target):
    """A request to the HTTP API on the unix socket of the manager."""
    [path] = attach_client.sockets(folder)
    connection = attach_client.Connection(path)
    connection.request("GET", target)
    return attach_client.check(connection.getresponse())


def test_attributes_have_the_names_of_the_api(make_manager, tmp_path):
    """Every field of the API that the library gives to programs is an attribute with the same name and value."""
    manager = make_manager()
    session = husk.Session("python", manager=manager, network=False)
    made = session.run("print('out')\nheld = [1]\n2")
    endless = session.shell("sleep 1000", wait=0)
    status = session.status()
    api = ask_api(tmp_path, f"/v1/sessions/{session.id}")
    assert api["usage"]["answered"] and status.answered
    assert {name: getattr(status.session, name) for name in ("id", "language", "status")} == {
        name: api[name] for name in ("id", "language", "status")}
    assert status.session.limits == {name: api["limits"][name] for name in status.session.limits}
    assert status.seconds_left >= api["seconds_left"] > 0 and status.idle_seconds_left >= api["idle_seconds_left"] > 0
    assert status.memory_limit == api["usage"]["memory_limit"] and set(status.disks) == {disk["path"] for disk in api["usage"]["disks"]}
    [variable] = [one for one in api["usage"]["variables"] if one["name"] == "held"]
    assert vars(next(one for one in status.variables if one.name == "held")) == variable
    [run], [listed] = status.runs, api["runs"]
    assert (run.run, run.state) == (listed["run"], listed["state"]) == (endless.run, "running") and run.age_ms <= listed["age_ms"]
    record = ask_api(tmp_path, f"/v1/sessions/{session.id}/runs/{made.run}")
    same = ("run", "ending", "stdout", "result", "duration_ms", "stdout_bytes", "memory_limit")
    assert {name: getattr(made, name) for name in same} == {name: record[name] for name in same}
    manager.import_files(session.id, [{"content": "1", "destination": "a.txt"}]).check()
    [copy] = manager.export_files(session.id, [{"source": "a.txt"}]).check()
    export = ask_api(tmp_path, f"/v1/exports/{copy.id}")
    same = ("id", "session", "path", "name", "mime", "hash", "size", "uri", "host_path")
    assert {name: getattr(copy, name) for name in same} == {name: export[name] for name in same}


# --- life


def test_sessions_are_listed_and_end_with_their_manager(make_manager, tmp_path):
    manager = make_manager()
    one = manager.create_session("python", network=False, env={"GREETING": "hello"})
    assert (one.runtime, one.status, one.dependencies) == ("python", "running", {})
    assert manager.execute_code(one.session_id, "import os; os.environ['GREETING']").value == "'hello'"
    assert [info.session_id for info in manager.list_sessions()] == [one.session_id]
    assert [info.session_id for info in manager.list_everything()] == [one.session_id]
    assert manager.session_info(one.session_id).status == "running"
    assert manager.history(one.session_id)[-1].ending == "ok"
    assert len(containers(tmp_path)) == 1
    manager.close()
    manager.close()
    assert containers(tmp_path) == []
    with pytest.raises(husk.InvalidError):
        manager.execute_code(one.session_id, "1")


def test_stopping(manager):
    sid = manager.create_session(network=False).session_id
    assert manager.stop_session(sid).success
    assert not manager.stop_session(sid)


def test_a_kept_session_is_taken_over(make_manager):
    first = make_manager(conversation="shared", keep_sessions=True)
    sid = first.create_session(network=False).session_id
    first.execute_code(sid, "x = 5")
    first.close()
    second = make_manager(conversation="shared")
    assert second.execute_code(sid, "x").value == "5"
    second.stop_session(sid)


def test_a_session_with_a_name(make_manager):
    first = make_manager(conversation="named", keep_sessions=True)
    session = first.create_session(network=False, name="sales")
    assert session.name == "sales" and [s.name for s in first.list_sessions()] == ["sales"]
    assert first.execute_code("sales", "x = 6 * 7; x").value == "42"
    with pytest.raises(husk.InvalidError, match="at most 25"):
        first.create_session(network=False, name="a" * 26)
    first.close()
    # The next manager finds the session by name, although it has not taken it over yet.
    second = make_manager(conversation="named")
    assert second.execute_code("sales", "x").value == "42"
    assert second.execute_code(session.id[:8], "x").value == "42"
    with pytest.raises(husk.NotFoundError):
        second.execute_code("sale", "x")
    second.stop_session("sales")


def test_a_program_that_forgets_to_close_leaves_nothing(tmp_path):
    code = f"import husk; m = husk.SandboxManager({ {k: str(v) for k, v in places(tmp_path).items()} !r}); print(m.create_session().session_id)"
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and len(done.stdout.strip()) == 26, done.stderr
    assert containers(tmp_path) == []


# --- errors


def test_exceptions_have_a_cause(manager, make_manager):
    with pytest.raises(ValueError, match="not found") as raised:
        manager.execute_code("nobody", "1")
    assert (type(raised.value), raised.value.kind, raised.value.cause) == (husk.NotFoundError, "not_found", "no_session")
    assert raised.value.hint
    with pytest.raises(husk.InvalidError, match="cobol") as raised:
        manager.create_session("cobol")
    assert "python" in raised.value.hint
    sid = manager.create_session(network=False).session_id
    with pytest.raises(PermissionError, match="another conversation"):
        make_manager().execute_code(sid, "1")


def test_limits(make_manager):
    manager = make_manager({"CONTAINER_MAX_SESSIONS_PER_THREAD": 1})
    manager.create_session(network=False)
    with pytest.raises(RuntimeError) as raised:
        manager.create_session()
    assert (type(raised.value), raised.value.cause) == (husk.LimitError, "limit_conversation_sessions")


def test_no_engine(make_manager, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(husk.EngineError) as raised:
        make_manager().create_session()
    assert raised.value.cause == "no_engine" and "husk setup" in raised.value.hint


@pytest.mark.parametrize("settings", [{"CONTAINER_MEMORY_LIMIT": "lots"}, {"NO_SUCH_SETTING": "1"}])
def test_a_bad_setting(settings):
    with pytest.raises(husk.InvalidError, match=next(iter(settings))):
        husk.SandboxManager(settings, environment=False)


@pytest.mark.parametrize("call", [
    lambda s: s.run(None), lambda s: s.run(5), lambda s: s.run("a\0b"), lambda s: s.run("1", timeout=0), lambda s: s.run("1", timeout=301),
    lambda s: s.run("1", deadline=-1), lambda s: s.put(), lambda s: s.put({"nonsense": "x"}), lambda s: s.put({"content": "x", "source": "y"}),
    lambda s: s.get(), lambda s: s.shell("1", cwd=5), lambda s: s.manager.create_session(dependencies="pandas"),
])
def test_misuse_raises(session, call):
    with pytest.raises((TypeError, ValueError)):
        call(session)


@pytest.mark.parametrize("rest", ["nothing", "everything"])
@pytest.mark.parametrize("handle", [None, 1, 0x7000])
def test_calls_with_bad_handles_return_an_error(handle, rest):
    """Calls each function with an invalid handle, and with none or all of the other arguments. Each returns an error
    that names the problem.
    """
    library = _lib.library
    for name, (result, kinds) in _lib._FUNCTIONS.items():
        if result is None and handle is None:
            getattr(library, name)(*[None] * len(kinds))  # freeing NULL does nothing
        if result is not _lib.POINTER(_lib.Error) or (rest == "everything" and ctypes.c_void_p not in kinds):
            continue
        given = [handle if kind is ctypes.c_void_p else 0 if kind in (ctypes.c_int, ctypes.c_size_t) else None for kind in kinds]
        if rest == "everything":
            given = [b"x" if kind is _lib.Text else value for kind, value in zip(kinds, given)]
            if issubclass(kinds[-1], ctypes._Pointer) and kinds[-1] is not _lib._WAIT:
                given[-1] = ctypes.byref(kinds[-1]._type_())
        error = getattr(library, name)(*given)
        assert error, name
        said = error.contents
        assert (said.kind, said.cause) == (b"invalid", b"misuse") and name.encode() in said.message and said.hint, name
        library.husk_error_free(error)


# --- several at once


def test_sessions_run_side_by_side(make_manager):
    """Each cell waits for a file that only the other thread creates."""
    manager = make_manager()
    a, b = (husk.Session("python", manager=manager, network=False) for _ in range(2))

    def wait_and_touch(mine, other):
        other.shell("touch /tmp/go")
        return mine.run("import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\n'met'", timeout=60).value

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert [f.result() for f in [threads.submit(wait_and_touch, a, b), threads.submit(wait_and_touch, b, a)]] == ["'met'", "'met'"]


def test_asyncio(tmp_path):
    async def main():
        async with husk.aio.SandboxManager(places(tmp_path), environment=False) as manager:
            async with husk.aio.Session("python", manager=manager, network=False) as session:
                assert (await session.run("1 + 1")).value == "2"
                assert (await session.shell("echo hi")).stdout == "hi\n"
                heard = [item async for item in session.stream("print('a')\n5")]
                assert "".join(text for kind, text in heard if kind == "stdout") == "a\n" and heard[-1][1].value == "5"
                began = asyncio.Event()
                task = asyncio.ensure_future(session.run("print(1, flush=True)\nwhile True: pass", 300, on_stdout=lambda _: began.set()))
                await began.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert (await session.run("2")).value == "2"

    asyncio.run(main())
    assert containers(tmp_path) == []


# --- the package


def test_python_3_9_can_read_it():
    for path in PACKAGE.glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))


def test_the_module_is_typed_and_has_no_dependencies():
    assert (PACKAGE / "py.typed").exists()
    known = set(sys.stdlib_module_names) | {"IPython", "typing_extensions"}  # typing_extensions is only for type checkers
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= known
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module.split(".")[0] in known
    for function in (husk.SandboxManager.create_session, husk.Session.run, husk.aio.Session.run):
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty


def test_type_checkers_find_misspelt_arguments(tmp_path):
    """A type checker reports an error for each line that expects one, and no others."""
    lines = [
        "import husk",
        "s = husk.Session('python', memory='4g')",
        "s.run('1', wait=2, on_stdout=print).json()",
        "s.run('1', wiat=2)  # wrong",
        "s.shell('ls', cwd='/')",
        "s.run('1', cwd='/')  # wrong",
        "s.get('a', to='.', on_progress=print)",
        "s.put('a', on_progres=print)  # wrong",
        "s.look(keepalive=True)  # wrong",
        "husk.Session('python', memroy='4g')  # wrong",
        "async def f(a: husk.aio.Session) -> None:",
        "    await a.run('1', wait=2)",
        "    await a.run('1', wiat=2)  # wrong",
        "    await a.manager.create_session('r', cpu=1)  # wrong",
        "    await a.shell(5)  # wrong",
    ]
    program = tmp_path / "user.py"
    program.write_text("\n".join(lines) + "\n")
    build = PACKAGE.parents[2] / os.environ.get("BUILD", "build")
    done = subprocess.run([build / "venv" / "bin" / "mypy", "--strict", "--no-error-summary", "--cache-dir", tmp_path / "cache", program],
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)}, capture_output=True, text=True, timeout=120, check=False)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert found == {number for number, line in enumerate(lines, 1) if "# wrong" in line}, done.stdout


EXAMPLE = re.compile(r"Example: |\w\(|\w\.\w|\w\[")


def test_every_public_name_has_an_example():
    for owner in (husk, husk.aio):
        for name in getattr(owner, "__all__", ("SandboxManager", "Session")):
            thing = getattr(owner, name)
            assert thing.__doc__ and EXAMPLE.search(thing.__doc__), name
            for method, function in vars(thing).items() if inspect.isclass(thing) else ():
                if not method.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                    assert EXAMPLE.search(inspect.getdoc(function) or ""), f"{name}.{method}"


def test_messages_use_the_names_of_this_module(manager):
    with pytest.raises(husk.NotFoundError, match="list_sessions|create_session") as raised:
        manager.execute_code("nosuchsession", "1")
    assert "husk_" not in str(raised.value)
    with pytest.raises(husk.InvalidError) as raised:
        manager.execute_code("nosuchsession", "1", run=3)
    assert str(raised.value) == ("execute_code(): an existing run already has its code: pass the code or run, not both. "
                                 "help(husk) describes the arguments of each call.")


def test_no_message_of_the_library_keeps_c_names():
    """Messages name functions and fields as in Python. Those of handle.c are about structures, which only the module
    fills in, so they are not checked.
    """
    sources = [re.sub(r'"\s*\n\s*"', "", path.read_text()) for path in (ROOT / "libhusk").glob("*.c") if path.name != "handle.c"]
    texts = [text for source in sources for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', source)]
    messages = [text.replace("%s()", "husk_execute()") for text in texts if re.search(r"(husk_\w+|%s)\(\)|^husk\.h ", text)]
    functions = [f"{text}()" for text in texts if re.fullmatch(r"husk_[a-z_]+", text)]
    assert len(messages) > 25 and len(functions) > 15
    for text in messages + functions:
        shown = _lib.message(text.encode(), "misuse" if re.search(r"\(\): |^husk\.h", text) else "")
        assert not re.search(r"husk_|husk\.h|NULL|(?<![\w'])\.[a-z]", shown), shown
        for name in re.findall(r"(\w+)\(\)", shown):
            assert hasattr(husk, name) or hasattr(husk.SandboxManager, name), shown


def test_structures_match_the_header():
    """Compared field by field, in order, since ctypes does not check its declarations."""
    import re

    from husk import _lib

    header = (ROOT / "libhusk" / "husk.h").read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    names = {"husk_error": _lib.Error, "husk_settings": _lib.Settings, "husk_conversation_options": _lib.ConversationOptions,
             "husk_wait": _lib.Wait, "husk_create": _lib.Create, "husk_session": _lib.SessionInfo, "husk_sessions": _lib.Sessions,
             "husk_run": _lib.Run, "husk_part": _lib.Part, "husk_bundle": _lib.Bundle, "husk_result": _lib.Result,
             "husk_import": _lib.Import, "husk_file": _lib.File, "husk_files": _lib.Files, "husk_copy": _lib.Copy,
             "husk_execution": _lib.Execution, "husk_history": _lib.History, "husk_language": _lib.Language,
             "husk_variable": _lib.Variable, "husk_disk": _lib.Disk, "husk_run_state": _lib.RunState, "husk_look": _lib.Look,
             "husk_completion": _lib.Completion, "husk_help": _lib.Help, "husk_wholeness": _lib.Wholeness,
             "husk_content": _lib.Content, "husk_checkpoint": _lib.Checkpoint, "husk_restored": _lib.Restored,
             "husk_checkpoints": _lib.Checkpoints}
    found = dict(re.findall(r"struct (husk_[a-z_]+) \{\n(.*?)\n\};", header, re.S))
    assert found.keys() == names.keys()
    for name, body in found.items():
        fields = []
        for line in body.split(";"):
            if callback := re.search(r"\(\*(\w+)\)\(", line):
                fields.append(callback.group(1))
            else:
                fields += [re.search(r"(\w+)\s*$", part).group(1) for part in line.split(",") if part.strip()]
        assert fields == [field[0] for field in names[name]._fields_], name
    declared = set(re.findall(r"^[a-z].*?\b(husk_[a-z_]+)\(", header, re.M))
    assert set(_lib._FUNCTIONS) <= declared
    # The first is a property in Python; the others are names of version 0.1.
    assert declared - set(_lib._FUNCTIONS) == {"husk_text", "husk_look", "husk_look_free", "husk_everything"}


def test_names_of_version_0_1_are_aliases():
    for one in (husk.SandboxManager, husk.Session):
        assert one.look is one.status
    assert husk.SandboxManager.list_everything is husk.SandboxManager.list_all_sessions
