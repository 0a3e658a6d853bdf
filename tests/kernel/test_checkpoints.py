"""Checkpoints of real interpreters: what they keep, and what they name as lost."""

import statistics
import time

import pytest

from container import Container, forget_checkpoints, frames, save, text, wait_for


@pytest.fixture(scope="module")
def shared():
    with Container("python") as container:
        yield container


@pytest.fixture
def python(shared):
    """A new interpreter, without checkpoints."""
    return forget_checkpoints(shared.client)


KEPT = {
    "variables and imports": ("import json as j\nx = {'a': [1, 2]}", "j.dumps(x)", '\'{"a": [1, 2]}\''),
    "the directory and the environment": ("import os\nos.chdir('/tmp'); os.environ['A'] = 'b'", "os.getcwd() + os.environ['A']", "'/tmpb'"),
    "random numbers": ("import random, numpy\nrandom.seed(1); numpy.random.seed(1)", "random.random(), int(numpy.random.randint(1000))",
                       "(0.13436424411240122, 37)"),
    "an open file's position": ("f = open('/tmp/f', 'w+'); _ = f.write('abcdef'); f.flush(); _ = f.seek(2)", "f.read(1)", "'c'"),
    "an idle database": ("import sqlite3\ndb = sqlite3.connect('/tmp/db'); db.execute('create table if not exists t (x)'); db.commit()",
                         "db.execute('select count(*) from t').fetchone()", "(0,)"),
    "the event loop": ("import asyncio\nawait asyncio.sleep(0)", "await asyncio.sleep(0.01, 7)", "7"),
    "a task": ("import asyncio\nasync def later():\n    await asyncio.sleep(0.3)\n    return 5\nt = asyncio.create_task(later())", "await t", "5"),
    "linear algebra": ("import numpy as np\na = np.ones((300, 300)); _ = a @ a", "float((a @ a)[0, 0])", "300.0"),
    "a frame": ("import pandas as pd\nd = pd.DataFrame({'x': [1, 2, 3]})", "int(d.x.sum())", "6"),
    "an open figure": ("import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); _ = ax.plot([1, 2]); plt.close('all')",
                       "len(ax.lines)", "1"),
}


@pytest.mark.parametrize("before, after, value", KEPT.values(), ids=KEPT.keys())
def test_a_restored_interpreter_is_as_it_was(python, before, after, value):
    python.execute(before)
    save(python)
    python.execute("x = d = a = 0\nimport os\nos.chdir('/'); os.environ['A'] = 'c'")
    reply = python.execute("import random\nrandom.random()\ntry: f.read(2)\nexcept Exception: pass\nimport os\nos._exit(3)")
    assert reply.ending == "kernel_died" and reply.end["kernel"] == "restored"
    assert text(python.execute(after)) == value


LOST = {
    "a thread": ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), name='worker', daemon=True).start()", "the thread worker"),
    "a pool": ("from concurrent.futures import ThreadPoolExecutor as P\nimport time\np = P(2); q = [p.submit(time.sleep, 5) for _ in range(2)]", "a pool of 2 threads"),
    "a process": ("import subprocess\nc = subprocess.Popen(['sleep', '60'])", "the process sleep (pid"),
    "a socket": ("import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); t = socket.create_connection(s.getsockname())",
                 "a connection to 127.0.0.1:"),
    "a pipe": ("import os\nr, w = os.pipe()", "a pipe (descriptor"),
    "shared memory": ("from multiprocessing import shared_memory as m\nb = m.SharedMemory(create=True, size=10)", "the shared memory /dev/shm/"),
    "a transaction": ("import sqlite3\ndb = sqlite3.connect('/tmp/tr'); db.execute('create table if not exists t (x)'); db.execute('insert into t values (1)')",
                      "the open transaction of db"),
}


