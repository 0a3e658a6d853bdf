"""The Python kernel over its link: streams, interrupts, processes and threads. Each test states one fact."""

import os
import signal

import pytest

RUNTIME = "python"

# Streams


def test_output_keeps_its_order(kernel):
    code = """
import ctypes, os, subprocess, sys
print("1 python", end=" "); os.system("printf '2 child '")
ctypes.CDLL(None).printf(b"3 c "); os.write(1, b"4 fd ")
subprocess.run(["printf", "5 run "]); sys.stdout.buffer.write(b"6 buffer "); print("7")
"""
    assert kernel.run(code).stdout == "1 python 2 child 3 c 4 fd 5 run 6 buffer 7\n"


def test_output_and_displays_keep_their_order(kernel):
    outcome = kernel.run("print('a'); display('d1'); print('b'); display('d2'); print('c'); 'r'")
    before = {}  # event -> what had been written by then; more may have been, never less
    for n, (kind, what) in enumerate(outcome.log):
        if kind != "stdout":
            before[what["data"]["text/plain"]] = b"".join(w for k, w in outcome.log[:n] if k == "stdout")
    assert list(before) == ["'d1'", "'d2'", "'r'"]
    assert before["'d1'"].startswith(b"a\n") and before["'d2'"].startswith(b"a\nb\n") and before["'r'"] == b"a\nb\nc\n"


def test_stdout_and_stderr_are_separate(kernel):
    outcome = kernel.run("import sys; print('out'); print('err', file=sys.stderr)")
    assert (outcome.stdout, outcome.stderr) == ("out\n", "err\n")


def test_printf_is_not_lost_by_os_exit(fresh_kernel):
    fresh_kernel.begin("import ctypes, os\nctypes.CDLL(None).printf(b'c says'); print('py says', end=''); os._exit(3)")
    assert fresh_kernel.wait_exit() == 3
    fresh_kernel.wait_output("c sayspy says")


def test_buffered_output_of_c_is_shown_with_its_cell(fresh_kernel):
    fresh_kernel.run("import ctypes\nc = ctypes.CDLL(None)\nc.setvbuf(ctypes.c_void_p.in_dll(c, 'stdout'), None, 0, 4096)\nNone")
    assert fresh_kernel.run("c.printf(b'c says'); None").stdout == "c says"


def test_print_never_fails_on_surrogates(kernel):
    assert kernel.run(r"print('\udc80ok')").stdout == "\\udc80ok\n"


def test_binary_junk(kernel):
    outcome = kernel.run(r"import os; os.write(1, bytes(range(256))); None")
    assert ("stdout", bytes(range(256))) in outcome.log


@pytest.mark.parametrize("code", [
    "import sys, io; sys.stdout = io.StringIO()",
    "import sys; sys.stdout = None; sys.stderr = 5",
    "import sys; sys.stdout.close(); sys.stderr.close()",
    "import sys; sys.stdout.detach()",
    "import os; os.close(1); os.close(2)",
    "import os; [os.close(fd) for fd in range(3)]",
    "import os; os.closerange(0, 100)",
    "import os; fd = os.open('/dev/null', os.O_RDWR); os.dup2(fd, 0); os.dup2(fd, 1); os.dup2(fd, 2)",
    "import os; os.set_blocking(1, False)",
])
def test_streams_are_restored_for_the_next_cell(fresh_kernel, code):
    fresh_kernel.run(code)
    outcome = fresh_kernel.run("import sys, os; print('out'); print('err', file=sys.stderr); os.system('echo child')")
    assert (outcome.stdout, outcome.stderr, outcome.text) == ("out\nchild\n", "err\n", "0")
    assert fresh_kernel.run("import asyncio; await asyncio.sleep(0, 5)").text == "5"


BETWEEN = {
    "a thread": """
        import os, sys, threading
        def late():
            open('gate').read()
            change()
        threading.Thread(target=late).start()
        """,
    "a task": """
        import asyncio, os, sys
        async def late():
            await asyncio.to_thread(lambda: open('gate').read())
            change()
        task = asyncio.create_task(late())
        """,
}
CHANGE = """
ran = []
def change():
    sys.stdout = None
    get_ipython().events.register('pre_run_cell', lambda info: ran.append(1))
    os.write(1, b'changed')
"""


