"""Timeouts: results and output until then are kept. Tests over each kernel's link show which loops can be
interrupted.
"""

import pytest

def test_output_and_variables_before_the_timeout_are_kept(session):
    result = session.code("import time\ncount = 0\nwhile True:\n    count += 1\n    time.sleep(0.01)", 1)
    assert 900 <= result.duration_ms < 10000 and result.text.startswith("⟦timeout⟧") and "1 s" in result.text
    assert int(session.code("count").ok().value) > 10


def test_long_output_until_the_timeout_is_kept(session):
    result = session.code("i = 0\nwhile True:\n    print('line', i, flush=True)\n    i += 1", 1)
    assert result.ending == "timeout"
    assert "\nline 0\nline 1\n" in result.text and result.stdout_bytes > 1000


def test_a_cell_within_its_time_is_not_touched(session):
    assert session.code("import time\ntime.sleep(1.2)\n'in time'", 3).ok().value == "'in time'"


def test_the_next_cell_is_not_interrupted_by_the_last_one_s_timeout(session):
    for _ in range(5):
        assert session.code("import time; time.sleep(30)", 1).ending == "timeout"
        assert session.code("sum(i for i in range(200000))").ok().value == "19999900000"


@pytest.mark.parametrize("timeout, rule", [(0, "from 1"), (-1, "from 1"), (301, "300"), (1000, "300"), (1.5, "an integer"), ("soon", "an integer"),
                                           (True, "an integer")])
def test_out_of_range(session, timeout, rule):
    for result in (session.code("1", timeout), session.shell("true", timeout)):
        assert result.is_error and "timeout" in result.text and rule in result.text


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
