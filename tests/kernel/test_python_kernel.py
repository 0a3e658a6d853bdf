"""The Python kernel over its link: running code, asyncio, errors, magics. Each test states one fact."""

import pytest

RUNTIME = "python"

# Running cells


def test_hello_names_the_language_version(kernel):
    assert kernel.run("import sys; '.'.join(map(str, sys.version_info[:3]))").text == repr(kernel.language_version)


def test_last_expression_is_the_result(kernel):
    outcome = kernel.run("1 + 1")
    assert outcome.log == [("result", {"op": "result", "id": outcome.log[0][1]["id"], "data": {"text/plain": "2"}})]


@pytest.mark.parametrize("code", ["None", "x = 5", "5;", "5;  # quiet", "", "  \n", "# nothing", "print(end='')"])
def test_no_result(kernel, code):
    assert kernel.run(code).log == []


def test_state_persists(kernel):
    kernel.run("a = 20\ndef twice(x): return 2 * x")
    assert kernel.run("twice(a) + 2").text == "42"


def test_underscores_and_numbered_history_are_bounded(fresh_kernel):
    for n in range(1, 8):
        fresh_kernel.run(f"'value {n}'")
    assert fresh_kernel.run("_, __, ___").text == "('value 7', 'value 6', 'value 5')"
    assert fresh_kernel.run("_7, Out[7], In[7], _i7").text == "('value 7', 'value 7', \"'value 7'\", \"'value 7'\")"
    assert fresh_kernel.run("len(Out) <= 3 and '_1' not in globals()").text == "True"


def test_results_do_not_keep_memory(fresh_kernel):
    fresh_kernel.run("import weakref\nclass Big: pass\nbig = Big(); ref = weakref.ref(big); big")
    fresh_kernel.run("del big")
    for _ in range(3):
        fresh_kernel.run("0")
    assert fresh_kernel.run("import gc; gc.collect(); ref() is None").text == "True"


def test_only_the_last_failed_cell_keeps_memory(kernel):
    kernel.run("""
        import sys, weakref, gc
        class Big: pass
        def f():
          global ref
          b = Big(); ref = weakref.ref(b); 1/0
        f()
        """)
    assert kernel.run("gc.collect(); ref() is sys.last_exc.__traceback__.tb_next.tb_frame.f_locals['b']").text == "True"
    kernel.run("1/0")
    assert kernel.run("gc.collect(); ref() is None").text == "True"


def test_unicode(kernel):
    outcome = kernel.run("print('žluťoučký 🐎'); 'ü' * 3")
    assert outcome.stdout == "žluťoučký 🐎\n" and outcome.text == "'üüü'"


def test_main_module_is_sane(kernel):
    code = """
        import __main__, sys
        (__name__, '__file__' in globals(), __main__.__spec__, __main__.__dict__ is globals(), sys.argv)
        """
    assert kernel.run(code).text == "('__main__', False, None, True, [''])"


# evidence: kernel-link
def test_link_is_not_in_the_environment(kernel):
    assert kernel.run("import os; [name for name in os.environ if name.startswith('HUSK')]").text == "[]"


def test_future_imports_last(kernel):
    kernel.run("from __future__ import annotations\ndef f(x: Undefined): pass")
    assert kernel.run("def g(x: AlsoUndefined): pass\ng.__annotations__").text == "{'x': 'AlsoUndefined'}"


def test_dataclass_pickle_and_getsource(kernel):
    kernel.run("""
        import dataclasses, inspect, pickle
        @dataclasses.dataclass
        class P:
            x: int = 1

        def f():
            return 'source'
        """)
    assert kernel.run("pickle.loads(pickle.dumps(P(3)))").text == "P(x=3)"
    assert kernel.run("inspect.getsource(f)").text == repr("def f():\n    return 'source'\n")


def test_modules_of_the_workspace_import_at_once(kernel, workspace):
    kernel.run("open('fresh_module.py', 'w').write('value = 7')")
    assert kernel.run("import fresh_module; fresh_module.value").text == "7"
    assert kernel.run("sys.path[0]").text == "''"