@pytest.mark.parametrize("code, said", LOST.values(), ids=LOST.keys())
def test_losses_are_named_before_and_after(python, code, said):
    assert python.execute(code).ending == "ok"
    lost = save(python)["lost"]
    assert any(one.startswith(said) for one in lost), lost
    reply = python.execute("import os\nos._exit(3)")
    assert reply.end["restored"]["lost"] == lost and "Not restored: " in reply.detail


def test_a_quiet_session_lacks_nothing(python):
    python.execute("import numpy, asyncio\nawait asyncio.sleep(0)\nnumpy.ones((400, 400)) @ numpy.ones((400, 400))\nNone")
    assert "lost" not in save(python)


def test_libraries_that_would_hang_prevent_checkpoints(python):
    python.execute("import sys, types\nsys.modules['polars'] = types.ModuleType('polars')")
    answer = python.checkpoint("save", name="a")
    assert answer["status"] == "cannot" and "polars is loaded" in answer["why"]


def test_a_checkpoint_shows_nothing_in_the_session(python):
    """No output, no warning, no child, no descriptor, and no answer to a signal."""
    python.execute("import os, warnings, signal\nwarnings.simplefilter('error')\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                   "before = sorted(os.listdir('/proc/self/fd'))\nos.environ['X'] = '1'")
    save(python)
    look = "f = open(f'/proc/self/task/{os.getpid()}/children'); t = f.read(); f.close(); (before == sorted(os.listdir('/proc/self/fd')), t)"
    reply = python.execute(look)
    assert text(reply) == "(True, '')" and not reply.err


def test_output_after_a_restore_arrives_in_order(python):
    python.execute("import os, sys, subprocess")
    save(python)
    python.execute("os._exit(1)")
    reply = python.execute("print('a'); subprocess.run(['echo', 'b']); print('c', file=sys.stderr); display('d'); print('e')\nos.system('echo f')")
    assert reply.out == b"a\nb\ne\nf\n" and reply.err == b"c\n" and len(reply.displays) == 1


def test_an_interrupt_reaches_a_restored_interpreter(python):
    python.execute("import os, time")
    save(python)
    python.execute("os._exit(1)")
    number = python.start(frames.EXECUTE, "x = 5\nprint('on', flush=True)\ntime.sleep(60)")
    python.expect(lambda f: f.call == number and f.type == frames.OUT)
    python.send(frames.INTERRUPT, number)
    assert python.finish(number).ending == "interrupted" and text(python.execute("x")) == "5"


def test_an_oom_is_survived(python):
    python.execute("x = 'kept'")
    save(python)
    reply = python.execute("b = bytearray(3 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1")
    assert reply.ending in ("oom", "error"), reply.end
    assert text(python.execute("x")) == "'kept'"


def test_it_works_automatically(python):
    python.execute("x = 1; import time; time.sleep(0.3)")
    wait_for(lambda: python.status()["checkpoints"])
    reply = python.execute("import ctypes; ctypes.string_at(0)")
    assert reply.ending == "kernel_died" and reply.end["restored"]["missing"] and text(python.execute("x")) == "1"


def test_costs(python, capsys):
    """Printed; only bounds with a wide margin are checked."""
    python.execute("import numpy\nx = numpy.ones(12_000_000)\n1+1")

    def took(do):
        begun = time.monotonic()
        do()
        return (time.monotonic() - begun) * 1000

    saves = [took(lambda: save(python)) for _ in range(10)]
    firsts = []
    for _ in range(10):
        save(python)
        firsts.append(took(lambda: python.execute("1+1")))
    death = took(lambda: python.execute("import os; os._exit(1)"))
    with capsys.disabled():
        print(f"\nsave {min(saves):.1f} ms (p50 {statistics.median(saves):.1f}), first 1+1 after it {min(firsts):.1f} ms "
              f"(p50 {statistics.median(firsts):.1f}), death and recovery {death:.1f} ms")
    assert min(saves) < 50 and min(firsts) < 20 and death < 500