@pytest.mark.parametrize("code", BETWEEN.values(), ids=BETWEEN)
def test_changes_between_two_cells_are_noticed(fresh_kernel, tmp_path, code):
    os.mkfifo(tmp_path / "gate")
    fresh_kernel.run(CHANGE)
    fresh_kernel.run(code)
    (tmp_path / "gate").write_text("")
    fresh_kernel.wait_output("changed")
    outcome = fresh_kernel.run("print('out'); len(ran)")
    assert (outcome.stdout, outcome.text) == ("out\n", "1")


def test_changes_of_a_query_are_noticed(fresh_kernel):
    fresh_kernel.run("""
        import sys
        class Odd:
            def __dir__(self):
                sys.stdout = None
                get_ipython().events.register('pre_run_cell', lambda info: ran.append(1))
                return []
        odd, ran = Odd(), []
        """)
    fresh_kernel.complete("odd.")
    outcome = fresh_kernel.run("print('out'); len(ran)")
    assert (outcome.stdout, outcome.text) == ("out\n", "1")


def test_non_blocking_pipe_loses_nothing(kernel):
    outcome = kernel.run("import os; os.set_blocking(1, False); print('x' * 5_000_000)")
    assert len(outcome.stdout) == 5_000_001 and outcome.error is None


def test_threads_print_after_the_cell(kernel):
    kernel.run("""
        import threading
        go = threading.Event()
        def late():
            go.wait()
            print('late')
        threading.Thread(target=late).start()
        """)
    kernel.run("go.set()")
    kernel.wait_output("late")


@pytest.mark.parametrize("code", ["input('name? ')", "import getpass; getpass.getpass()"])
def test_input_fails_at_once(kernel, code):
    error = kernel.run(code).error
    assert error["type"] == "EOFError" and "stdin is closed" in error["message"]


@pytest.mark.parametrize("code", ["breakpoint()", "import pdb; pdb.set_trace()", """
    try: 1/0
    except Exception:
      pdb.post_mortem()
    """,
                                  "from IPython.core.debugger import set_trace; set_trace()\nx = 1"])
def test_debuggers_fail_at_once(kernel, code):
    assert "stdin is closed" in kernel.run(code).error["message"]


def test_stdin_is_at_its_end(kernel):
    assert kernel.run("import os, sys; sys.stdin.read(), os.system('cat')").text == "('', 0)"


# Answers


def test_input_is_answered(kernel):
    outcome, prompts = kernel.run_answered("print('a'); x = input('Name? '), input(); x", "Bob ü", "")
    assert prompts == ["Name? ", ""] and outcome.stdout == "a\n" and outcome.text == "('Bob ü', '')"


def test_getpass_is_a_password(kernel):
    kernel.begin("import getpass; len(getpass.getpass('Secret: '))", interactive=True)
    assert kernel.wait_prompt() == "Secret: " and kernel.prompt["password"] is True
    kernel.answer("1234")
    assert kernel.finish().text == "4"


def test_stdin_reads_lines(kernel):
    outcome, prompts = kernel.run_answered("import sys; [sys.stdin.readline(), input(), sys.stdin.read(), list(sys.stdin)]",
                                           "one\ntwo", "three\n\x04", "\x04")
    assert outcome.text == "['one\\n', 'two', 'three\\n', []]" and len(prompts) == 3
    outcome, _ = kernel.run_answered("try: input()\nexcept EOFError as e: print(e)\nprint(input())", "\x04", "more")
    assert outcome.stdout == "EOF when reading a line\nmore\n"
    assert kernel.run("import sys; sys.stdin.read()").text == "''", "and is closed again"