def test_files_of_the_workspace_do_not_shadow_the_kernel(fresh_kernel, tmp_path):
    for name in ("display", "link", "shell", "errors", "events", "main", "base64", "json"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    assert fresh_kernel.run("display('x', display_id='a'); 5").text == "5"
    assert fresh_kernel.run("import link").error["message"] == "shadowed"


def test_kernel_modules_are_not_importable_by_their_names(kernel):
    for name in ("link", "streams", "figures", "interrupts"):
        assert kernel.run(f"import {name}").error["type"] == "ModuleNotFoundError"


def test_the_kernel_does_not_compare_values(kernel):
    kernel.run("""
        class C:
            def __eq__(self, other): print('compared'); return True
            def __repr__(self): return 'c'
        """)
    assert [kernel.run("C()").log[0][0] for _ in range(3)] == ["result"] * 3


def test_cleared_globals_do_not_break_the_kernel(fresh_kernel):
    fresh_kernel.run("globals().clear()")
    assert fresh_kernel.run("1 + 1").text == "2" and fresh_kernel.run("_ + 1").text == "3"


def test_garbage_is_collected(kernel):
    assert kernel.run("import gc; gc.isenabled()").text == "True"


def test_start_does_not_load_the_terminal_ui(fresh_kernel):
    slow = ("asyncio", "hashlib", "jedi", "matplotlib", "numpy", "pandas", "PIL", "prompt_toolkit", "pydoc", "pygments", "sqlite3", "ssl",
            "stack_data", "urllib.request")
    assert fresh_kernel.run(f"import sys; [m for m in {slow} if m in sys.modules]").text == "[]"
    assert fresh_kernel.run("import threading; threading.active_count()").text == "1"
    assert fresh_kernel.run("len(os.listdir('/proc/self/task')) if (os := __import__('os')) else 0").text == "1"


def test_users_own_imports_of_ipython_work(kernel):
    assert kernel.run("import IPython, prompt_toolkit, stack_data, urllib.request, logging.config").error is None
    assert kernel.run("""
        from IPython.display import display, HTML, Image
        from IPython.core.ultratb import VerboseTB
        """).error is None
    assert kernel.run("get_ipython() is IPython.get_ipython()").text == "True"
    assert kernel.run("urllib.request.Request('http://x/').host").text == "'x'"
    assert kernel.run("logging.config.dictConfig.__module__").text == "'logging.config'"


# asyncio


def test_top_level_await(kernel):
    assert kernel.run("import asyncio\nx = await asyncio.sleep(0, 41)\nx + 1").text == "42"


def test_returned_coroutine_is_awaited(kernel):
    kernel.run("async def f(x):\n    await asyncio.sleep(0)\n    return x")
    assert kernel.run("f(7)").text == "7"
    assert kernel.run("_").text == "7"
    assert kernel.run("f(None)").log == []
    assert kernel.run("async def bad(): 1/0\nbad()").error["type"] == "ZeroDivisionError"


def test_returned_task_is_awaited(kernel):
    assert kernel.run("await asyncio.sleep(0)\nasyncio.create_task(f('task'))").text == "'task'"
    assert kernel.run("""
        asyncio.get_event_loop().create_future().set_result(1)
        asyncio.ensure_future(f(3), loop=asyncio.get_event_loop())
        """).text == "3"


def test_asyncio_run_without_a_running_loop(kernel):
    assert kernel.run("asyncio.run(f(8))").text == "8"


def test_asyncio_run_inside_a_running_loop(kernel):
    assert kernel.run("y = await f(1)\nasyncio.run(f(8)) + await f(1)").text == "9"


def test_old_style_loops(kernel):
    code = "loop = asyncio.get_event_loop()\nr = loop.run_until_complete(f(9))\nloop.close()\nr"
    assert kernel.run(code).text == "9"
    assert kernel.run("await f(10)").text == "10"


def test_asyncio_subprocess(kernel):
    code = """
        p = await asyncio.create_subprocess_exec('echo', 'child', stdout=asyncio.subprocess.PIPE)
        (await p.communicate())[0]
        """
    assert kernel.run(code).text == r"b'child\n'"


def test_background_tasks_run_between_cells(kernel):
    kernel.run("""
        async def tick():
            await asyncio.sleep(0.05)
            print('ticked')
        task = await asyncio.sleep(0) or asyncio.create_task(tick())
        """)
    kernel.wait_output("ticked")
    assert kernel.run("await task; task.done()").text == "True"


def test_tasks_of_a_cell_without_await(fresh_kernel):
    fresh_kernel.run("""
        import asyncio
        async def later():
            await asyncio.sleep(0)
            print('ran on its own')
            return 5
        task = asyncio.create_task(later())
        loop = asyncio.get_running_loop()
        """)
    fresh_kernel.wait_output("ran on its own")
    assert fresh_kernel.run("await task, loop is asyncio.get_running_loop(), loop.is_running()").text == "(5, True, True)"
    assert fresh_kernel.run("loop.is_running(), loop is asyncio.get_event_loop()").text == "(False, True)"


def test_callbacks_of_a_cell_without_await(fresh_kernel):
    fresh_kernel.run("import asyncio; asyncio.get_event_loop().call_later(0.01, print, 'called')")
    fresh_kernel.wait_output("called")


def test_only_the_cells_own_thread_has_a_loop(kernel):
    outcome = kernel.run("""
        import asyncio, threading, os
        def ask():
            try: print(asyncio.get_running_loop())
            except RuntimeError as error: print(error)
        t = threading.Thread(target=ask); t.start(); t.join()
        if not (child := os.fork()): ask()
        else: os.waitpid(child, 0)
        """)
    assert outcome.stdout == "no running event loop\n" * 2


def test_old_style_loops_in_a_cell_that_made_tasks(kernel):
    kernel.run("async def f(x):\n    await asyncio.sleep(0)\n    return x")
    code = "task = asyncio.create_task(f(1))\nasyncio.get_event_loop().run_until_complete(f(2)), asyncio.run(f(3)), task.done()"
    assert kernel.run(code).text == "(2, 3, True)"


def test_a_dying_background_task_does_not_end_the_kernel(kernel):
    kernel.run("""
        async def die():
            print('dying', flush=True)
            raise SystemExit(3)
        await asyncio.sleep(0)
        task = asyncio.create_task(die())
        None
        """)
    kernel.wait_output("dying")
    assert kernel.run("1 + 1").text == "2"


# Errors


def traceback(kernel, code):
    error = kernel.run(code).error
    return error["traceback"]


def test_traceback_starts_at_the_users_code(fresh_kernel):
    outcome = fresh_kernel.run("def f(x):\n    return 1 / x\n\nf(0)")
    assert outcome.error["type"] == "ZeroDivisionError" and outcome.error["message"] == "division by zero"
    lines = [line for line in outcome.error["traceback"].splitlines() if not set(line) <= set(" ~^")]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "<cell 1>", line 4, in <module>', "    f(0)",
        '  File "<cell 1>", line 2, in f', "    return 1 / x",
        "ZeroDivisionError: division by zero",
    ]
    assert outcome.stdout == outcome.stderr == ""


