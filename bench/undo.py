"""Checkpoints and branches: what they cost, and what automatic ones cost calls."""

import contextlib
import time

from results import Failed, milliseconds

PAUSE = 0.02
CRASH = "import os; os._exit(3)"
GIGABYTE = "import numpy\nx = numpy.ones(1 << 27)\nNone"
FRAME = "import numpy, pandas\nframe = pandas.DataFrame({'x': numpy.ones(32_000_000), 'y': numpy.ones(32_000_000)})\nNone"  # 488 MB


def is_two(result):
    return "".join(part["text"] for part in result["content"] if part["type"] == "text").split()[-1] == "2"


def measure(bench, results):
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(bench.server(f"undo-{name}", HUSK_TRANSPORT="socket", SESSION_CHECKPOINTS=mode,
                                                          CONTAINER_MEMORY_LIMIT="4g"))
                   for name, mode in (("husk", "auto"), ("no-checkpoints", "off"))}
        sessions = {name: server.session(language="python", network=False) for name, server in servers.items()}
        calls(results, bench, servers, sessions)
        server, session = servers["husk"], sessions["husk"]
        results.turns("undo: first call after a checkpoint", bench.rounds(30), {"husk": lambda: first(server, session)})
        results.turns("undo: crash and recovery", bench.rounds(20), {"husk": lambda: crash(server, session)})
        large(results, bench, server, session)


def calls(results, bench, servers, sessions):
    """With automatic checkpoints and without, in turn."""
    def one(name):
        return servers[name].timed("execute_code", is_two, session_id=sessions[name], code="1+1")

    def paused(name):
        time.sleep(PAUSE)
        return one(name)

    results.turns("undo: 1+1, back to back", bench.rounds(20), {name: lambda name=name: one(name) for name in servers}, warm=5, in_a_row=20)
    results.turns("undo: 1+1, after a pause of 20 ms", bench.rounds(100), {name: lambda name=name: paused(name) for name in servers})


def save(server, session, name="a"):
    return server.timed("checkpoint", session_id=session, action="save", name=name)


def first(server, session):
    save(server, session)
    return server.timed("execute_code", is_two, session_id=session, code="1+1")


def crash(server, session):
    """From the request to the answer of the cell that kills the interpreter, which is restored by then."""
    save(server, session)
    began = time.perf_counter()
    result = server.request("tools/call", {"name": "execute_code", "arguments": {"session_id": session, "code": CRASH}})
    took = milliseconds(began)
    if "restored" not in result["_meta"]["dev.husk/result"]:
        raise Failed(f"nothing was restored: {result}")
    return took


def large(results, bench, server, session):
    server.call("execute_code", session_id=session, code=GIGABYTE)
    results.turns("undo: checkpoint of 1 GB of numpy", bench.rounds(20), {"husk": lambda: save(server, session)})
    server.call("checkpoint", session_id=session, action="drop", name="a")
    server.call("execute_code", session_id=session, code="x = None")
    server.call("execute_code", session_id=session, code=FRAME)

    def branches():
        took = server.timed("checkpoint", session_id=session, action="branch", name="a,b,c")
        for name in "abc":
            server.call("checkpoint", session_id=session, action="drop", name=name)
        return took

    results.turns("undo: three branches of a frame of 488 MB", bench.rounds(20), {"husk": branches})
