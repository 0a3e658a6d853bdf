"""Husk in a Kubernetes cluster of two nodes on this machine (tests/cluster): `bench/run cluster`. It is not part of a
run without arguments, because the first run builds Kubernetes.
"""

import json
import pathlib
import sys
import time

from husk import Server, children, resident_kb, text_of
from results import Failed, milliseconds

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEGABYTES = 8


def is_two(result):
    return text_of(result).split()[-1] == "2"


def create_cold(bench, results, server):
    server.stop_session(server.session(language="python", network=False))  # starts kubectl, and tries the network
    for _ in range(bench.rounds(12)):
        began = time.perf_counter()
        session = server.session(language="python", network=False)
        results.add("create, no warm pod", "husk", milliseconds(began))
        results.add("first 1+1", "husk", server.timed("execute_code", is_two, session_id=session, code="1+1"))
        began = time.perf_counter()
        server.stop_session(session)
        results.add("stop", "husk", milliseconds(began))


def create_warm(bench, results, cluster):
    with Server(bench.husk, bench.folder / "warm-pods", **{**cluster.settings, "CONTAINER_NETWORK_ENABLED": "false"}, WARM_POOL="python:1") as server:
        server.stop_session(server.session(language="python"))
        for _ in range(bench.rounds(12)):
            server.wait_for_warm()
            began = time.perf_counter()
            session = server.session(language="python")
            results.add("create, warm pod", "husk", milliseconds(began))
            server.stop_session(session)


def calls(bench, results, server):
    session = server.session(language="python", network=False)
    for _ in range(bench.rounds(1000)):
        results.add("1+1", "husk", server.timed("execute_code", is_two, session_id=session, code="1+1"))
    source = bench.allowed / "large"
    source.write_bytes(bytes(range(256)) * (MEGABYTES << 12))
    for _ in range(bench.rounds(5)):
        results.add(f"{MEGABYTES} MB in", "husk", server.timed("import_files", session_id=session,
                                                              files=[{"source": str(source), "destination": "large"}]))
        server.call("execute_terminal", session_id=session, command="head -c 8388608 /dev/urandom >out")
        results.add(f"{MEGABYTES} MB out", "husk", server.timed("export_files", session_id=session, files=[{"source": "out"}]))
    server.stop_session(session)


def at_once(results, server, count):
    """Creates that many sessions in parallel, and measures each answer. Returns the sessions."""
    began, sessions, failed = time.perf_counter(), [], None
    for _ in range(count):
        server.start_call("create_session", language="python", network=False)
    for _ in range(count):
        result = server.read()["result"]
        results.add(f"{count} creates at once: each", "husk", milliseconds(began))
        failed = failed or (result if result.get("isError") else None)
        if not result.get("isError"):
            sessions.append(json.loads(text_of(result))["session_id"])
    server.sessions += sessions
    if failed:
        raise Failed(f"a create failed: {text_of(failed)}")
    results.add(f"{count} creates at once: all", "husk", milliseconds(began))
    return sessions


def memory(results, server, words):
    results.add(f"memory of the server, {words}", "husk", resident_kb(server.pid) / 1024, "MB")
    results.add(f"memory of kubectl proxy, {words}", "husk", max(resident_kb(pid) for pid in children(server.pid)) / 1024, "MB")


def measure(bench, results):
    sys.path.append(str(ROOT / "tests" / "e2e"))
    import cluster as clusters  # noqa: PLC0415
    with clusters.Cluster() as cluster:
        settings = {**cluster.settings, "IMPORT_ALLOWED_DIRS": bench.allowed}
        with Server(bench.husk, bench.folder / "pods", **settings) as server:
            create_cold(bench, results, server)
            calls(bench, results, server)
            memory(results, server, "no session")
            for count in (12, 50):
                sessions = at_once(results, server, count)
                memory(results, server, f"{count} sessions")
                for session in sessions:
                    server.stop_session(session)
            results.note_load()
        create_warm(bench, results, cluster)
        results.note_load()