def test_traceback_has_sources_of_earlier_cells(kernel):
    kernel.run("def thrower():\n    raise LookupError('far away')")
    assert "raise LookupError('far away')" in traceback(kernel, "thrower()")


def test_chained_exceptions_are_kept(kernel):
    text = traceback(kernel, "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e")
    assert "KeyError: 'a'" in text and "direct cause" in text and text.endswith("ValueError: b")


def test_syntax_error_has_its_caret(kernel):
    error = kernel.run("x = = 3").error
    assert error["type"] == "SyntaxError"
    assert error["traceback"].splitlines()[1:] == ["    x = = 3", "        ^", "SyntaxError: invalid syntax"]


@pytest.mark.parametrize("code, shown", [
    ("y = 1\nreturn 2", ["    return 2", "    ^^^^^^^^", "SyntaxError: 'return' outside function"]),
    ("async def f():\n    yield 1\n    return 2", ["    return 2", "    ^^^^^^^^", "SyntaxError: 'return' with value in async generator"]),
    ("await x\nfor i in y:\n    pass\ncontinue",
     ["    continue", "    ^^^^^^^^", "SyntaxError: 'continue' not properly in loop"]),
])
def test_syntax_error_of_the_compiler_has_its_caret(kernel, code, shown):
    assert kernel.run(code).error["traceback"].splitlines()[1:] == shown