def test_stdin_is_read_as_bytes(kernel):
    outcome, prompts = kernel.run_answered("""
        import os, sys
        raw = sys.stdin.buffer
        print([raw.readline(), raw.read(3), raw.read1(), input(), os.read(0, 2), os.read(0, 100), list(raw), raw.read(), os.read(0, 5)])
        """, "one", "dreißig", "four", "cinq", "six\n\x04", "\x04", "\x04")
    assert outcome.stdout[:-1] == r"[b'one\n', b'dre', b'i\xc3\x9fig\n', 'four', b'ci', b'nq\n', [b'six\n'], b'', b'']" and len(prompts) == 7
    outcome, _ = kernel.run_answered("[os.read(0, 1), os.read(0, 9), sys.stdin.readline()]", "ß", "x")
    assert outcome.text == r"[b'\xc3', b'\x9f\n', 'x\n']"


def test_stdin_of_an_interactive_cell_is_a_terminal(kernel):
    kernel.run("import os, sys")
    code = "sys.stdin.isatty(), sys.stdin.buffer.isatty(), os.isatty(0), os.isatty(1)"
    assert kernel.run(code, interactive=True).text == "(True, True, True, False)"
    assert kernel.run(code).text == "(False, False, False, False)"
    other = "r, w = os.pipe(); os.write(w, b'own'); os.dup2(r, 0); os.read(0, 9), os.isatty(0)"
    assert kernel.run(other, interactive=True).text == "(b'own', False)"


@pytest.mark.parametrize("code, shown", [
    ("f = open(0); [f.readline(), f.read()]", r"['12\n', 'é\n']"),
    ("with open(0, 'rb', 0, closefd=False) as f: x = f.read(2), f.readline(), f.readall()\nx", r"(b'12', b'\n', b'\xc3\xa9\n')"),
    ("io.open(0, encoding='latin-1').read()", r"'12\nÃ©\n'"),
    ("builtins.open('/dev/stdin').readlines()", r"['12\n', 'é\n']"),
    ("pathlib.Path('/dev/tty').read_bytes()", r"b'12\n\xc3\xa9\n'"),
    ("os.fdopen(sys.stdin.fileno()).read()", r"'12\né\n'"),
    ("list(fileinput.input())", r"['12\n', 'é\n']"),
    ("list(fileinput.input('/dev/fd/0', mode='rb'))", r"[b'12\n', b'\xc3\xa9\n']"),
    ("sys.__stdin__.read()", r"'12\né\n'"),
    ("sys.stdin.reconfigure(errors='replace'); sys.stdin.buffer.peek(), sys.stdin.detach().raw.readall()", r"(b'12\n', b'12\n\xc3\xa9\n')"),
    ("select.select([0, sys.stdin], [], [])[0] == [0, sys.stdin], sys.stdin.read()", r"(True, '12\né\n')"),
    ("p = select.epoll(); p.register(0); bool(p.poll()), sys.stdin.read()", r"(True, '12\né\n')"),
    ("with selectors.DefaultSelector() as s: s.register(sys.stdin, 1); x = len(s.select()), sys.stdin.read()\nx", r"(1, '12\né\n')"),
    ("reader = asyncio.StreamReader(); protocol = asyncio.StreamReaderProtocol(reader)\n"
     "pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)\nawait reader.read()", r"b'12\n\xc3\xa9\n'"),
])
def test_every_way_to_read_stdin_prompts(kernel, code, shown):
    kernel.run("import asyncio, builtins, fileinput, io, os, pathlib, select, selectors, sys; sys.argv = ['cell']")
    outcome, prompts = kernel.run_answered(code, "12", "é", "\x04")
    assert (outcome.text, prompts) == (shown, ["", "", ""]), outcome
    assert kernel.run("os.isatty(0), builtins.open is io.open, open('/dev/stdin').read()").text == "(False, True, '')"


def test_stdin_of_an_interactive_cell_has_limits(kernel):
    """stdin has no terminal settings, is empty for other processes, and ends with its cell."""
    kernel.run("import os, subprocess, sys, termios, tty")
    for code in ("tty.setcbreak(sys.stdin)", "termios.tcgetattr(0)"):
        error = kernel.run(code, interactive=True).error
        assert error["type"] == "error" and "interactive terminal command" in error["message"]
    code = "subprocess.check_output('cat /dev/stdin -', shell=True), os.system('cat'), os.fdopen(os.open('/dev/null', 1), 'w').name > 2"
    assert kernel.run(code, interactive=True).text == "(b'', 0, True)"
    error = kernel.run("open('missing')", interactive=True).error
    assert error["type"] == "FileNotFoundError" and "husk_kernel" not in error["traceback"]
    kernel.run("kept = sys.stdin, open(0)", interactive=True)
    assert kernel.run("kept[0].read(), kept[1].read(), kept[0].buffer.read()").text == "('', '', b'')"


