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


def ended_for_memory(box, ended):
    """To the machine, a session under gVisor is one program: all of it ends at once, and the result says so."""
    assert ended.ending == "container_died" and "OOM-killed" in ended.text, ended.text
    again = box.code("1")
    assert again.is_error and "OOM-killed" in again.text, again.text
    box.session.stop()
    box.dead = True


@instead
def memory_bomb(box, code):
    """The session ends with the cause out of memory, because the machine sees one program and kills it."""
    ended_for_memory(box, box.code(code, 120))


@instead
def child_memory_bomb(box, code):
    """Likewise: the session ends, not the program alone."""
    ended_for_memory(box, box.code(code, 120))


@instead
def huge_allocation(box, code, words):
    """Address space is granted without a check; a language that then writes to all of it ends its session."""
    ended = box.code(code, 120)
    if ended.ending == "container_died":
        ended_for_memory(box, ended)


@instead
def fork_bomb(box, code):
    """Processes inside are not counted one by one: the bomb ends with its cell, or the session ends when its memory
    is used up.
    """
    ended = box.code(code, 2)
    if ended.ending == "container_died":
        assert "OOM-killed" in ended.text or "exited with status" in ended.text, ended.text
        box.session.stop()
        box.dead = True
        return
    for _ in range(2):
        ended = box.code(box.column["last_value"]["code"])
    assert ended.ok().value == box.column["last_value"]["value"]