def test_indentation_error(kernel):
    assert kernel.run("if True:\nx = 1").error["type"] == "IndentationError"


def test_key_error_message(kernel):
    assert kernel.run("{}['k']").error["message"] == "'k'"


def test_exception_whose_str_raises(kernel):
    outcome = kernel.run("class Bad(Exception):\n    def __str__(self): raise RuntimeError\nraise Bad")
    assert outcome.error["type"] == "Bad" and "failed" in outcome.error["message"]


def test_recursion_limit_is_jupyters(fresh_kernel):
    assert fresh_kernel.run("import sys; sys.getrecursionlimit()").text == "3000"
    assert fresh_kernel.run("def f(n): return n and 1 + f(n - 1)\nf(2900)").text == "2900"


@pytest.mark.parametrize("code, kind, message", [
    ("y = 1\nreturn 2", "SyntaxError", "'return' outside function"),
    ("y = 1\nbreak", "SyntaxError", "'break' outside loop"),
    ("y = 1\nx = (", "SyntaxError", "'(' was never closed"),
    ("y = 1\nx = \"\"\"", "SyntaxError", "unterminated triple-quoted string"),
    ("y = 1\nfor i in range(3):", "IndentationError", "expected an indented block"),
    ("y = 1\ntry:\n    pass", "SyntaxError", "expected 'except' or 'finally' block"),
    ("y = 1\nimport asyncio\nawait asyncio.sleep(0)\nreturn 2", "SyntaxError", "'return' outside function"),
    ("y = 1\n!true\nreturn 2", "SyntaxError", "'return' outside function"),
    ("y = 1\nawait asyncio.sleep(0", "SyntaxError", "'(' was never closed"),
    ("y = 1\ndef f():\n    await x", "SyntaxError", "'await' outside async function"),
    ("y = 1\nx = (\n%pwd", "SyntaxError", "'(' was never closed"),
])
def test_a_cell_with_a_syntax_error_does_not_run(fresh_kernel, code, kind, message):
    outcome = fresh_kernel.run(code)
    assert outcome.error["type"] == kind and message in outcome.error["message"]
    assert "codeop" not in outcome.error["traceback"] and "Traceback" not in outcome.error["traceback"], outcome.error["traceback"]
    assert outcome.stderr == "" and fresh_kernel.run("'y' in globals()").text == "False"


@pytest.fixture
def library(workspace):
    """A package that raises an error five calls deep, chains of errors, and an error in a compiled function."""
    folder = workspace / "lib/site-packages"
    folder.mkdir(parents=True, exist_ok=True)
    calls = "".join(f"def call{n}(f): return call{n + 1}(f)\n" for n in range(1, 5))
    (folder / "deeplib.py").write_text(
        calls + "def call5(f):\n    if f: return f()\n    raise LookupError('deep')\n"
        "def wrap():\n    try:\n        try: call1(None)\n        except LookupError as e: raise OSError('middle') from e\n"
        "    except OSError as e: raise ValueError('top') from e\n"
        "def again():\n    try: raise LookupError('no such name: nowhere.invalid')\n"
        "    except LookupError as e:\n        raise OSError(f'could not connect: {e}') from e\n"
        "def twice():\n    try: {}['key']\n    except KeyError as e: raise KeyError('key') from e\n"
        "exec(compile('def compiled():\\n    raise TypeError', 'deeplib/fast.pyx', 'exec'))\n")
    return f"import sys; sys.path.insert(0, {str(folder)!r}); import deeplib"


