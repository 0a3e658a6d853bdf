"""What a cell leaves behind and what comes back: state, values, output in order, pictures and tracebacks."""

import struct

import pytest


def test_state_persists(session):
    session.code("import math\nstate_x = 40\ndef state_f(y):\n    return state_x + y").ok()
    assert session.code("state_f(2), math.pi > 3").ok().value == "(42, True)"


@pytest.mark.parametrize("code, value", [
    ("1 + 1", "2"),
    ("'text'", "'text'"),
    ("[1, 2]", "[1, 2]"),
    ("a = 5\na * 2", "10"),
    ("None", None),
    ("a = 5", None),
    ("1 + 1;", None),
    ("if True:\n    7", None),
    ("# only a comment", None),
    ("_x = 3; _x", "3"),
    ("'ünïcödé ✓ 🐢'", "'ünïcödé ✓ 🐢'"),
    ("def f():\n    return 1\nf()", "1"),
])
def test_last_expression(session, code, value):
    result = session.code(code).ok()
    assert result.value == value
    assert result.stdout == ""


def test_no_output_is_said(session):
    assert session.code("quiet = 1").ok().text == "(no output)"


def test_no_out_prompt_and_no_ansi(session):
    for code in ("42", "print('x'); 42", "import pandas as pd\npd.DataFrame({'a': [1, 2]})", "1/0", "raise ValueError('bad')",
                 "print('\\x1b[31mred\\x1b[0m')", "!printf '\\033[1mbold\\033[0m'"):
        text = session.code(code).text
        assert "Out[" not in text and "In [" not in text, text
        assert "\x1b" not in text and "\\u001b" not in text, text


def test_underscore_is_the_last_value(own_session):
    own_session.code("6 * 7").ok()
    assert own_session.code("_").ok().value == "42"


def test_top_level_await(session):
    result = session.code("import asyncio\nawaited = await asyncio.sleep(0.01, result='done')\nawaited").ok()
    assert result.value == "'done'"
    assert session.code("awaited").ok().value == "'done'"
    assert session.code("async with asyncio.timeout(5):\n    inner = await asyncio.sleep(0, 9)\ninner").ok().value == "9"


def test_a_returned_coroutine_is_awaited(session):
    result = session.code("import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n    return 99\nwork()").ok()
    assert result.value == "99"


def test_errors_in_coroutines(session):
    result = session.code("async def work():\n    raise KeyError('inside')\nwork()")
    assert (result.ending, result.error["type"]) == ("error", "KeyError")


# --- output


def test_streams_apart(session):
    result = session.code("import sys\nprint('to out')\nprint('to err', file=sys.stderr)").ok()
    assert (result.stdout, result.stderr) == ("to out\n", "to err\n")
    assert "[stderr]" in result.text


def test_output_of_children_and_c_code_in_order(session):
    result = session.code(
        "import os, subprocess, ctypes, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "print('1 python')\n"
        "os.system('echo 2 system')\n"
        "print('3 python', end='\\n')\n"
        "subprocess.run(['echo', '4 subprocess'])\n"
        "libc.printf(b'5 printf\\n')\n"
        "print('6 python')\n"
        "libc.puts(b'7 puts')\n"
        "os.write(1, b'8 write\\n')\n"
        "sys.stdout.write('9 write\\n')\n"
        "!echo 10 magic\n"
        "libc.printf(b'11 printf without a newline')\n"
    ).ok()
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [str(i) for i in range(1, 12)], result.stdout


def test_stderr_of_children(session):
    result = session.code("import os\nos.system('echo lost >&2')\nos.write(2, b'also\\n')").ok()
    assert result.stderr.split() == ["lost", "also"]


def test_output_before_a_value_and_before_an_error(session):
    result = session.code("import os\nos.system('echo first')\n1/0")
    assert result.stdout == "first\n" and result.error["type"] == "ZeroDivisionError"
    assert result.text.index("first") < result.text.index("Traceback")


def test_input_is_closed(session):
    result = session.code("input('name? ')", 20)
    assert result.ending == "error" and result.duration_ms < 10000
    assert session.code("import sys; sys.stdin.read()", 20).took < 10
    assert session.code("import subprocess; subprocess.run(['cat'], capture_output=True).stdout", 20).ok().value == "b''"


def test_broken_bytes_become_text(session):
    result = session.code("import os\nos.write(1, b'a\\xffb\\x00c\\n')").ok()
    assert result.stdout.startswith("a\ufffdb") and result.stdout.endswith("c\n")
    assert "\x00" not in result.stdout


def test_nothing_of_one_cell_shows_in_the_next(session):
    session.code("print('earlier')").ok()
    assert session.code("print('later')").ok().stdout == "later\n"


# --- pictures


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND"
    return struct.unpack(">II", data[16:24])


