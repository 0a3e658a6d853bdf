"""husk run: a program behaves as if it ran locally."""

import itertools
import os
import signal
import subprocess

import packaging.markers
import pytest
import terminal
from harness import PATIENCE, ROOT, clean_env, docker, husk_binary, store_id, store_label, store_rows, wait_until


@pytest.fixture
def run(tmp_path):
    """run(options…, text=program) runs husk run in its own folder, and checks that nothing is left in the engine."""
    folder = tmp_path / "here"
    folder.mkdir()
    home = tmp_path / "home"
    home.mkdir()

    def run_one(*arguments, text=None, **settings):
        env = clean_env(home, **settings)
        done = subprocess.run([husk_binary(), "run", *map(str, arguments)], input=text, capture_output=True, text=True, env=env, cwd=folder,
                              timeout=PATIENCE * 2, check=False)
        if store_id(env):  # containers of an install are removed in the background
            wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", store_label(env)), what="the end of its containers")
        return done

    run_one.folder = folder
    run_one.env = clean_env(home)
    return run_one


PROGRAMS = {
    "py": "import sys\nprint('args', sys.argv[1:])\nprint('to stderr', file=sys.stderr)\nsys.exit(3)\n",
    "js": "console.log('args', process.argv.slice(2)); console.error('to stderr'); process.exit(3)\n",
    "R": "cat('args', commandArgs(TRUE), '\\n'); message('to stderr'); quit(status = 3)\n",
}


@pytest.mark.parametrize("ending", PROGRAMS)
def test_arguments_output_and_exit_code(run, ending):
    (run.folder / f"p.{ending}").write_text(PROGRAMS[ending])
    done = run(f"p.{ending}", "one", "--two", 'thr"ee\\ é')
    shown = {"py": "args ['one', '--two', 'thr\"ee\\\\ é']\n", "js": "args [ 'one', '--two', 'thr\"ee\\\\ é' ]\n",
             "R": 'args one --two thr"ee\\ é \n'}[ending]
    assert (done.returncode, done.stdout) == (3, shown), done
    assert "to stderr" in done.stderr


@pytest.mark.parametrize("program, code, words", [
    ("1 / 0", 1, "ZeroDivisionError"),
    ("raise SystemExit", 0, ""),
    ("import sys; sys.exit('a message')", 1, "a message"),
    ("import os; os._exit(7)", 7, ""),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, ""),
    ("x = 5", 0, ""),
])
def test_exit_codes_of_programs_on_stdin(run, program, code, words):
    done = run("-", text=program)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert words in done.stderr


def test_time_and_memory(run):
    assert run("--timeout", "1", "-", text="while True: pass").returncode == 124
    assert run("--memory", "400m", "--cpus", "1", "--disk", "64m", "-", text="x = bytearray(10**9)").returncode == 137


