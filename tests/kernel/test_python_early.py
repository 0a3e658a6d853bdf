"""Cells that run before IPython is loaded, and what IPython knows about them afterwards."""

import gc
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

RUNTIME = "python"
KERNEL = Path("/opt/husk/kernel")
SOURCE = Path(__file__).resolve().parents[2] / "runtimes/python"
sys.path.insert(0, str(SOURCE))

from husk_kernel.early import Early  # noqa: E402


@pytest.fixture(autouse=True)
def collector():
    """Enables the garbage collector again, as the kernel does when everything is loaded."""
    yield
    gc.enable()


@pytest.mark.parametrize("cell, text", [
    ("1+1", "2"), ("x = 5\nx * 2.5", "12.5"), ("'a' * 3", "'aaa'"), ("True", "True"), ("b'x'", "b'x'"), ("sum(i for i in range(4))", "6"),
    ("def f(a, b=2): return a + b\nf(b=1, a=0)", "1"), ("f'{1:03}'", "'001'"), ("[n for n in (3, 4) if n > 3][0]", "4"),
    ("x = [3, 1]\nx.sort()\nx[0]", "1"), ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = str(e)\nx", "'division by zero'"),
])
def test_cell_that_needs_no_ipython(cell, text):
    assert Early().run(cell).bundle == {"text/plain": text}


@pytest.mark.parametrize("cell", ["", "x = 1", "None", "for i in range(2): pass", "def f(): return 1"])
def test_cell_without_a_value(cell):
    ran = Early().run(cell)
    assert ran is None if not cell else ran.bundle == {}


@pytest.mark.parametrize("cell", [
    "import os", "from math import pi", "%pwd", "!ls", "len?", "ls", "pwd", "exit", "quit()", "get_ipython()", "display(1)", "open('x')",
    "_", "_1", "In", "Out", "In = 1", "open = 1", "for quit in []: pass", "def exit(): pass", "lambda In: 1", "__name__", "globals()",
    "vars()", "eval('1')", "exec('1')", "input()", "print.__self__", "x.y", "await x", "async def f(): pass", "5;", "x = (", "'\\d'",
    "5 is 5", "class A: pass", "x: int = 5", "(n := 5)", "with x: pass", "'é'", "\ufeff1", " 1", "def f(): global x", "missing", "1\n" * 3000,
    "def f(): return later()", "def f(_a): pass", "getattr(1, 'real')", "help(1)", "breakpoint()", "print(_=1)",
])
def test_cell_that_needs_ipython(cell):
    early = Early()
    assert early.run(cell) is None and set(early.names) == set(Early().names), "nothing was done"


@pytest.mark.parametrize("cell", ["[1]", "1j", "object()", "10 ** 5000", "'x' * 20_000", "print"])
def test_value_whose_text_needs_ipython(cell):
    assert Early().run(cell).bundle is None


def test_variables_of_earlier_cells_are_known():
    early = Early()
    early.run("total = 40\ndef more(n): return total + n")
    assert early.run("more(2)").bundle == {"text/plain": "42"} and early.names["total"] == 40


def test_display_hook_is_restored():
    hook = sys.displayhook
    Early().run("5")
    assert sys.displayhook is hook


def start_without_ipython(start, monkeypatch, folder, first):
    kernel = next(path for path in (KERNEL, SOURCE) if path.exists()) / "kernel.py"
    code = f"import runpy, sys; sys.path[0] = {str(kernel.parent)!r}; sys.modules['IPython'] = None; runpy.run_path({str(kernel)!r})"
    monkeypatch.setenv("HUSK_TEST_KERNEL", f"{sys.executable} -s -u -c {code!r}")
    return start(folder, first=first)


def test_kernel_says_hello_and_runs_cells_before_it_loads_ipython(start, monkeypatch, tmp_path):
    with start_without_ipython(start, monkeypatch, tmp_path, "print('printed')\n40 + 2") as kernel:
        outcome = kernel.finish()
        assert outcome.text == "42" and outcome.stdout == "printed\n"
        assert kernel.wait_exit() == 1, "IPython is loaded afterwards, and is not there"


