"""husk repl: a prompt to a session."""

import re
import stat
import subprocess

import pytest
from harness import PATIENCE, clean_env, docker, husk_binary, store_id, store_label, wait_until
from terminal import Terminal

PNG = "import base64; from IPython.display import Image; Image(data=base64.b64decode('{}'))"
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC"


@pytest.fixture
def home(tmp_path):
    """A home whose containers are removed at the end."""
    yield tmp_path
    env = clean_env(tmp_path)
    if store_id(env):
        wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", store_label(env)), what="the end of its containers")


@pytest.fixture
def terminal(home):
    """terminal(options…) runs husk repl at a terminal."""
    opened = []

    def open_one(*arguments):
        opened.append(Terminal([husk_binary(), "repl", *arguments], clean_env(home), cwd=home))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def piped(home, text, *arguments, **settings):
    return subprocess.run([husk_binary(), "repl", *arguments], input=text, capture_output=True, text=True, env=clean_env(home, **settings),
                          cwd=home, timeout=PATIENCE * 2, check=False)


# evidence: repl-terminal
def test_at_a_terminal(terminal, home):
    """Several lines, output, errors, prompts, interrupts, history, files and pictures, in one session."""
    t = terminal()
    assert re.search(r"Python.* · [a-z0-9]{20,} · a new session", t.until(">>> "))
    assert t.ask("1 + 1") == "2"
    t.type("def f(x):\r")
    t.until("\n... ")
    t.type("return x * 2\r")  # it is indented already
    t.until("\n... ")
    assert t.ask("") == ""
    assert t.ask("f('é€😀')") == "'é€😀é€😀'"
    assert "ZeroDivisionError" in t.ask("1 / 0")
    assert b"\x1b[1;31mZeroDivisionError: division by zero\x1b[0m" in t.shown
    t.ask("import sys; print('to stderr', file=sys.stderr)")
    assert b"\x1b[33mto stderr" in t.shown
    # Output of a session cannot control the terminal.
    t.ask(r"print('\x1b]52;c;cHduZWQ=\x07')")
    t.ask(r"type('T', (), {'__repr__': lambda self: '\x1b[2Jshown'})()")
    assert b"shown" in t.shown and b"\x1b]52" not in t.shown and b"\x1b[2J" not in t.shown
    # A prompt, and one for a password.
    t.type(r"name = input('\x01\x1b[2J\x01who? ')" + "\r")
    t.until("who? ')")
    t.until("who? ")
    assert b"\x1b[2J" not in t.shown
    assert t.ask("Bob <Enter>") == ""
    assert t.ask("name") == "'Bob <Enter>'"
    t.type("import getpass; p = getpass.getpass('secret? ')\r")
    t.until("\nsecret? ")
    assert t.ask("hidden") == ""
    assert t.ask("len(p)") == "6" and b"hidden" not in t.shown
    # Ctrl-C interrupts a cell, and discards a line.
    t.type("print('began', flush=True); import time; time.sleep(600)\r")
    t.until("\nbegan")
    t.type("\x03")
    assert "KeyboardInterrupt" in t.until("\n>>> ")
    t.type("not sent")
    t.until("not sent")
    t.type("\x03")
    t.until("^C\n>>> ")
    # A paste is one cell; the arrow brings it back.
    t.type("\x1b[200~for i in range(2):\r    print('line', i)\x1b[201~")
    t.until("print('line', i)")
    assert t.ask("") == "line 0\nline 1"
    t.type("\x1b[A")
    t.until("print('line', i)")
    assert t.ask("") == "line 0\nline 1"
    # The session's names, its shell and its files.
    t.ask("alpha_beta = 7")
    t.type("alpha_\t")
    t.until("alpha_beta")
    assert t.ask("") == "7"
    assert t.ask("$ mkdir folder; touch folder/one.csv; pwd") == "/workspace"
    assert "The checkpoint 'seven' has the variables after run" in t.ask("%checkpoint seven")
    t.ask("alpha_beta = 8")
    assert "is not in them" in t.ask("%undo seven")
    assert t.ask("alpha_beta") == "7"
    t.type("open('fol\t")
    t.until("der/")
    t.type("o\t")
    t.until("ne.csv")
    assert t.ask("').name") == "'folder/one.csv'"
    # A picture: the terminal is asked once whether it can show pictures, and it can.
    t.type(PNG.format(DOT) + "\r")
    t.until("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\")
    t.type("\x1b_Gi=31;OK\x1b\\\x1b[?62;4c")
    t.until(f"\x1b_Ga=T,f=100,q=2,m=0;{DOT}\x1b\\")
    t.until(">>> ")
    t.type("exit(3)\r")
    assert t.end() == 3
    history = next((home / "state/husk/repl").iterdir())
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "def f(x):\\n    return x * 2\n" in history.read_text() and "hidden" not in history.read_text()
    assert not list(home.glob("*.png"))


# evidence: repl-terminal
def test_pictures_elsewhere(terminal, home):
    """Sixel is made by another process. If the terminal shows no pictures, they become files with unused names."""
    (home / "husk-repl-1.png").write_text("mine")
    t = terminal("--pictures", "sixel")
    t.until(">>> ")
    t.type(PNG.format(DOT) + "\r")
    t.until("\x1bP")
    assert "\x1b\\" in t.until(">>> ")
    t.type("\x04")
    assert t.end() == 0
    done = piped(home, PNG.format(DOT))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "picture: husk-repl-2.png\n")
    assert (home / "husk-repl-2.png").read_bytes().startswith(b"\x89PNG")
    assert (home / "husk-repl-1.png").read_text() == "mine"


