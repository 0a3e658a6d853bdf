"""Every ending is reported at once, in the running call, with its true cause; the next call works or gives the
reason.
"""

import os
import pathlib
import re
import signal

import pytest

import harness

# The time limit of the next call after a fork bomb.
AFTER_BOMB = 10


@pytest.fixture
def session(start):
    """A session of the test's own with x set, in a small container."""
    server = start(CONTAINER_MEMORY_LIMIT="640m", CONTAINER_TMPFS_SIZE="100m", CONTAINER_PIDS_LIMIT="200",
                   CONTAINER_MAX_SESSIONS_PER_THREAD=4)
    session = server.session(network=False)
    session.code("x = 41; open('/workspace/kept', 'w').write('kept')").ok()
    return session


def lives(session):
    """Checks that variables and files were kept."""
    assert session.code("x + 1").ok().value == "42"


# cell, ending, words of the text. The table of behaviours has the endings that all languages share.
ENDINGS = {
    "closed fds": ("import os\nfor i in range(10):\n  try: os.close(i)\n  except OSError: pass", "ok", []),
    "thread bomb": ("import threading, time\nfor _ in range(1000): threading.Thread(target=time.sleep, args=(2,)).start()",
                    "error", ["can't start new thread"]),
}


# evidence: success
@pytest.mark.parametrize("name", ENDINGS)
def test_a_cell_ends_with_its_cause(session, name):
    code, ending, words = ENDINGS[name]
    ended = session.code(code)
    assert (ended.ending, ended.is_error) == (ending, False), ended.text
    assert ended.success == (ending == "ok")
    for word in words:
        assert word in ended.text
    lives(session)


# evidence: container-bombs
def test_files_that_fill_the_memory_are_named(session):
    session.shell("head -c 90M /dev/zero >/workspace/a; head -c 90M /dev/zero >/tmp/b").ok()
    ended = session.code("b = []\nwhile True: b.append(bytearray(10**7))")
    assert ended.ending == "oom"
    assert re.search(r"18. MiB of it are files in /workspace", ended.text) and ended.text.count("memory limit") == 1


# evidence: container-bombs
def test_a_fork_bomb_in_a_cell_is_ended(session):
    session.code("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", 2)
    after = session.code("6 * 7")
    assert after.took < AFTER_BOMB
    assert after.value == "42" or "process" in after.text
    assert session.code("6 * 7").ok().value == "42"
    assert session.shell("echo fine").ok().stdout.endswith("fine\n")


# evidence: container-bombs
def test_a_fork_bomb_in_the_terminal_is_ended(session):
    session.shell(":(){ :|:& };:", 2)
    after = session.shell("echo fine", 10)
    assert after.took < AFTER_BOMB
    assert "fine" in after.stdout or "process" in after.text
    assert session.shell("echo fine").ok().stdout.endswith("fine\n")
    lives(session)


def test_bombs_do_not_disturb_another_session(session):
    """Processes and threads up to the limit and a full disk in three sessions: the fourth answers, and all work afterwards."""
    bombs = {
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass": session.server.session(network=False),
        "import threading, time\nwhile True:\n  try: threading.Thread(target=time.sleep, args=(60,)).start()\n  except RuntimeError: pass":
            session.server.session(network=False),
        "while True:\n  try: open('/workspace/big', 'ab').write(b'x' * 2**20)\n  except OSError: pass": session.server.session(network=False),
    }
    running = [bombed.start_code(code, 4) for code, bombed in bombs.items()]
    rounds = 0
    while not all(answer.done for answer in running):
        assert session.code(f"x + {rounds}").ok().value == str(41 + rounds)
        assert session.shell(f"echo {rounds}").ok().stdout == f"{rounds}\n"
        rounds += 1
    assert rounds > 3
    for answer in running:
        assert answer.tool().ending in ("timeout", "oom"), answer.tool().text
    for bombed in bombs.values():
        bombed.code("import os; [os.unlink(f) for f in ['/workspace/big'] if os.path.exists(f)]")
        assert bombed.code("6 * 7").ok().value == "42"
        assert bombed.shell("echo fine").ok().stdout.endswith("fine\n")
    lives(session)


