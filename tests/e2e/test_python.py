"""The Python of a session: state, values, order of output, figures, tracebacks."""

import re

import pytest

PNG = b"\x89PNG\r\n\x1a\n"


def test_state_persists(session):
    session.code("import math\nstate_a = 20\ndef state_f(n): return n + state_a").ok()
    assert session.code("state_f(int(math.sqrt(484)))").ok().value == "42"


@pytest.mark.parametrize("code, value", [
    ("1 + 1", "2"),
    ("'text'", "'text'"),
    ("v_list = [1]\nv_list.append(2)\nv_list", "[1, 2]"),
    ("v_quiet = 3", None),
    ("None", None),
    ("7;", None),
    ("if True:\n    7", None),
])
def test_the_last_expression_is_the_result(session, code, value):
    ended = session.code(code).ok()
    assert ended.value == value
    assert ended.stdout == "" and ended.stderr == ""


def test_top_level_await_and_returned_coroutines(session):
    session.code("import asyncio\nasync def co_v(n):\n    await asyncio.sleep(0)\n    return n * 2").ok()
    assert session.code("co_r = await co_v(4)\nco_r").ok().value == "8"
    assert session.code("co_v(21)").ok().value == "42"
    assert session.code("asyncio.run(co_v(5))").ok().value == "10"


def test_output_of_children_and_c_code_comes_in_order(session):
    ended = session.code("import os, subprocess, sys, ctypes\n"
                         "libc = ctypes.CDLL(None)\n"
                         "print('1', end=' ')\n"
                         "os.system('echo 2')\n"
                         "subprocess.run(['echo', '3'])\n"
                         "libc.printf(b'4 ')\n"
                         "print('5')\n"
                         "!echo 6\n"
                         "print('e', file=sys.stderr)").ok()
    assert ended.stdout == "1 2\n3\n4 5\n6\n"
    assert ended.stderr == "e\n"


def test_c_output_survives_a_hard_exit(own_session):
    ended = own_session.code("import ctypes, os\nctypes.CDLL(None).printf(b'said in C')\nos._exit(0)")
    assert ended.ending == "kernel_died" and ended.stdout == "said in C"


def test_figures_come_as_pictures_without_asking_and_without_network(session):
    ended = session.code("import matplotlib.pyplot as plt, numpy as np, pandas as pd\n"
                         "plt.plot(np.arange(3))\nplt.figure(); pd.Series([1, 3]).plot()\n'done'").ok()
    assert [(kind, data[:8]) for kind, data in ended.images] == [("image/png", PNG)] * 2
    assert ended.value == "'done'" and ended.stderr == ""
    assert [d["type"] for d in ended.display_outputs] == ["image/png"] * 2
    assert session.code("1").ok().images == []


def test_displays_keep_their_place_among_output(session):
    ended = session.code("from IPython.display import display, HTML, JSON\n"
                         "display(HTML('<b>h</b>'))\ndisplay(JSON({'k': [1]}))\nprint('after')").ok()
    assert [d["type"] for d in ended.display_outputs] == ["text/html", "application/json"]
    assert ended.stdout == "after\n"


def test_a_frame_shows_as_text(session):
    ended = session.code("import pandas as pd\npd.DataFrame({'a': [1, 2]})").ok()
    assert re.search(r"a\n0\s+1\n1\s+2", ended.value)
    assert "<table" not in ended.text


@pytest.mark.parametrize("code, kind, message, lines", [
    ("1/0", "ZeroDivisionError", "division by zero", ["1/0"]),
    ("def tb_f():\n    raise KeyError('k')\ntb_f()", "KeyError", "'k'", ["tb_f()", "raise KeyError('k')"]),
    ("x = = 1", "SyntaxError", "invalid syntax", ["x = = 1"]),
    ("await 7", "TypeError", "", []),
    ("import no_such_module", "ModuleNotFoundError", "no_such_module", []),
])
def test_tracebacks_start_at_the_users_code(session, code, kind, message, lines):
    ended = session.code(code)
    assert ended.ending == "error" and ended.success is False and not ended.is_error
    assert ended.error["type"] == kind and message in ended.error["message"]
    traceback = ended.error["traceback"]
    for line in lines:
        assert line in traceback
    for stranger in ("IPython", "/opt/husk", "husk_kernel", "interactiveshell"):
        assert stranger not in traceback
    assert ended.stdout == "" and ended.stderr == ""
    assert ended.text.count("Traceback (most recent call last)") <= 1


def test_no_echo_and_no_ansi(session):
    ended = session.code("print('\\x1b[31mred\\x1b[0m')\n5")
    assert "Out[" not in ended.text and "\x1b" not in ended.text
    assert ended.stdout == "red\n"
    assert "\x1b" not in session.code("undefined_name_here").text


def test_input_fails_at_once(session):
    ended = session.code("input('name? ')")
    assert ended.ending == "error" and ended.took < 5
    assert "input" in ended.error["message"]


def test_text_that_is_no_text_is_made_readable(session):
    ended = session.code("import sys, os\nprint('äß→🎈')\nos.write(1, b'\\xff\\x00\\n')").ok()
    assert ended.stdout.startswith("äß→🎈\n\ufffd")
    assert "\x00" not in ended.text


def test_long_output_keeps_head_and_tail_and_says_so(session):
    ended = session.code("for i in range(100000): print('line', i)").ok()
    assert ended.stdout.startswith("line 0\n") and ended.stdout.endswith("line 99999\n")
    assert ended.stdout_truncated is True and ended.stdout_bytes == 1088890
    assert "truncated" in ended.stdout and len(ended.stdout) < 50300
    assert len(ended.text) <= 45500 and "1088890" in ended.text


def test_background_threads_are_shown_at_the_next_call(session):
    session.code("import threading\nbg_go = threading.Event()\n"
                 "def bg_f():\n    bg_go.wait()\n    print('from the thread', flush=True)\n"
                 "bg_t = threading.Thread(target=bg_f); bg_t.start()").ok()
    ended = session.code("bg_go.set(); bg_t.join()").ok()
    assert ended.stdout == "from the thread\n"