@pytest.mark.parametrize("language, text, code, shown, error", [
    ("python", "def f(x):\n    y = x\n\n    return y + 1\nf(1)\nname = input('? ')\nBob\nname\n# a comment\n$ echo shell; true", 0,
     "2\n? 'Bob'\nshell\n", ""),
    ("python", "print('first')\n1 / 0", 1, "first\n", "ZeroDivisionError: division by zero\n"),
    ("node", "function f(a) {\n  return a\n}\nif (f(1)) {\n  console.log(6 * 7)\n}\nelse {\n}\nprocess.exit(4)\n7", 4, "42\n", ""),
    ("python", "import sys\nsys.exit('no more')\n7", 1, "", "no more\n"),
    ("r", "q(status = 6)\n7", 6, "", ""),
    ("python", "x = 1\n%checkpoint a\nx = 2\n%undo b\n%undo\n%undo a\nx", 0, "1\n", "'a' (after run 1)"),
    ("python", "x = 1\n%branch a\nx = 2\n%branch\nx\n%keep a\nx", 0, "1\n2\n", ""),
    ("python", "%checkpoint", 64, "", "%checkpoint needs a name"),
    ("r", "x <-\n  5\nx * 2\nf <- function() stop('no')\nf()", 1, "[1] 10\n", "Error: no\n"),
])
def test_in_a_pipe(home, language, text, code, shown, error):
    done = piped(home, text, "--language", language)
    assert (done.returncode, done.stdout) == (code, shown), done
    assert error in done.stderr


def test_sessions_with_and_without_a_server_can_be_used(start, home):
    """A server and a prompt use a session at the same time. After the server's end the next prompt takes the session
    over, and leaves it running too.
    """
    server = start(home=home, SESSION_CHECKPOINTS="off")
    session = server.session(language="python")
    session.code("x = 41").ok()
    done = piped(home, "x += 1; x", session.id)
    assert (done.returncode, done.stdout) == (0, "42\n"), done
    assert session.code("x").ok().value == "42"
    # The list of variables is up to date after a look.
    server.call("session_info", {"session_id": session.id})
    done = piped(home, "import os; os.kill(os.getpid(), 9)", session.id)
    assert done.returncode == 137 and "\nLost variables: x (int).\n" in done.stderr, done
    session.code("x = 42").ok()
    server.close_stdin()
    server.process.wait(PATIENCE)
    done = piped(home, "x", session.id)
    assert (done.returncode, done.stdout) == (0, "42\n"), done
    assert subprocess.run([husk_binary(), "stop", session.id], env=clean_env(home), timeout=PATIENCE, check=False).returncode == 0


def test_a_piped_repl_ends_with_its_server(start, home):
    """The running cell may or may not have ended, so the cells after it do not run."""
    server = start(home=home)
    session = server.session(network=False)
    text = "open('/workspace/began', 'w').close(); import time; time.sleep(100)\nopen('/workspace/after', 'w').close()"
    process = subprocess.Popen([husk_binary(), "repl", session.id], env=clean_env(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write(text)
    process.stdin.close()
    wait_until(lambda: session.shell("ls /workspace").stdout == "began\n", what="the cell")
    server.process.kill()
    assert process.wait(PATIENCE) == 111
    assert "server" in process.stderr.read() and process.stdout.read() == ""
    done = piped(home, "$ ls /workspace", session.id)
    assert (done.returncode, done.stdout) == (0, "began\n"), done
    assert subprocess.run([husk_binary(), "stop", session.id], env=clean_env(home), timeout=PATIENCE, check=False).returncode == 0


@pytest.mark.parametrize("arguments, settings, code, words", [
    (("--nonsense",), {}, 64, "usage: husk repl "),
    (("--language", "cobol"), {}, 64, "cobol"),
    (("--pictures", "gif"), {}, 64, "--pictures 'gif'"),
    ((), {"CONTAINER_PIDS_LIMIT": "many"}, 64, "CONTAINER_PIDS_LIMIT"),
    (("--memory", "4g", "abc"), {}, 64, "usage: husk repl "),
    (("nosuchsession",), {}, 1, "nosuchsession"),
    ((), {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}, 111, "husk setup"),
])
def test_bad_input(home, arguments, settings, code, words):
    done = piped(home, "1", *arguments, **settings)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert words in done.stderr and ("usage: husk repl " in done.stderr) == (code == 64), done.stderr