def test_a_daemon_that_holds_memory_and_pipes_delays_no_run(session):
    ended = session.code("import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork(): os._exit(0)\n"
                     "  hold = bytearray(10**8); time.sleep(1000); os._exit(0)\n'parent'")
    assert ended.ok().value == "'parent'" and ended.took < 5
    lives(session)


def test_idle_sessions_end_and_running_cells_are_not_idle(start):
    session = start(SESSION_IDLE_TTL_SECONDS=2, SESSION_GC_INTERVAL_SECONDS=1).session(network=False)
    assert session.code("import time; time.sleep(5); 'awake'").ok().value == "'awake'"
    harness.wait_until(lambda: session.container not in session.server.containers())
    after = session.code("1")
    assert after.is_error and "SESSION_IDLE_TTL_SECONDS" in after.text


def test_a_broken_stream_loses_nothing(start):
    """The docker client of the stream is killed: the running cell, and a cell and a command sent meanwhile, all end
    normally.
    """
    server = start(HUSK_TRANSPORT="exec")
    session = server.session(network=False)
    session.code("x = 5").ok()
    running = session.start_code("import time\nfor i in range(20): print(i, flush=True); time.sleep(0.1)\nx + 1", progress="p")
    server.wait_for(lambda s: s.progress_of("p"))
    stream, = [pid for pid, command in harness.children_of(server.process.pid).items() if " exec " in command]
    os.kill(stream, signal.SIGKILL)
    waiting, command = session.start_code("x + 2"), session.start_shell("echo heard")
    assert command.tool().ok().stdout == "heard\n"
    ended = running.tool().ok()
    assert ended.stdout == "".join(f"{i}\n" for i in range(20)) and ended.value == "6"
    assert waiting.tool().ok().value == "7"


def test_a_session_stopped_while_it_starts(start, tmp_path):
    """The error of a second create names the id. The first create is answered, and a late cancel has no effect."""
    held, program = tmp_path / "held", tmp_path / "docker"
    held.touch()
    program.write_text(f'#!/bin/bash\n[ "$1" = run ] && [ -e {held} ] && exec sleep 1000\nexec docker "$@"\n')
    program.chmod(0o755)
    server = start(CONTAINER_MAX_SESSIONS=1, HUSK_DOCKER=program)
    creating = server.start_call("create_session", {"network": False})
    listed = server.call("create_session", {"network": False}).active_sessions
    assert [s["status"] for s in listed] == ["starting"]
    assert server.call("stop_session", {"session_id": listed[0]["session_id"]}).success is True
    answer = creating.tool()
    assert answer.is_error and "was stopped while it started" in answer.text
    held.unlink()
    server.cancel(creating)
    assert server.session(network=False).code("1").ok()


def test_a_cancelled_create_and_the_end_of_the_server_leave_nothing(start):
    servers = [start(HUSK_THREAD_ID=f"left-{i}-{os.getpid()}") for i in range(3)]
    for server in servers:
        creating = server.start_call("create_session", {"network": False})
        harness.wait_until(lambda: [c for c in harness.children_of(server.process.pid).values() if " run " in c])
        server.cancel(creating)
        server.ping()
        server.close_stdin()
        server.process.wait(10)
    for server in servers:
        # Containers that the daemon was still creating appear within moments and are then removed.
        harness.wait_until(lambda: not server.containers() and not reaping(server.env["HUSK_THREAD_ID"]), 20)


def reaping(thread):
    """Processes that remove leftovers of this conversation's servers."""
    found = []
    for pid, (_, command) in harness.processes().items():
        try:
            if " reap docker " in command and f"HUSK_THREAD_ID={thread}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found