def test_library_frames_are_folded(kernel, library):
    kernel.run(library)
    lines = traceback(kernel, "def mine():\n    deeplib.call1(None)\nmine()").splitlines()
    frames = [line.split(" in ")[-1].strip() for line in lines if line.startswith(("  File", "  ["))]
    assert frames == ["<module>", "mine", "call1", "[... 3 library frames: %tb shows them ...]", "call5"], lines
    assert "    raise LookupError('deep')" in lines and lines[-1] == "LookupError: deep"


def test_users_lines_between_library_frames_are_kept(kernel, library):
    kernel.run(library)
    text = traceback(kernel, "def back(): return 1 / 0\ndeeplib.call1(back)")
    assert "in call1" in text and "[... 4 library frames: %tb shows them ...]" in text and "def back(): return 1 / 0" in text


def test_chain_inside_a_library_is_short(kernel, library):
    kernel.run(library)
    text = traceback(kernel, "deeplib.wrap()")
    assert "LookupError: deep" in text and "OSError: middle" in text and text.endswith("ValueError: top")
    assert text.count("Traceback") == 2 and text.count("File") == 3, text
    assert text.count("in call5") == 1 and "in call1" not in text


@pytest.mark.parametrize("call, error, frames", [
    ("again", "OSError: could not connect: no such name: nowhere.invalid", 2),
    ("twice", "KeyError: 'key'", 2),
    ("compiled", "TypeError", 2),
])
def test_repeated_library_errors_are_shown_once(kernel, library, call, error, frames):
    kernel.run(library)
    text = traceback(kernel, f"deeplib.{call}()")
    assert text.count("Traceback") == 1 and text.count("File") == frames and text.splitlines()[-1] == error, text


@pytest.mark.parametrize("code", ["%tb", "%debug", "import traceback; traceback.print_last()", "get_ipython().showtraceback()"])
def test_full_traceback_on_request(kernel, library, code):
    kernel.run(library)
    kernel.run("deeplib.call1(None)")
    outcome = kernel.run(code)
    said = outcome.stdout + outcome.stderr
    assert outcome.error is None and "library frames" not in said and "LookupError: deep" in said
    assert all(f"in call{n}" in said for n in range(1, 6)) and "husk_kernel" not in said


def test_last_exception(fresh_kernel):
    assert fresh_kernel.run("%tb").stderr == "No traceback available to show.\n"
    fresh_kernel.run("1/0")
    fresh_kernel.run("import sys\nsys.exit()")
    assert fresh_kernel.run("sys.last_exc, sys.last_exc is sys.last_value, sys.last_type, sys.last_traceback.tb_lineno").text == (
        "(ZeroDivisionError('division by zero'), True, ZeroDivisionError, 1)")


def test_recursion_error_is_cut(kernel):
    error = kernel.run("def f(n): return g(n)\ndef g(n): return f(n + 1) + 1\nf(0)").error
    assert error["type"] == "RecursionError"
    assert len(error["traceback"]) < 40_000 and "left out" in error["traceback"]
    assert error["traceback"].rstrip().endswith(error["message"])


def test_huge_recursion_limit(kernel):
    code = "import sys\nsys.setrecursionlimit(200_000)\ndef f(n): return f(n + 1)\nf(0)"
    assert kernel.run(code).error["type"] == "RecursionError"
    kernel.run("sys.setrecursionlimit(3000)")


def test_deep_c_recursion_is_an_error(kernel):
    error = kernel.run("x = []\nfor _ in range(200_000): x = [x]\nrepr(x)").error
    assert error["type"] == "RecursionError"
    kernel.run("while x: x = x.pop()")


def test_memory_error(kernel):
    assert kernel.run("bytearray(1 << 62)").error["type"] == "MemoryError"


def test_long_message_is_cut(kernel):
    error = kernel.run("raise ValueError('x' * 1_000_000)").error
    assert len(error["message"]) < 20_000 and "left out" in error["message"]