def test_an_event_loop_may_wait_for_stdin_after_its_cell(kernel):
    """The loop's callback is not called after the cell, because nobody can type any more."""
    code = "import asyncio; calls = []; asyncio.get_running_loop().add_reader(0, calls.append, 1); await asyncio.sleep(0); len(calls)"
    before = kernel.run(code, interactive=True).text
    for _ in range(20):
        kernel.query("is_complete", "1")
    after = kernel.run("len(calls)").text
    assert int(after) <= int(before) + 2, "a turn of the loop ends the cell"
    kernel.run("asyncio.get_running_loop().remove_reader(0)")


def test_an_interrupt_withdraws_a_prompt(kernel):
    kernel.begin("try: input('? ')\nexcept KeyboardInterrupt: print('caught')\nprint(input('again? '))", interactive=True)
    kernel.wait_prompt()
    late = kernel.prompt
    os.killpg(kernel.process.pid, signal.SIGINT)
    kernel._wait(lambda: kernel.prompt and kernel.prompt["prompt"] == "again? ")
    now, kernel.prompt = kernel.prompt, late
    kernel.answer("too late")
    kernel.prompt = now
    kernel.answer("in time")
    assert kernel.finish().stdout == "caught\nin time\n"
    outcome, _ = kernel.run_answered("input()", "\x03")
    assert outcome.error["type"] == "KeyboardInterrupt"
    assert kernel.run("1").text == "1"


def test_the_debugger_in_an_interactive_cell(kernel):
    code = "def f(n):\n    breakpoint()\n    return n\nf(42)"
    outcome, prompts = kernel.run_answered(code, "p n + 1", "c")
    assert prompts == ["(Pdb) "] * 2 and "43" in outcome.stdout and "-> breakpoint()" in outcome.stdout and outcome.text == "42"
    kernel.run("def g(): bad = 7; 1 / 0\ng()")
    outcome, prompts = kernel.run_answered("%debug", "p bad", "q")
    assert "7" in outcome.stdout and outcome.error is None and prompts == ["ipdb> "] * 2
    assert "stdin is closed" in kernel.run("breakpoint()").error["message"]


def test_a_thread_cannot_prompt(kernel):
    code = "import threading\ndef ask():\n  try: input()\n  except EOFError as e: print(e)\nt = threading.Thread(target=ask); t.start(); t.join()"
    outcome, _ = kernel.run_answered(code)
    assert "main thread" in outcome.stdout


# Interrupts

LOOPS = {
    "python loop": "print('go')\nwhile True: pass",
    "sleep": "import time; print('go'); time.sleep(60)",
    "os.system": "import os; os.system('echo go; sleep 60')\nprint('went on')",
    "os.system loop": "import os\nwhile True: os.system('echo go; sleep 60')",
    "subprocess.run": "import subprocess; subprocess.run('echo go; sleep 60', shell=True)",
    "!cmd": "!echo go; sleep 60\nprint('went on')",
    "x = !cmd": "print('go')\nx = !sleep 60\nprint('went on')",
    "%%bash": "%%bash\necho go; sleep 60",
    "deaf child": "!trap '' INT; echo go; sleep 60\nprint('went on')",
    "numpy": "import numpy as np; a = np.ones(1000); print('go')\nwhile True: a = np.sqrt(a + 1)",
    "power": "print('go'); 10 ** 10 ** 8",  # loops in C that look for signals now and then
    "regular expression": "import re; print('go'); re.match(r'(a|aa)+$', 'a' * 60 + 'b')",
    "thread join": "from threading import Thread; import time; t = Thread(target=time.sleep, args=(9,)); t.start(); print('go'); t.join()",
    "top-level await": "import asyncio; print('go'); await asyncio.sleep(60)",
    "loop in async cell": "await asyncio.sleep(0); print('go')\nwhile True: pass",
    "asyncio.run": "print('go'); asyncio.run(asyncio.sleep(60))",
    "nested asyncio.run": "await asyncio.sleep(0); print('go'); asyncio.run(asyncio.sleep(60))",
    "returned coroutine": "async def f():\n    print('go')\n    await asyncio.sleep(60)\nf()",
    "task in a loop": "async def t():\n    print('go')\n    while True: pass\nawait asyncio.gather(t())",
    "deaf coroutine": """
        async def f():
            while True:
                try: await asyncio.sleep(60)
                except BaseException: pass
        print('go'); await f()
        """,
    "lock": "import threading; l = threading.Lock(); l.acquire(); print('go'); l.acquire()",
    "socket": "import socket; a, b = socket.socketpair(); print('go'); a.recv(1)",
    "repr": "class R:\n    def __repr__(self):\n        print('go')\n        while True: pass\nR()",
    "str of an error": """
        class E(Exception):
            def __str__(self):
                print('go')
                while True: pass
        raise E
        """,
    "own handler": """
        import signal
        signal.signal(signal.SIGINT, lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        print('go')
        while True: pass
        """,
}


