"""Jupyter's own programs over Husk's kernels: the console at a terminal, nbconvert, jupyter_kernel_test; and every runtime."""

import json
import pathlib
import subprocess
import sys

import nbformat
import pytest
from harness import PATIENCE, Server, build_dir, clean_env, contrib_binary, docker, husk_binary, ninja, store_label, wait_until
from jupyter_rig import Face, kernel
from pty_program import Program

pytestmark = pytest.mark.timeout(600)
CELLS = {
    "python": {"value": "6 * 7", "shown": "42", "print": "print('hi')", "raise": "1 / 0", "ename": "ZeroDivisionError",
               "loop": "while True: pass", "ask": "x = input('q? ')", "plot": "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"},
    "node": {"value": "6 * 7", "shown": "42", "print": "console.log('hi')", "raise": "null.x", "ename": "TypeError",
             "loop": "while (true);", "ask": None, "plot": None},
    "r": {"value": "6 * 7", "shown": "[1] 42", "print": "cat('hi\\n')", "raise": "stop('no')", "ename": "simpleError",
          "loop": "repeat NULL", "ask": "x <- readline('q? ')", "plot": "plot(1:3)"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An environment, and a prefix with Husk's kernelspecs."""
    folder = tmp_path_factory.mktemp("jupyter")
    env = clean_env(folder / "home", CONTAINER_MAX_SESSIONS=20)
    (folder / "home").mkdir()
    subprocess.run([husk_binary(), "jupyter", "--install", "--prefix", folder / "prefix"], env=env, check=True, capture_output=True)
    env["JUPYTER_PATH"] = str(folder / "prefix/share/jupyter")
    yield env, folder / "prefix"
    wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", store_label(env)), what="the end of its sessions")


@pytest.mark.parametrize("runtime", CELLS)
def test_every_runtime(place, runtime):
    env, prefix = place
    cells = CELLS[runtime]
    with kernel(f"husk-{runtime}", prefix, env) as (client, manager):
        reply, outputs = client.run(cells["value"])
        shown = outputs.of("execute_result")[0]["data"]["text/plain"] if outputs.of("execute_result") else outputs.text()
        assert shown.strip() == cells["shown"]
        assert client.run(cells["print"])[1].text() == "hi\n"
        reply, _ = client.run(cells["raise"])
        assert (reply["status"], reply["ename"]) == ("error", cells["ename"]), reply
        began = client.raw.execute(cells["loop"])
        client.wait_for(lambda m: m["msg_type"] == "execute_input" and m["parent_header"]["msg_id"] == began)
        client.interrupt()
        assert client.reply_to(began)["status"] == "error"
        if cells["ask"]:
            client.run(cells["ask"], stdin_hook=lambda _: client.raw.input("there"))
            assert "there" in str(client.run("x")[1])
        if cells["plot"]:
            assert any("image/png" in one["data"] for one in client.run(cells["plot"])[1].of("display_data"))
        if runtime == "python":
            manager.restart_kernel()
            client.raw.wait_for_ready(timeout=PATIENCE)
            assert client.value("'x' in globals()") == "False"


def test_running_out_of_memory_is_reported(place):
    env, prefix = place
    with kernel("husk-python", prefix, {**env, "CONTAINER_MEMORY_LIMIT": "700m"}) as (client, _):
        reply, outputs = client.run("x = bytearray(10 ** 9)")
        assert reply["ename"] == "OutOfMemory" and "memory limit" in outputs.of("error")[0]["evalue"]
        assert client.value("1 + 1") == "2"


def test_a_killed_jupyter_ends_its_kernel(place):
    """Jupyter runs in a separate process here and is killed without telling its kernel."""
    env, prefix = place
    program = (f"import sys; sys.path[:0] = {[str(pathlib.Path(__file__).parents[1])]!r}\n"
               f"import jupyter_rig\nwith jupyter_rig.kernel('husk-python', {str(prefix)!r}, {env!r}) as (client, _):\n"
               "    print(client.value('1'), flush=True)\n    sys.stdin.read()\n")
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    assert child.stdout.readline() == "1\n"
    child.kill()
    child.communicate()
    wait_until(lambda: not docker("ps", "--quiet", "--filter", store_label(env)), what="the end of the session")


@pytest.fixture
def attached(tmp_path):
    """A server's session, and `husk jupyter` attached to it."""
    server = Server(tmp_path / "server")
    session = server.session(network=False)
    face = Face(session.id, server.env)
    yield server, session, face
    face.end()
    server.stop()


def test_a_session_outlives_its_server_and_clients_stay_connected(attached):
    server, _, face = attached
    client = face.client()
    client.run("kept = 5")
    server.kill()
    wait_until(lambda: client.run("kept")[0]["status"] == "ok", what="the session in the face's own hands")
    assert client.value("kept") == "5"
    code, words = face.end()
    assert code == 0, words


def start_console(env, *options):
    return Program([sys.executable, "-m", "jupyter_console", "--simple-prompt", *options], {**env, "TERM": "xterm"})


def test_jupyter_console_of_a_session(attached):
    server, session, face = attached
    session.code("agent = 'made by an agent'").ok()
    with start_console(server.env, "--existing", face.file) as console:
        console.until("In [")
        console.type("agent.upper()\n")
        console.until("MADE BY AN AGENT")
        console.type("input('who? ') + '!'\n")
        console.until("who? ")
        console.until("who? ")  # the first match was the echo of the typed line
        console.type("person\n")
        console.until("'person!'")


def test_jupyter_console_of_a_fresh_session(place):
    """jupyter console sends an interrupt_request to kernels that it started itself."""
    env, _ = place
    with start_console(env, "--kernel", "husk-python") as console:
        console.until("In [1]")
        console.type("import time; print('be' + 'gun'); time.sleep(3600)\n")
        console.until("begun")
        console.type("\x03")
        console.until("KeyboardInterrupt")
        console.until("In [2]")
        console.type("6 * 7\n")
        console.until("42")
        console.type("\x04")
        console.until("exit")
        console.type("y\n")
        assert console.process.wait(PATIENCE) == 0


def test_nbconvert_executes_a_notebook(place, tmp_path):
    env, _ = place
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("cat('from R\\n'); 1:3")])
    path = tmp_path / "report.ipynb"
    nbformat.write(notebook, path)
    subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace",
                    "--ExecutePreprocessor.kernel_name=husk-r", path], env=env, check=True, capture_output=True, timeout=PATIENCE * 2)
    assert "from R" in json.dumps(nbformat.read(path, 4))