def test_exception_group(kernel):
    text = traceback(kernel, "raise ExceptionGroup('two', [ValueError(1), TypeError('b')])")
    assert "ExceptionGroup: two (2 sub-exceptions)" in text and "ValueError: 1" in text and "TypeError: b" in text


@pytest.mark.parametrize("code, status", [("import sys; sys.exit(3)", 3), ("raise SystemExit(3)", 3), ("exit(3)", 3), ("quit()", 0), ("exit", 0),
                                          ("sys.exit('no')", 1), ("sys.exit(-1)", 255)])
def test_exit_is_reported_and_harmless(kernel, code, status):
    kernel.run("kept = 1")
    outcome = kernel.run(code)
    assert outcome.error["exit_code"] == status
    assert outcome.error["type"] == "SystemExit" and "session keeps its variables" in outcome.error["message"]
    assert outcome.stdout == outcome.stderr == ""
    assert kernel.run("kept").text == "1"


def test_surrogates_and_nuls_in_errors(kernel):
    assert kernel.run(r"raise ValueError('\udc80 \0 x')").error["type"] == "ValueError"


def test_tracebacks_show_the_source_of_the_right_cell(kernel):
    kernel.run("get_ipython().run_cell('def inner():\\n    raise OSError(1)')")
    assert "raise OSError(1)" in traceback(kernel, "inner()")


def test_syntax_warning_is_shown_once_and_names_the_cell(kernel):
    outcome = kernel.run(r"async def f(): await g()" + "\n" + r"'\d'")
    assert outcome.stderr.count("SyntaxWarning") == 1 and "<cell " in outcome.stderr


def test_warning_is_shown_once_and_names_the_cell(kernel):
    outcome = kernel.run("import warnings\nfor _ in range(3):\n    warnings.warn('mind the gap')")
    assert outcome.stderr.count("mind the gap") == 2  # the message and its source line
    assert outcome.stderr.startswith("<cell ")


# Shell commands and magics


def test_shell_command(kernel):
    outcome = kernel.run("!echo out; echo err >&2; exit 3\n_exit_code")
    assert (outcome.stdout, outcome.stderr, outcome.text) == ("out\n", "err\n", "3")


def test_shell_command_expands_variables(kernel):
    kernel.run("name = 'world'")
    assert kernel.run("!echo hello {name} $name").stdout == "hello world world\n"


def test_shell_command_into_a_variable(kernel):
    outcome = kernel.run("lines = !printf 'a\\nb\\n'\nlines")
    assert outcome.text == "['a', 'b']" and outcome.stdout == ""


def test_shell_command_uses_bash(kernel):
    assert kernel.run("!echo ${BASH_VERSION:+bash} {1..3}").stdout == "bash 1 2 3\n"


def test_shell_background_command_is_not_waited_for(kernel):
    assert kernel.run("!sleep 60 &\n1").text == "1"


def test_bash_magic(kernel):
    outcome = kernel.run("%%bash\necho $((1 + 1)); echo err >&2")
    assert (outcome.stdout, outcome.stderr, outcome.error) == ("2\n", "err\n", None)
    assert kernel.run("%%bash\nexit 4").error["message"].endswith("non-zero exit status 4.")
    assert kernel.run("%%bash --no-raise-error\nexit 4").error is None
    assert kernel.run("%%bash --out captured\necho caught").stdout == ""
    assert kernel.run("captured").text == r"'caught\n'"
    assert kernel.run("%%script --bg --proc job sh\nexit 5").error is None
    assert kernel.run("job.wait()").text == "5"


def test_pip_magic_uses_this_python(kernel):
    outcome = kernel.run("import sys\n%pip --version")
    version = ".".join(kernel.language_version.split(".")[:2])
    assert outcome.stdout.startswith("pip ") and outcome.stdout.endswith(f"(python {version})\n")