def test_early_cells_are_in_the_history_of_ipython(start, tmp_path):
    with start(tmp_path, first="x = 20\ndef f(): return x + y\nx + 1") as kernel:
        assert kernel.finish().text == "21"
        assert kernel.run("y = 'b' * 3").result is None
        found = kernel.run("import __main__, inspect\n_, dict(Out), In[1:3], _i2, get_ipython().execution_count, __main__.x, inspect.getsource(f)").text
        assert eval(found) == (21, {1: 21}, ["x = 20\ndef f(): return x + y\nx + 1", "y = 'b' * 3"], "y = 'b' * 3", 3, 20, "def f(): return x + y\n")
        assert kernel.run("y = 2; f(), vars(__main__) is globals() is f.__globals__").text == "(22, True)"
        assert kernel.run("_3 is not None, '<cell 4>' in __import__('linecache').cache").text == "(True, True)"


def test_error_of_an_early_cell(start, tmp_path):
    with start(tmp_path, first="x = 5\ndef f(n):\n    return n / 0\nf(x)") as kernel:
        error = kernel.finish().error
        assert error["type"] == "ZeroDivisionError" and "husk_kernel" not in error["traceback"]
        assert 'File "<cell 1>", line 4, in <module>\n    f(x)' in error["traceback"] and "    return n / 0" in error["traceback"]
        assert kernel.run("import sys\nx, type(sys.last_exc).__name__, get_ipython().execution_count").text == "(5, 'ZeroDivisionError', 2)"


def test_value_of_an_early_cell_is_shown_by_ipython(start, tmp_path):
    with start(tmp_path, first="list(range(300))") as kernel:
        text = kernel.finish().text
        assert text.count("\n") > 100 and kernel.run("_ is Out[1] is _1, len(_)").text == "(True, 300)"


def test_interrupt_of_an_early_cell(start, tmp_path):
    with start(tmp_path, first="x = 1\nprint('go')\nwhile True:\n    x += 1") as kernel:
        kernel.wait_output("go")
        kernel.interrupt()
        outcome = kernel.finish()
        assert outcome.error["type"] == "KeyboardInterrupt" and "<cell 1>" in outcome.error["traceback"]
        assert kernel.run("x >= 1, 'again'").text == "(True, 'again')"


def test_interrupts_that_are_repeated_while_ipython_is_loaded(start, tmp_path):
    with start(tmp_path, first="print('go')\nwhile True:\n    pass") as kernel:
        kernel.wait_output("go")
        ended = threading.Event()

        def repeat():
            while not ended.is_set():
                os.killpg(kernel.process.pid, signal.SIGINT)

        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            error = kernel.finish().error
        finally:
            ended.set()
            thread.join()
        assert error["type"] == "KeyboardInterrupt" and "<cell 1>" in error["traceback"]
        assert kernel.run("'again'").text == "'again'"


@pytest.mark.parametrize("first", ["%pwd", "import os; os.getcwd()", "get_ipython().run_line_magic('pwd', '')"])
def test_first_cell_that_needs_ipython(start, tmp_path, first):
    with start(tmp_path, first=first) as kernel:
        assert kernel.finish().text == repr(str(tmp_path)) and kernel.run("_i1").text == repr(first)


def test_objects_of_an_early_cell_are_collected(start, tmp_path):
    with start(tmp_path, first="ring = []\nring.append(ring)\nring.append({1, 2})") as kernel:
        kernel.finish()
        kernel.run("import gc, weakref\nclass Seen: pass\nseen = Seen()\nring.append(seen)\nwatch = weakref.ref(seen)\ndel ring, seen")
        assert kernel.run("found = gc.collect()\nwatch() is None, gc.isenabled()").text == "(True, True)"