@pytest.mark.parametrize("name", LOOPS)
def test_interrupt_keeps_variables(kernel, name):
    kernel.run("import asyncio; precious = 'kept'")
    outcome = kernel.run_interrupted(LOOPS[name])
    assert outcome.error["type"] == "KeyboardInterrupt" and "went on" not in outcome.stdout
    assert kernel.run("precious").text == "'kept'"


def test_an_abandoned_cell_leaves_no_trace(kernel):
    kernel.run_interrupted(LOOPS["deaf coroutine"])
    for _ in range(3):
        assert kernel.run("import gc; gc.collect(); await asyncio.sleep(0, 5)").text == "5"
    assert kernel.run("raise GeneratorExit").error["type"] == "GeneratorExit"


def test_interrupt_names_the_line(kernel):
    error = kernel.run_interrupted("import time\n\nprint('go'); time.sleep(60)").error
    assert "line 3" in error["traceback"] and "husk_kernel" not in error["traceback"]
    error = kernel.run_interrupted("import asyncio\n\nprint('go'); await asyncio.sleep(60)").error
    assert "line 3" in error["traceback"]


@pytest.mark.parametrize("code", [
    "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "signal.signal(signal.SIGINT, signal.SIG_DFL)",
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])",
])
def test_signal_handlers_are_reset_after_a_cell(kernel, code):
    kernel.run("import signal; " + code)
    kernel.interrupt()
    assert kernel.run_interrupted("print('go')\nwhile True: pass").error["type"] == "KeyboardInterrupt"


def test_a_cell_may_swallow_an_interrupt(kernel):
    code = "try:\n    print('go')\n    while True: pass\nexcept KeyboardInterrupt:\n    print('caught')\n5"
    outcome = kernel.run_interrupted(code)
    assert outcome.error is None and outcome.text == "5" and "caught" in outcome.stdout


def test_interrupts_between_cells_are_ignored(kernel):
    for n in range(50):
        kernel.interrupt()
        kernel.begin(f"{n}")
        kernel.finish()
    kernel.interrupt()
    assert kernel.run("import time; time.sleep(0.05); 'fine'").text == "'fine'"


def test_interrupts_never_cut_a_message(kernel):
    kernel.begin("""
        try:
            print('go')
            while True: display('x' * 100_000)
        except KeyboardInterrupt: print('stopped')
        while True: pass
        """)
    kernel.wait_output("go")
    kernel.interrupt()
    kernel.wait_output("stopped")
    assert kernel.finish().error["type"] == "KeyboardInterrupt"
    assert kernel.run("1 + 1").text == "2"


# Processes