@pytest.mark.parametrize("code, says", [
    ("%timeit -n 1 -r 1 pass", "per loop"),
    ("%%time\nx = 1", "Wall time"),
    ("%env HOME", ""),
    ("%pwd", ""),
    ("%who_ls", ""),
    ("%history -n", ""),
    ("%reset_selective -f nothing_like_this", ""),
    ("%matplotlib inline", ""),
    ("%matplotlib", ""),
    ("%config InlineBackend.figure_format = 'retina'", ""),
    ("%load_ext autoreload\n%autoreload 2", ""),
    ("%%capture x\nprint('captured')", ""),
    ("%xmode plain", ""),
    ("%precision 3", ""),
])
def test_magics(kernel, code, says):
    outcome = kernel.run(code)
    assert outcome.error is None, outcome
    assert says in outcome.stdout and "\x1b" not in outcome.stdout


def test_cd_magic(kernel, workspace):
    (workspace / "sub").mkdir(exist_ok=True)
    assert kernel.run("%cd sub").stdout == f"{workspace}/sub\n"
    assert kernel.run("import os; os.getcwd()").text == repr(f"{workspace}/sub")
    kernel.run("%cd ..")


@pytest.mark.parametrize("code", ["%debug f()", "%pdb on", "%edit x.py"])
def test_interactive_magics_are_refused(kernel, code):
    assert kernel.run(code).error["type"] == "UsageError"


@pytest.mark.parametrize("code", ["%gui qt", "%matplotlib qt"])
def test_gui_backends_are_refused(kernel, code):
    assert "no screen" in kernel.run(code).stderr


def test_unknown_magic(kernel):
    outcome = kernel.run("%nosuchmagic")
    assert outcome.error["traceback"].startswith("UsageError: Line magic function") and outcome.stderr == ""


@pytest.mark.parametrize("code", ["%%time\n1/0", "%time 1/0", "%%capture\n1/0"])
def test_errors_inside_magics_are_the_cells(kernel, code):
    outcome = kernel.run(code)
    assert outcome.error["type"] == "ZeroDivisionError" and "IPython" not in outcome.error["traceback"]


def test_run_magic(kernel, workspace):
    (workspace / "script.py").write_text("print('hi', __name__)\nvalue = 5\nraise ValueError('from the script')")
    outcome = kernel.run("%run script.py")
    assert outcome.stdout == "hi __main__\n" and outcome.error["message"] == "from the script"
    assert kernel.run("value, __name__").text == "(5, '__main__')"


@pytest.mark.parametrize("code", ["?len", "len?", "len??", "help(len)"])
def test_help_is_plain_text(kernel, code):
    outcome = kernel.run(code)
    assert "number of items" in outcome.stdout and "\x1b" not in outcome.stdout and outcome.error is None


def test_reset_magic(fresh_kernel):
    fresh_kernel.run("x = 1")
    fresh_kernel.run("%reset -f")
    assert fresh_kernel.run("x").error["type"] == "NameError"
    assert fresh_kernel.run("2 + 2").text == "4"


def test_xdel_magic(kernel):
    kernel.run("import weakref\nclass Big: pass\nbig = Big(); ref = weakref.ref(big); big")
    assert kernel.run("%xdel big").error is None
    assert kernel.run("'big' in globals(), ref()").text == "(False, None)"


def test_start_writes_nothing(start, tmp_path):
    with start(tmp_path, HOME="/proc/1/nowhere") as kernel:
        assert kernel.run("1 + 1").text == "2"
        assert kernel.run("%cd /").error is None


def test_user_site_is_on_the_path_before_it_exists(fresh_kernel):
    fresh_kernel.run("import site, sys")
    assert fresh_kernel.run("not site.ENABLE_USER_SITE or site.getusersitepackages() in sys.path").text == "True"


def test_python_path_cannot_break_the_start(start, tmp_path):
    (tmp_path / "IPython.py").write_text("raise RuntimeError")
    (tmp_path / "traitlets.py").write_text("raise RuntimeError")
    with start(tmp_path, PYTHONPATH=str(tmp_path)) as kernel:
        assert kernel.run(f"import sys; {str(tmp_path)!r} in sys.path").text == "True"


def test_many_cells(kernel):
    for n in range(300):
        assert kernel.run(str(n)).text == str(n)