KERNEL_TEST = """
import unittest
import jupyter_kernel_test


class HuskPython(jupyter_kernel_test.KernelTests):
    kernel_name = "husk-python"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = [{"text": "zi", "matches": {"zip"}}]
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\\n  return x*2\\n\\n"]
    incomplete_code_samples = ["print('''hello", "def f(x):\\n  x*2"]
    invalid_code_samples = ["import = 7q"]
    code_inspect_sample = "zip"
    code_generate_error = "raise"
    code_execute_result = [{"code": "6*7", "result": "42"}]
    code_display_data = [{"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))", "mime": "text/html"}]
    code_clear_output = "from IPython.display import clear_output; clear_output()"


unittest.main()
"""


def run_kernel_test(env, program):
    done = subprocess.run([sys.executable, "-c", program, "-v"], env=env, capture_output=True, text=True, timeout=PATIENCE * 3, check=False)
    assert done.returncode == 0 and "OK" in done.stderr, done.stderr


def test_jupyter_kernel_test(place):
    run_kernel_test(place[0], KERNEL_TEST)


def test_jupyter_kernel_test_of_a_stock_kernel(tmp_path):
    """The tests go through both ends of Jupyter's protocol: husk-jupyter-face outside, and husk-jupyter with ipykernel
    inside.
    """
    face = build_dir() / "runtimes" / "contrib" / "husk-jupyter-face-contrib"
    contrib_binary(["ipykernel"])
    ninja(build_dir(), str(face.relative_to(build_dir())))
    env = clean_env(tmp_path, CONTAINER_MAX_SESSIONS=20, JUPYTER_PATH=tmp_path / "share/jupyter")
    subprocess.run([face, "--install", "--prefix", tmp_path], env=env, check=True, capture_output=True)
    run_kernel_test(env, KERNEL_TEST.replace("husk-python", "husk-ipykernel"))
    wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", store_label(env)), what="the end of its sessions")
