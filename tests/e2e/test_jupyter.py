"""husk jupyter: a session as a Jupyter kernel, seen by Jupyter's own clients. More tests are in
long/test_jupyter_clients.py.
"""

import json
import pathlib
import stat
import subprocess
import sys

import nbformat
import pytest
from harness import PATIENCE, ROOT, Server, build_dir, clean_env, docker, husk_binary, store_id, store_label, wait_until
from jupyter_rig import Face, kernel
from nbclient import NotebookClient

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A session of an MCP server, which the tests also use directly, as an agent."""
    server = Server(tmp_path_factory.mktemp("server"))
    yield server.session(network=False)
    server.stop()


@pytest.fixture(scope="module")
def face(session):
    face = Face(session.id, session.server.env)
    yield face
    face.end()


@pytest.fixture(scope="module")
def client(face):
    return face.client()


# evidence: jupyter-face
def test_person_and_agent_share_variables(session, face, client):
    session.code("agent = 41").ok()
    file = pathlib.Path(face.file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert f"jupyter console --existing {face.file}" in "".join(face.said) and "jupyter lab " in "".join(face.said)
    assert client.value("agent + 1") == "42"
    client.run("person = 'here'")
    assert session.code("person").ok().value == "'here'"
    info = client.request("kernel_info_request")
    assert (info["status"], info["implementation"], info["language_info"]["name"]) == ("ok", "husk", "python")


MODULE = "import sys, husk\nwith husk.Session(network=False) as s:\n    s.run('x = 41')\n    print(s.id, flush=True)\n    sys.stdin.readline()\n    print(s.run('y').value)"


def test_a_session_of_the_python_module_is_opened(tmp_path):
    """A script keeps its session open; `husk jupyter` shares its variables with the script."""
    env = clean_env(tmp_path, PYTHONPATH=str(ROOT / "clients" / "python"), HUSK_LIBRARY=str(build_dir() / "libhusk" / "libhusk.so"))
    script = subprocess.Popen([sys.executable, "-c", MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    try:
        face = Face(script.stdout.readline().strip(), env)
        try:
            face.client().run("y = x + 1")
        finally:
            face.end()
        assert script.communicate("\n", timeout=PATIENCE)[0] == "42\n"
    finally:
        script.kill()
        script.wait()


def test_output_is_live_and_in_order(client):
    reply, outputs = client.run("""