def test_an_interrupt(run):
    child = subprocess.Popen([husk_binary(), "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=run.env)
    child.stdin.write("print('began', flush=True)\nwhile True: pass\n")
    child.stdin.close()
    assert child.stdout.readline() == "began\n"
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE) == 130
    child.stdout.close()
    assert docker("ps", "--all", "--quiet", "--filter", store_label(run.env)) == ""


def test_pictures_files_environment_and_exports(run):
    (run.folder / "data.txt").write_text("from here")
    (run.folder / "plot.py").write_text("""
import os, matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()
plt.figure(); plt.plot([2, 1]); plt.show()
print(open("data.txt").read(), os.environ["GREETING"])
open("out.txt", "w").write("out")
os.mkdir("folder"); open("folder/x", "w").write("x")
""")
    done = run("--file", "data.txt", "--env", "GREETING=a=b", "--export", "out.txt", "--export", "folder", "plot.py")
    assert (done.returncode, done.stdout) == (0, "from here a=b\n"), done
    for name in ("plot-1.png", "plot-2.png"):
        assert (run.folder / name).read_bytes().startswith(b"\x89PNG")
    assert (run.folder / "out.txt").read_text() == "out"
    assert (run.folder / "folder" / "x").read_text() == "x"
    assert "picture: plot-1.png" in done.stderr and "export: out.txt" in done.stderr


def test_the_language_can_be_chosen(run):
    assert run("--language", "node", "-", text="console.log(typeof process)").stdout == "object\n"


def test_dependencies(run, index):
    """Packages come in the requested version. If an install fails, the installer's message is shown."""
    program = "from importlib.metadata import version; print(version('husk-demo'))"
    done = run("-d", "husk-demo==1.5", "-", text=program, **index.pip())
    rows = store_rows(run.env, "SELECT image FROM dependency_sets")
    for row in rows:
        docker("rmi", "--force", row[0], check=False)
    assert (done.returncode, done.stdout) == (0, "1.5\n"), done
    done = run("-d", "husk-nothing", "-", text=program, **index.pip())
    assert done.returncode == 64 and done.stderr.count("No matching distribution found for husk-nothing") == 1, done.stderr


@pytest.mark.parametrize("arguments, code, words", [
    (("missing.py",), 64, "missing.py"),
    (("--file", "missing", "-"), 64, "missing"),
    (("--export", "missing", "-"), 1, "missing"),
    (("--language", "cobol", "-"), 64, "cobol"),
    (("no-ending",), 64, "no-ending"),
    (("--nonsense", "-"), 64, "usage: husk run "),
    ((), 64, "usage: husk run "),
    (("--env", "=x", "-"), 64, "NAME=VALUE"),
    (("--memory", "0", "-"), 64, "--memory '0'"),
    (("--disk", "lots", "-"), 64, "--disk 'lots'"),
    (("--cpus", "-1", "-"), 64, "--cpus '-1'"),
    (("--memory", "64g", "-"), 64, "CONTAINER_MEMORY_MAX"),
])
def test_bad_input(run, arguments, code, words):
    done = run(*arguments, text="")
    assert (done.returncode, done.stdout) == (code, ""), done
    assert words in done.stderr


def test_no_engine(run, tmp_path):
    done = run("-", text="1", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert done.returncode == 111
    assert "husk doctor" in done.stderr or "husk setup" in done.stderr


def test_a_bad_setting(run):
    done = run("-", text="1", CONTAINER_MEMORY_LIMIT="lots")
    assert done.returncode == 64 and "CONTAINER_MEMORY_LIMIT" in done.stderr


def test_output_comes_while_it_runs(run):
    """The program waits for the test, which has read its first line."""
    child = subprocess.Popen([husk_binary(), "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=run.env)
    child.stdin.write("import os, time\nprint('first', flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('last')\n")
    child.stdin.close()
    assert child.stdout.readline() == "first\n"
    container = docker("ps", "--quiet", "--filter", store_label(run.env))
    docker("exec", container, "touch", "/tmp/go")
    assert child.stdout.read() == "last\n"
    child.stdout.close()
    assert child.wait(PATIENCE) == os.EX_OK


# --- as a local run


def test_names_input_and_tracebacks_are_those_of_a_local_run(run):
    (run.folder / "p.py").write_text("""
import os, sys
print(__name__, __file__, sys.argv, os.getcwd())
print(repr(input("name? ")), len(sys.stdin.read()), sys.stdin.isatty())
sys.stdout.buffer.write(bytes(range(256)) * 4096)
sys.stdout.flush()
def fail():
    raise ValueError("no")
fail()
""")
    done = subprocess.run([husk_binary(), "run", "./p.py", "-x"], input=b"Ada\n" + b"x" * 500_000, capture_output=True, env=run.env,
                          cwd=run.folder, timeout=PATIENCE * 2, check=False)
    head = b"__main__ /workspace/p.py ['p.py', '-x'] /workspace\nname? 'Ada' 500000 False\n"
    assert done.returncode == 1 and done.stdout[:len(head)] == head, done
    assert done.stdout[len(head):] == bytes(range(256)) * 4096
    assert b'File "/workspace/p.py", line 9, in <module>\n' in done.stderr and done.stderr.endswith(b"ValueError: no\n"), done.stderr


def test_the_folder_of_the_program_is_copied(run):
    """.git and files that .gitignore names are left out; --alone copies only the program."""
    for name in ("lib", ".git", "ignored"):
        (run.folder / name).mkdir()
    (run.folder / ".gitignore").write_text("ignored/\n*.secret\np.py\n")
    (run.folder / "lib" / "helper.py").write_text("value = open('data.csv').read()\n")
    for name in ("data.csv", "a.secret", ".git/config", "ignored/x"):
        (run.folder / name).write_text(name)
    (run.folder / "p.py").write_text("import os, lib.helper\nprint(lib.helper.value, sorted(os.listdir()))\n")
    done = run("p.py")
    assert (done.returncode, done.stdout) == (0, "data.csv ['.gitignore', 'data.csv', 'lib', 'p.py']\n"), done
    done = run("--alone", "p.py")
    assert done.returncode == 1 and "No module named 'lib'" in done.stderr
    for i in range(1001):
        (run.folder / f"{i}.txt").touch()
    done = run("p.py")
    assert done.returncode == 1 and "more than 1000 files" in done.stderr and "No module named 'lib'" in done.stderr


def test_metadata_and_requirements(run, index):
    """First PEP 723 metadata, then a requirements file."""
    program = "from importlib.metadata import version; print(version('husk-demo'))\n"
    needed, other = "python_version >= '3.9' and sys_platform == 'linux'", "sys_platform == 'win32'"
    (run.folder / "p.py").write_text(f'# /// script\n# dependencies = [\n#   "husk-demo == 1.5; {needed}",\n#   "gone; {other}",\n# ]\n# ///\n' + program)
    (run.folder / "r.txt").write_text(f"gone; {other}\nhusk-demo==1.5; {needed}\n")
    done = run("p.py", **index.pip())
    again = run("--requirements", "r.txt", "-", text=program, **index.pip())
    for row in store_rows(run.env, "SELECT image FROM dependency_sets"):
        docker("rmi", "--force", row[0], check=False)
    assert (done.returncode, done.stdout) == (0, "1.5\n"), done
    assert (again.returncode, again.stdout) == (0, "1.5\n"), again
    done = run("--requirements", "r.txt", "--language", "r", "-", text="")
    assert done.returncode == 64 and "--requirements is not for R" in done.stderr


def test_markers_that_cannot_be_read_name_their_line(run):
    (run.folder / "r.txt").write_text("one\n\ntwo; python_version >= 3\n")
    done = run("--requirements", "r.txt", "-", text="")
    assert done.returncode == 64
    assert "r.txt: line 3: cannot read the marker 'python_version >= 3': a variable or a quoted string is expected at '3'" in done.stderr
    (run.folder / "p.py").write_text("# /// script\n# dependencies = [\n#   'one; what',\n# ]\n# ///\n")
    done = run("p.py")
    assert done.returncode == 64 and "p.py: line 3: cannot read the marker 'what'" in done.stderr


def marker_answers(marker):
    """What `packaging` answers for each environment that a session can have."""
    for patch, kernel in itertools.product(("3.13.0", "3.13.5", "3.13.99"), ("5.4.0", "6.1.0")):
        environment = {"python_version": "3.13", "python_full_version": patch, "implementation_version": patch, "implementation_name": "cpython",
                       "platform_python_implementation": "CPython", "os_name": "posix", "sys_platform": "linux", "platform_system": "Linux",
                       "platform_release": kernel, "platform_version": "#1 SMP" if kernel < "6" else "#2", "extra": ""}
        try:
            yield packaging.markers.Marker(marker).evaluate(environment)
        except (packaging.markers.InvalidMarker, packaging.markers.UndefinedComparison, packaging.markers.UndefinedEnvironmentName):
            yield None


def test_packaging_agrees_with_the_table_of_markers():
    """tests/unit/test-marker.c checks Husk's answers against the same table."""
    words = {frozenset({True}): "yes", frozenset({False}): "no", frozenset({True, False}): "maybe", frozenset({None}): "bad"}
    rows = [line.split(None, 1) for line in (ROOT / "tests/golden/markers.txt").read_text().splitlines() if not line.startswith("#")]
    assert [(row, marker) for row, marker in rows if words[frozenset(marker_answers(marker))] != row] == []


def test_at_a_terminal(run):
    """The program has its own terminal: input() prompts there, and Ctrl-C goes to the program."""
    # Not input() for Ctrl-C: Python's use of readline misses a signal between the prompt and its select().
    (run.folder / "p.py").write_text("""
import sys, time
print([s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)])
print("hello", input("name? "))
try:
    print("again? ")
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    sys.exit(5)
""")
    screen = terminal.Terminal([husk_binary(), "run", "--timeout", "0", "p.py"], env=run.env, cwd=run.folder)
    screen.until("[True, True, True]")
    screen.until("name? ")
    screen.type("Ada\r")
    screen.until("hello Ada")
    screen.until("again? ")
    screen.type("\x03")
    assert screen.end() == 5


def test_every_end_is_recorded(run):
    """The end is recorded for an interrupted program too, whether or not it handles the interrupt."""
    # A signal that arrives just before a blocking read would not end the read, so the program waits for the signal itself.
    (run.folder / "p.py").write_text("import signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
                                     "print('began', flush=True)\nsignal.sigwait([signal.SIGINT])\nsys.exit(9)\n")
    with subprocess.Popen([husk_binary(), "run", "p.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=run.env,
                          cwd=run.folder) as child:
        assert child.stdout.readline() == "began\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE) == 9
    assert run("-", text="1").returncode == 0
    assert {row[0] for row in store_rows(run.env, "SELECT state FROM sessions")} == {"ended"}
    ends = store_rows(run.env, "SELECT tool, ending FROM executions WHERE tool != 'import_files' ORDER BY started")
    assert ends == [("run", "error"), ("run", "ok")]  # the search for pictures is not recorded


def test_a_module_with_timers_and_closed_input_runs(run):
    """The program waits for its timers, finds modules in its folder, and reads a closed standard input as empty."""
    (run.folder / "lib.mjs").write_text("export const twice = (x) => 2 * x;\n")
    (run.folder / "m.mjs").write_text("""
import { readFileSync } from 'node:fs';
import { twice } from './lib.mjs';
setTimeout(() => console.log('late', twice(21), readFileSync(0, 'utf8').length), 50);
""")
    done = subprocess.run(["sh", "-c", 'exec "$0" run m.mjs <&-', husk_binary()], capture_output=True, text=True, env=run.env, cwd=run.folder,
                          timeout=PATIENCE * 2, check=False)
    assert (done.returncode, done.stdout) == (0, "late 42 0\n"), done
