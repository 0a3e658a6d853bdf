"""A cell past its time is interrupted: variables are kept, what it printed comes back, children are gone."""

import pytest

CELLS = {
    "python loop": "while True: pass",
    "os.system": "import os; os.system('sleep 60')",
    "subprocess.run": "import subprocess; subprocess.run(['sleep', '60'])",
    "shell escape": "!sleep 60",
    "time.sleep": "import time; time.sleep(60)",
    "await": "import asyncio; await asyncio.sleep(60)",
    "lock": "import threading; t_l = threading.Lock(); t_l.acquire(); t_l.acquire()",
    "c loop": "import numpy as np\nt_a = np.random.default_rng(0).random((700, 700))\nwhile True: t_a = t_a @ t_a / 350",
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_past_its_time(session, name):
    session.code("t_kept = 'kept'").ok()
    ended = session.code("print('begun')\n" + CELLS[name], 1)
    assert ended.ending == "timeout" and ended.success is False and not ended.is_error
    assert ended.stdout == "begun\n"
    assert ended.took < 6  # well before the kill after the grace period
    assert "Variables" in ended.hint and "timeout" in ended.hint
    assert session.code("t_kept").ok().value == "'kept'"
    assert "sleep" not in session.shell("ps -eo comm").ok().stdout.split()


@pytest.mark.parametrize("timeout", [0, 301, -1, 1.5, "soon", True])
def test_a_timeout_out_of_range_is_refused_by_name(session, timeout):
    for tool, argument in (("execute_code", "code"), ("execute_terminal", "command")):
        refused = session.server.call(tool, {"session_id": session.id, argument: "1", "timeout": timeout})
        assert refused.is_error and "timeout" in refused.text and "300" in refused.text


def test_the_default_comes_from_the_setting(start):
    session = start(CONTAINER_EXECUTION_TIMEOUT_SECONDS=1).session(network=False)
    assert session.code("while True: pass").ending == "timeout"
    assert session.shell("sleep 60").ending == "timeout"


def test_waiting_in_the_queue_does_not_count(session):
    first = session.start_code("import time; time.sleep(3)", 30)
    second = session.start_code("'ran'", 1)
    assert second.tool().ok().value == "'ran'"
    assert first.done