def test_figures_become_images(session):
    result = session.code("import matplotlib.pyplot as plt\nimport numpy as np\nplt.plot(np.arange(10) ** 2)\nplt.title('squares')").ok()
    [(kind, data)] = result.images
    assert kind == "image/png"
    width, height = png_size(data)
    assert 200 < width <= 2000 and 200 < height <= 2000
    assert result.content[0]["type"] == "text"  # one text block, then the images
    assert [b["type"] for b in result.content].count("text") == 1
    assert result.display_outputs[0]["type"] == "image/png"
    assert "base64" not in result.text and len(result.text) < 1000


def test_show_and_several_figures(session):
    result = session.code("import matplotlib.pyplot as plt\nfor i in range(3):\n    plt.figure(); plt.plot([0, i]); plt.show()").ok()
    assert len(result.images) == 3
    assert session.code("1").images == []  # each was closed


def test_a_figure_of_an_earlier_cell_is_not_sent_again(session):
    assert len(session.code("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])").ok().images) == 1
    assert session.code("2").ok().images == []


def test_a_figure_comes_with_an_error_too(session):
    result = session.code("import matplotlib.pyplot as plt\nplt.plot([1])\n1/0")
    assert result.ending == "error" and len(result.images) == 1


def test_the_packages_of_the_image(session):
    result = session.code("import numpy, pandas, matplotlib\nnumpy.arange(3).sum(), pandas.DataFrame({'a': [1, 2]}).a.mean()").ok()
    assert "3" in result.value and "1.5" in result.value


def test_data_frames_read_well(session):
    result = session.code("import pandas as pd\npd.DataFrame({'name': ['a', 'b'], 'count': [1, 2]})").ok()
    assert "name" in result.text and "count" in result.text
    assert "<table" not in result.text


# --- errors


def test_tracebacks_start_at_the_user_s_code(session):
    result = session.code("def outer():\n    inner()\n\ndef inner():\n    raise ValueError('the cause')\n\nouter()")
    assert (result.is_error, result.success, result.ending) == (False, False, "error")
    error = result.error
    assert (error["type"], error["message"]) == ("ValueError", "the cause")
    lines = error["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: the cause"
    assert "outer()" in error["traceback"] and "raise ValueError('the cause')" in error["traceback"]
    for word in ("IPython", "interactiveshell", "husk_kernel", "kernel.py", "/usr/lib", "run_code"):
        assert word not in error["traceback"], error["traceback"]
    assert "line 5" in error["traceback"]
    assert result.text.startswith("[error] ValueError: the cause")


def test_tracebacks_through_libraries_keep_the_user_s_lines(session):
    result = session.code("import json\njson.loads('{bad')")
    assert result.error["type"] == "JSONDecodeError"
    first = [line for line in result.error["traceback"].splitlines() if line.startswith("  File")][0]
    assert "json/__init__" not in first  # the user's line comes first


def test_chained_exceptions(session):
    result = session.code("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('second') from e")
    assert "ZeroDivisionError" in result.error["traceback"] and "direct cause" in result.error["traceback"]


@pytest.mark.parametrize("code, kind", [
    ("def broken(:\n    pass", "SyntaxError"),
    ("  x = 1\n y = 2", "IndentationError"),
    ("undefined_name", "NameError"),
    ("print('unclosed", "SyntaxError"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("raise Exception()", "Exception"),
    ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E()", "E"),
])
def test_error_types(session, code, kind):
    result = session.code(code)
    assert result.error["type"] == kind, result.error
    assert session.code("1 + 1").value == "2"


def test_an_error_does_not_lose_the_cell_s_earlier_work(session):
    assert session.code("half = 'done'\nraise ValueError").ending == "error"
    assert session.code("half").value == "'done'"


def test_line_magic_and_shell_escape(session):
    assert session.code("x = !echo from shell\nx[0]").ok().value == "'from shell'"
    assert session.code("%time 1 + 1").ok().value == "2"
    assert session.code("%%bash\necho in bash").ok().stdout == "in bash\n"


def test_the_working_directory(session):
    assert session.code("import os\nos.getcwd()").ok().value == "'/workspace'"
    session.code("open('shared.txt', 'w').write('from a cell')").ok()
    assert session.shell("cat /workspace/shared.txt").stdout == "from a cell"


def test_long_code(session):
    code = "total = 0\n" + "\n".join(f"total += {i}" for i in range(20000)) + "\ntotal"
    assert session.code(code, 60).ok().value == str(sum(range(20000)))


def test_results_say_how_they_ended(session):
    fields = session.code("1").fields
    for name in ("success", "ending", "stdout", "stderr", "result", "error", "display_outputs", "duration_ms"):
        assert name in fields
    assert fields["success"] is True and fields["error"] is None and fields["display_outputs"] == []
