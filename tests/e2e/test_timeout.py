"""Timeouts: the process group is interrupted, variables are kept, partial output is returned."""

import pytest

CELLS = {
    "python loop": "while True: pass",
    "os.system": "import os\nos.system('sleep 60')",
    "subprocess.run": "import subprocess\nsubprocess.run(['sleep', '60'])",
    "shell escape": "!sleep 60",
    "time.sleep": "import time\ntime.sleep(60)",
    "asyncio": "import asyncio\nawait asyncio.sleep(60)",
    "input output": "import subprocess\nsubprocess.run('while :; do sleep 0.2; done', shell=True)",
    "thread join": "import threading, time\nt = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nt.start(); t.join()",
    # Loops in C that look for signals now and then.
    "C loop": "10 ** 10 ** 8",
    "C loop in numpy": "import numpy as np\nx = np.random.rand(400, 400)\nwhile True: x = x @ x; x /= x.max()",
    "C loop in re": "import re\nre.match(r'(a|aa)+$', 'a' * 60 + 'b')",
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_interrupted(session, name):
    session.code("kept = 'kept'").ok()
    result = session.code("import os\nprint('before', flush=True)\nos.system('echo child')\n" + CELLS[name], 1)
    assert not result.is_error
    assert (result.success, result.ending) == (False, "timeout"), result.text
    assert result.stdout.startswith("before\nchild\n"), result.stdout
    assert 900 <= result.duration_ms < 10000
    assert result.text.startswith("[timeout]") and "1 s" in result.text
    after = session.code("kept")
    assert after.ok().value == "'kept'", after.text
    assert session.shell("grep -lx sleep /proc/[0-9]*/comm").stdout == ""  # nothing of it runs on


def test_a_c_loop_that_never_looks_is_ended_too(own_session):
    """It ignores the interrupt for a grace period; then the kernel goes, and that is said. Files and output are kept."""
    own_session.code("lost = 1\nopen('kept.txt', 'w').write('kept')").ok()
    result = own_session.code("print('before', flush=True)\nsum(range(10 ** 12))", 1)
    assert (result.success, result.ending) == (False, "timeout"), result.text
    assert result.stdout == "before\n" and result.duration_ms < 20000
    assert "variables" in result.text and "gone" in result.text and "files are kept" in result.text
    after = own_session.code("open('kept.txt').read(), 'lost' in globals()")
    assert after.ok().value == "('kept', False)"


def test_what_was_done_before_the_timeout_is_kept(session):
    session.code("import time\ncount = 0\nwhile True:\n    count += 1\n    time.sleep(0.01)", 1)
    assert int(session.code("count").ok().value) > 10


def test_long_output_until_the_timeout_is_kept(session):
    result = session.code("i = 0\nwhile True:\n    print('line', i, flush=True)\n    i += 1", 1)
    assert result.ending == "timeout"
    assert result.stdout.startswith("line 0\nline 1\n") and result.stdout_bytes > 1000


def test_a_cell_within_its_time_is_not_touched(session):
    assert session.code("import time\ntime.sleep(1.2)\n'in time'", 3).ok().value == "'in time'"


def test_the_next_cell_is_not_interrupted_by_the_last_one_s_timeout(session):
    for _ in range(5):
        assert session.code("import time; time.sleep(30)", 1).ending == "timeout"
        assert session.code("sum(i for i in range(200000))").ok().value == "19999900000"


@pytest.mark.parametrize("timeout", [0, -1, 301, 1000, 1.5, "soon", True])
def test_out_of_range(session, timeout):
    for result in (session.code("1", timeout), session.shell("true", timeout)):
        assert result.is_error and "timeout" in result.text and "300" in result.text


@pytest.mark.parametrize("timeout", [1, 300, None])
def test_in_range(session, timeout):
    assert session.code("1", timeout).ok().value == "1"
    session.shell("true", timeout).ok()


def test_null_means_the_default(session):
    server = session.server
    assert not server.call("execute_code", {"session_id": session.id, "code": "1", "timeout": None}).is_error


def test_grandchildren_are_interrupted_with_the_group(session):
    result = session.code("import subprocess\nsubprocess.run(['sh', '-c', 'sleep 61 | (sleep 62; sleep 63)'])", 1)
    assert result.ending == "timeout"
    assert session.shell("grep -lx sleep /proc/[0-9]*/comm").stdout == ""