def test_environment_of_one_run(kernel):
    show = "import os; os.environ.get('CALLED'), os.popen('echo $CALLED').read()"
    assert kernel.run(show, env={"CALLED": "here"}).text == r"('here', 'here\n')"
    assert kernel.run(show).text == r"(None, '\n')"
    kernel.run("1/0", env={"CALLED": "here"})
    kernel.run_interrupted("print('go')\nwhile True: pass", env={"CALLED": "here"})
    assert kernel.run(show).text == r"(None, '\n')"
    kernel.run("os.environ['CALLED'] = 'mine'", env={"CALLED": "here"})
    assert kernel.run("os.environ.pop('CALLED')").text == "'mine'"


# evidence: kernel-link
def test_forked_child_never_answers(kernel):
    outcome = kernel.run("""
        import os
        pid = os.fork()
        if pid == 0: print('child')
        else: os.waitpid(pid, 0)
        'one answer'
        """)
    assert outcome.text == "'one answer'" and outcome.stdout == "child\n"


@pytest.mark.parametrize("end, status", [
    ("pass", 0), ("1/0", 1), ("raise SystemExit(7)", 7), ("display('in the child')", 0),
])
def test_forked_child_exits_as_a_program_would(kernel, end, status):
    outcome = kernel.run(f"""
        import os
        pid = os.fork()
        if pid == 0: {end}
        else: status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        """)
    assert ("ZeroDivisionError" in outcome.stderr) == (status == 1) and not outcome.displays
    assert kernel.run("status").text == str(status)


def test_forked_child_in_async_cell(kernel):
    outcome = kernel.run("""
        import asyncio, os
        pid = os.fork()
        await asyncio.sleep(0)
        if pid: os.waitpid(pid, 0)
        'parent'
        """)
    assert outcome.text == "'parent'"


def test_fork_from_c_code(kernel):
    outcome = kernel.run("import ctypes, os\npid = ctypes.CDLL(None).fork()\nif pid: os.waitpid(pid, 0)\n'parent'")
    assert outcome.text == "'parent'"


# evidence: kernel-link
def test_children_do_not_inherit_the_link(kernel):
    names = kernel.run("import subprocess; subprocess.getoutput('ls -l /proc/self/fd')").text
    assert "socket" not in names


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(kernel, method):
    code = f"""
        import math, multiprocessing as mp
        with mp.get_context('{method}').Pool(2) as pool: r = pool.map(math.sqrt, [1, 4, 9])
        r
        """
    assert kernel.run(code).text == "[1.0, 2.0, 3.0]"


def test_process_pool_with_a_function_of_a_cell(kernel):
    code = """
        import concurrent.futures as cf, multiprocessing as mp
        def square(x): return x * x
        with cf.ProcessPoolExecutor(2, mp_context=mp.get_context("fork")) as pool: r = list(pool.map(square, range(4)))
        r
        """
    assert kernel.run(code).text == "[0, 1, 4, 9]"


def test_display_from_a_thread(kernel):
    outcome = kernel.run("""
        import threading
        t = threading.Thread(target=lambda: display('from a thread')); t.start(); t.join()
        """)
    assert outcome.displays[0]["data"]["text/plain"] == "'from a thread'"


def test_late_display_comes_with_the_next_cell(kernel, workspace):
    os.mkfifo(workspace / "gate")
    kernel.run("""
        import threading
        def late():
            open('gate').read()
            display('late one'); print('displayed')
        threading.Thread(target=late).start()
        """)
    (workspace / "gate").write_text("")
    kernel.wait_output("displayed")
    assert kernel.run("0").displays[0]["data"]["text/plain"] == "'late one'"


def test_the_end_of_the_link_is_the_end_of_the_kernel(fresh_kernel):
    fresh_kernel.run("import atexit; atexit.register(print, 'not at once')")
    fresh_kernel.hang_up()
    assert fresh_kernel.wait_exit() == 0


def test_segmentation_fault_names_the_line(fresh_kernel):
    fresh_kernel.begin("import ctypes\nprint('go')\nctypes.string_at(0)")
    assert fresh_kernel.wait_exit() == -signal.SIGSEGV
    fresh_kernel.wait_output("go")
    fresh_kernel.wait_output('"<cell 1>", line 3')


def test_deleted_working_directory(fresh_kernel):
    fresh_kernel.run("import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir(os.getcwd())")
    assert fresh_kernel.run("import uuid; 1 + 1").text == "2"