import sys
from IPython.display import HTML, clear_output, display
print('gone'); clear_output()
print('out'); print('err', file=sys.stderr)
handle = display(HTML('<b>1</b>'), display_id='h')
handle.update(HTML('<b>2</b>'))
'value'""")
    assert reply["status"] == "ok"
    kinds = outputs.kinds()
    assert kinds[kinds.index("clear_output"):] == ["clear_output", "stream", "display_data", "update_display_data", "execute_result"]
    # Output that was cleared at once may not have been sent at all.
    assert outputs.text().removeprefix("gone\n") == "out\n" and outputs.text("stderr") == "err\n"
    shown = outputs.of("display_data")[0], outputs.of("update_display_data")[0]
    assert [one["data"]["text/html"] for one in shown] == ["<b>1</b>", "<b>2</b>"]
    assert [one["transient"] for one in shown] == [{"display_id": "h"}] * 2
    assert outputs.of("execute_result")[0]["execution_count"] == reply["execution_count"]
    # Much output: the beginning is shown live, then the end, with a note of how much is missing between them.
    _, outputs = client.run("for i in range(30000): print(i, 'x' * 10)")
    assert outputs.text().startswith("0 xxxxxxxxxx\n") and outputs.text().endswith("29999 xxxxxxxxxx\n")
    assert "bytes cut] ..." in outputs.text() and "~/.husk/runs/" in outputs.text("stderr")


def test_errors_abort_queued_cells_and_silent_cells_send_nothing(client):
    count = client.run("1")[0]["execution_count"]
    # The first cell runs until the others have arrived.
    ids = [client.raw.execute(code) for code in ("import time; time.sleep(1)\n1 / 0", "never = 1", "never = 2")]
    replies = [client.reply_to(one) for one in ids]
    assert [reply["status"] for reply in replies] == ["error", "aborted", "aborted"]
    assert replies[0]["ename"] == "ZeroDivisionError" and "1 / 0" in "".join(replies[0]["traceback"])
    ids = [client.raw.execute(code, stop_on_error=False) for code in ("1 / 0", "after = 1")]
    assert [client.reply_to(one)["status"] for one in ids] == ["error", "ok"]
    client.wait_for(lambda m: m["parent_header"].get("msg_id") == ids[1] and m["content"].get("execution_state") == "idle")
    reply, outputs = client.run("print('quiet'); 1", silent=True)
    assert (reply["status"], outputs) == ("ok", [])
    reply, outputs = client.run("'never' in globals()")
    assert outputs.of("execute_result")[0]["data"]["text/plain"] == "False"
    assert reply["execution_count"] == count + 4  # silent and aborted cells do not count
    assert client.run("   \n")[0]["status"] == "ok"


def test_prompts_go_to_the_client_that_ran_the_cell(face, client):
    other = face.client()
    asked = []

    def answer(message):
        asked.append(message["content"])
        client.raw.input("<Tab> & ü")

    reply, outputs = client.run("import getpass\n[input('name? '), getpass.getpass('word? ')]", stdin_hook=answer)
    assert reply["status"] == "ok"
    assert asked == [{"prompt": "name? ", "password": False}, {"prompt": "word? ", "password": True}]
    assert outputs.of("execute_result")[0]["data"]["text/plain"] == "['<Tab> & ü', '<Tab> & ü']"
    # The other client has received everything and got no prompt.
    other.wait_for(lambda m: m["msg_type"] == "execute_result" and "<Tab>" in m["content"]["data"]["text/plain"])
    reply, _ = other.run("input('nobody? ')")
    assert reply["status"] == "error"


def test_completion_help_and_completeness_come_from_the_interpreter(client):
    client.run("attribute = [1]")
    code = "ü = attri"
    reply = client.request("complete_request", {"code": code, "cursor_pos": len(code)})
    assert reply["status"] == "ok" and "attribute" in reply["matches"]
    assert (reply["cursor_start"], reply["cursor_end"]) == (4, 9)
    reply = client.request("inspect_request", {"code": "len", "cursor_pos": 3, "detail_level": 0})
    assert reply["found"] and "number of items" in reply["data"]["text/plain"]
    for code, status in (("1 + 1", "complete"), ("def f():", "incomplete"), ("1 +* 1", "invalid")):
        assert client.request("is_complete_request", {"code": code})["status"] == status, code
    # While a cell runs, queries cannot be answered: they get an empty answer at once.
    began = client.raw.execute("import time; time.sleep(3600)")
    client.wait_for(lambda m: m["msg_type"] == "execute_input" and m["parent_header"]["msg_id"] == began)
    assert client.request("complete_request", {"code": "attri", "cursor_pos": 5})["matches"] == []
    client.interrupt()
    client.reply_to(began)


def test_interrupts_restarts_and_shutdowns(session, client):
    for code in ("import time\nprint('begun', flush=True)\ntime.sleep(3600)", "input('begun')"):
        client.drain()
        began = client.raw.execute(code, allow_stdin=True)
        if "sleep" in code:
            client.wait_for(lambda m: m["content"].get("text") == "begun\n")
            assert client.request("kernel_info_request")["status"] == "ok"  # also while a cell runs
        else:
            client.raw.get_stdin_msg(timeout=PATIENCE)
        assert client.interrupt()["status"] == "ok"
        assert client.reply_to(began)["ename"] == "KeyboardInterrupt"
    client.run("kept = 1")
    assert client.request("shutdown_request", {"restart": False}, "control")["status"] == "ok"
    assert session.code("kept").ok().value == "1"
    client.drain()
    running, waiting = (client.raw.execute("import time; time.sleep(3600)") for _ in range(2))
    client.wait_for(lambda m: m["msg_type"] == "execute_input" and m["parent_header"]["msg_id"] == running)
    assert client.request("shutdown_request", {"restart": True}, "control") == {"status": "ok", "restart": True}
    assert [client.reply_to(one)["status"] for one in (waiting, running)] == ["aborted", "error"]
    assert session.code("'kept' in globals()").ok().value == "False"
    assert client.run("1")[0]["execution_count"] == 1


# evidence: jupyter-face
def test_unsigned_requests_are_not_run(session, client):
    session.code("forged = 0").ok()
    key, client.raw.session.key = client.raw.session.key, b"another"
    client.raw.execute("forged = 1")
    client.raw.session.key = key
    assert client.value("forged") == "0"
    assert client.request("no_such_request")["ename"] == "NotSupported"


# evidence: jupyter-replay
def test_a_replayed_request_is_not_run_again(session, client):
    session.code("count = 0").ok()
    raw = client.raw
    content = {"code": "count += 1", "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
    frames = raw.session.serialize(raw.session.msg("execute_request", content))
    for _ in range(2):
        raw.shell_channel.socket.send_multipart(frames)
    assert client.value("count") == "1"


def test_an_end_of_the_interpreter_is_reported_with_its_cause(client):
    reply, outputs = client.run("import os; os._exit(3)")
    assert reply["status"] == "error" and reply["ename"] == "InterpreterDied", reply
    assert "exited with status 3" in reply["evalue"] and "variables are gone" in "".join(outputs.of("error")[0]["traceback"])
    assert client.value("1 + 1") == "2"


# evidence: jupyter-face
def test_the_face_ends_with_the_session(session, face, client):
    """Must be the last test that uses the session."""
    began = client.raw.execute("import time; time.sleep(3600)")
    client.wait_for(lambda m: m["msg_type"] == "execute_input")
    session.server.call("stop_session", {"session_id": session.id})
    assert client.reply_to(began)["status"] == "error"
    code, words = face.end(signo=None)
    assert code == 0 and "the session has ended" in words, words
    assert not pathlib.Path(face.file).parent.exists()


def test_a_notebook_runs_by_choosing_husk_python(tmp_path):
    env = clean_env(tmp_path / "home")
    pathlib.Path(env["HOME"]).mkdir()
    prefix = tmp_path / "prefix"
    done = subprocess.run([husk_binary(), "jupyter", "--install", "--prefix", prefix], env=env, capture_output=True, text=True,
                          timeout=PATIENCE, check=True)
    kernels = prefix / "share/jupyter/kernels"
    titles = {path.parent.name: json.loads(path.read_text())["display_name"] for path in kernels.glob("*/kernel.json")}
    assert {"husk-python": "Husk Python", "husk-node": "Husk Node.js", "husk-r": "Husk R"}.items() <= titles.items()
    assert all(title in done.stdout for title in titles.values())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", "print('out'); 6 * 7")])
    with kernel("husk-python", prefix, env) as (client, manager):
        NotebookClient(notebook, km=manager, timeout=PATIENCE).execute()
        assert len(docker("ps", "--quiet", "--filter", store_label(env)).split()) == 1
        del client
    assert "image/png" in notebook.cells[0].outputs[0]["data"]
    assert [output["output_type"] for output in notebook.cells[1].outputs] == ["stream", "execute_result"]
    nbformat.validate(notebook)
    assert store_id(env)
    wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", store_label(env)), what="the end of its session")
    (kernels / "husk-mine").mkdir()
    (kernels / "husk-mine/kernel.json").write_text('{"argv": ["mine"]}')
    subprocess.run([husk_binary(), "jupyter", "--uninstall", "--prefix", prefix], env=env, timeout=PATIENCE, check=True, capture_output=True)
    assert [path.name for path in kernels.iterdir()] == ["husk-mine"]


SCRIPT = """
import sys, husk
with husk.Session(network=False) as s:
    s.run("shared = [1, 2, 3]")
    print(s.id, flush=True)
    sys.stdin.readline()
    print(s.run("shared").value, flush=True)
