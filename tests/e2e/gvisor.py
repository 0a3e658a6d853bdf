"""gVisor (runsc) as a runtime of a private engine, and how its sessions differ from those of the engine's own
runtime.
"""

import shutil

import private_engine

RUNTIME = "runsc"
# Required by Debian's release: docs/gvisor.md gives the reason.
ARGUMENTS = ("--network=host",)
INSTEAD = {}  # name of a row of behaviours.py -> the check that replaces it under gVisor


def running(languages=("python",)):
    program = shutil.which("runsc")
    assert program, "gVisor is missing: run tools/install-deps.sh test"
    return private_engine.running(languages, {"runtimes": {RUNTIME: {"path": program, "runtimeArgs": ARGUMENTS}}})


def instead(function):
    INSTEAD[function.__name__] = function
    return function


def ended_for_memory(session, ended):
    """To the machine, a session under gVisor is one program: all of it ends at once, and the result says so."""
    assert ended.ending == "container_died" and "OOM-killed" in ended.text, ended.text
    again = session.code("1")
    assert again.is_error and "OOM-killed" in again.text, again.text
    session.plain.stop()
    session.dead = True


@instead
def memory_bomb(session, code):
    """The session ends with the cause out of memory, because the machine sees one program and kills it."""
    ended_for_memory(session, session.code(code, 120))


@instead
def child_memory_bomb(session, code):
    """Likewise: the session ends, not the program alone."""
    ended_for_memory(session, session.code(code, 120))


@instead
def huge_allocation(session, code, words):
    """Address space is granted without a check; a language that then writes to all of it ends its session."""
    ended = session.code(code, 120)
    if ended.ending == "container_died":
        ended_for_memory(session, ended)


@instead
def fork_bomb(session, code):
    """Processes inside are not counted one by one: the bomb ends with its cell, or the session ends when its memory
    is used up.
    """
    ended = session.code(code, 2)
    if ended.ending == "container_died":
        assert "OOM-killed" in ended.text or "exited with status" in ended.text, ended.text
        session.plain.stop()
        session.dead = True
        return
    for _ in range(2):
        ended = session.code(session.column["last_value"]["code"])
    assert ended.ok().value == session.column["last_value"]["value"]