"""


def test_sessions_of_the_python_module(tmp_path):
    env = clean_env(tmp_path, PYTHONPATH=ROOT / "clients/python", HUSK_LIBRARY=build_dir() / "libhusk/libhusk.so")
    with subprocess.Popen([sys.executable, "-c", SCRIPT], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as script:
        session = script.stdout.readline().strip()
        face = Face(session, env)
        try:
            assert face.client().value("shared.append(4); len(shared)") == "4"
            (tmp_path / "file").write_text("copied")
            subprocess.run([husk_binary(), "cp", tmp_path / "file", f"{session}:"], env=env, timeout=PATIENCE, check=True)
            assert face.clients[0].value("open('file').read()") == "'copied'"
        finally:
            # The script ends while a client is connected.
            said, _ = script.communicate("\n", timeout=PATIENCE)
            face.end(signo=None)
        assert "[1, 2, 3, 4]" in said and script.returncode == 0
    assert not list((tmp_path / "state/husk/attach").glob("*.sock"))
    assert not docker("ps", "--all", "--quiet", "--filter", store_label(env))


def test_a_notebook_finds_the_files_beside_it(tmp_path):
    env = clean_env(tmp_path / "home")
    notebooks = pathlib.Path(env["HOME"]) / "notebooks"
    (notebooks / "lib").mkdir(parents=True)
    (notebooks / "sales.csv").write_text("a,b\n1,2\n")
    (notebooks / "lib" / "helper.py").write_text("def total(): return 3\n")
    (notebooks / ".gitignore").write_text("secret.txt\n")
    (notebooks / "secret.txt").write_text("s")
    prefix = tmp_path / "prefix"

    def install(*options):
        subprocess.run([husk_binary(), "jupyter", "--install", "--prefix", prefix, *options], env=env, capture_output=True, timeout=PATIENCE, check=True)

    install()
    with kernel("husk-python", prefix, env, cwd=notebooks) as (client, _):
        assert client.value("import pandas, os, lib.helper\nint(pandas.read_csv('sales.csv').b[0]) + lib.helper.total()") == "5"
        assert client.value("os.path.exists('secret.txt')") == "False"
        # Changed files are brought back by husk cp.
        client.run("open('result.csv', 'w').write('42')")
        listed = subprocess.run([husk_binary(), "ps", "--json"], env=env, capture_output=True, text=True, timeout=PATIENCE, check=True)
        (session,) = json.loads(listed.stdout)["sessions"]
        subprocess.run([husk_binary(), "cp", f"{session['id'][:12]}:result.csv", "."], env=env, cwd=notebooks, timeout=PATIENCE, check=True)
    assert (notebooks / "result.csv").read_text() == "42"
    # A folder that is too large is not copied, and a failing cell says so, once.
    for i in range(1001):
        (notebooks / f"{i}.txt").touch()
    with kernel("husk-python", prefix, env, cwd=notebooks) as (client, _):
        for shown in (1, 0):
            reply, outputs = client.run("open('sales.csv')")
            assert reply["ename"] == "FileNotFoundError" and outputs.text("stderr").count("1000 files. `husk cp") == shown
    install("--alone")
    (notebooks / "1000.txt").unlink()
    with kernel("husk-python", prefix, env, cwd=notebooks) as (client, _):
        reply, outputs = client.run("open('sales.csv')")
        assert reply["ename"] == "FileNotFoundError" and not outputs.text("stderr")


@pytest.mark.parametrize("arguments, settings, code, words", [
    ((), {}, 64, "usage: husk jupyter"),
    (("--alone", "x"), {}, 64, "usage: husk jupyter"),
    (("--install", "x"), {}, 64, "usage: husk jupyter"),
    (("nosuchsession",), {}, 1, "not found"),
    (("--install", "--user"), {"DOCKER_HOST": "unix:///nowhere/docker.sock"}, 111, "cannot reach the engine"),
])
def test_bad_input(tmp_path, arguments, settings, code, words):
    done = subprocess.run([husk_binary(), "jupyter", *arguments], env=clean_env(tmp_path, **settings), capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert words in done.stderr, done
