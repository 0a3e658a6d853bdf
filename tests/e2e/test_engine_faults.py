"""Faults of an engine: it restarts, hangs, dies, runs out of disk, loses an image. Each time calls fail with the
cause, the server keeps running and works again once the engine does, and nothing is left.
"""

import pytest

import harness
import private_engine

# A hanging engine takes time, and so does the removal of leftovers from it.
pytestmark = pytest.mark.timeout(600)
# The time limit of calls that the fault does not concern: far less than the time in which the fault is noticed.
UNDISTURBED = 15

@pytest.fixture(scope="module")
def _engine():
    with private_engine.running() as engine:
        yield engine


@pytest.fixture
def engine(_engine):
    """A private engine that works. Afterwards nothing that the test made may be left on it."""
    if not _engine.is_up() or _engine.options:
        _restart(_engine)
    _engine.options = ()
    networks = _networks(_engine)
    yield _engine
    _engine.thaw()
    if not _engine.is_up():
        _engine.start()
    harness.wait_until(lambda: not _engine.containers(), what="an engine without containers")
    harness.wait_until(lambda: not _engine.clients(), what="the end of all that used the engine")
    assert _networks(_engine) - networks <= {"husk"}


def _restart(engine):
    if engine.is_up():
        engine.stop()
    engine.options = ()
    engine.start()


def _networks(engine):
    return set(engine.docker("network", "ls", "--format", "{{.Name}}").split())


@pytest.fixture
def serve(engine, start):
    """Starts servers on the private engine; they end before the engine is checked for leftovers."""
    return lambda **settings: start(engine=engine, **settings)


def running_cell(session, code="import time; time.sleep(100)"):
    """A cell that is known to run."""
    answer = session.start_code(f"print('on', flush=True)\n{code}", 100, progress=session.id)
    session.server.wait_for(lambda s: s.progress_of(session.id), what="output of the cell")
    return answer


def died(session, running, *words):
    """The running call failed at once, the first call after it gives the same cause, the session can be stopped, and a
    new one works.
    """
    ended = running.tool()
    assert ended.ending == "container_died" and not ended.is_error, ended.text
    after = session.code("1")
    assert after.is_error and after.text.startswith("CONTAINER_DIED: "), after.text
    assert "create_session" in after.hint
    for word in words:
        assert word in ended.text and word in after.text, (ended.text, after.text)
    assert session.stop().success is True


def works(server):
    """The server works again without a restart."""
    session = server.session(network=False)
    assert session.code("6 * 7").ok().value == "42"
    assert session.stop().success is True


# --- dockerd ends


def test_an_engine_that_is_restarted_ends_its_sessions_with_that_cause(serve, engine):
    server = serve()
    session = server.session(network=False)
    running = running_cell(session)
    engine.stop()
    assert running.tool().took < 60
    engine.start()
    died(session, running, "terminated by SIGTERM")
    works(server)


def test_an_engine_that_crashes_and_comes_back_ends_its_sessions_with_that_cause(serve, engine):
    """Without live-restore dockerd ends running containers at its start."""
    server = serve()
    session = server.session(network=False)
    running = running_cell(session)
    engine.kill()
    assert server.ping() < UNDISTURBED
    engine.start()
    died(session, running, "engine")
    works(server)


def test_containers_that_outlive_their_engine_keep_working(serve, engine, tmp_path):
    """The cell keeps running without an engine, its output arrives, and later requests run once, in order.

    Some engines end --rm containers even with live-restore, so --rm is removed from the command line here.
    """
    program = tmp_path / "docker"
    program.write_text('#!/bin/bash\nwords=()\nfor word; do [ "$word" = --rm ] || words+=("$word"); done\nexec docker "${words[@]}"\n')
    program.chmod(0o755)
    restart_with(engine, "--live-restore")
    server = serve(HUSK_DOCKER=program, HUSK_TRANSPORT="exec")
    session = server.session(network=False)
    session.code("x = 5").ok()
    running = running_cell(session, "import time\nfor i in range(30): print(i, flush=True); time.sleep(0.1)\nx + 1")
    engine.kill()
    waiting = [session.start_code(f"x += 1; x * {n}", 60) for n in (1, 10)]
    failed = server.call("create_session", {"network": False})
    assert failed.is_error and "no Docker engine answers" in failed.text
    assert server.ping() < UNDISTURBED
    engine.start()
    ended = running.tool().ok()
    assert ended.stdout == "on\n" + "".join(f"{i}\n" for i in range(30)) and ended.value == "6"
    assert [answer.tool().ok().value for answer in waiting] == ["6", "70"]
    # Without an engine nothing runs, and the caller gets an answer in time.
    engine.kill()
    assert server.call("create_session", {"network": False}).is_error  # by then the server has seen its streams break
    lost = session.code("open('/workspace/ran', 'w')", 2)
    assert lost.is_error and lost.took < 60
    assert "no Docker engine answers" in lost.text and "Nothing ran" in lost.hint
    engine.start()
    assert session.code("import os; os.path.exists('/workspace/ran')", 60).ok().value == "False"
    assert session.stop().success is True
    works(server)


def test_live_restore(serve, engine):
    """Whatever the engine does with its containers, the session continues or its end is reported."""
    restart_with(engine, "--live-restore")
    server = serve()
    session = server.session(network=False)
    session.code("x = 5").ok()
    running = running_cell(session, "import time; time.sleep(5)\nx + 1")
    engine.stop()
    engine.start()
    ended = running.tool()
    if ended.ending == "ok":
        assert ended.value == "6" and session.code("x").ok().value == "5"
    else:
        died(session, running, "the container engine ended it")
    works(server)


def restart_with(engine, *options):
    engine.stop()
    engine.start(*options)


def test_an_engine_killed_with_its_shims_is_reported(serve, engine):
    """The containers can no longer be reached; the engine removes them when it is back."""
    server = serve()
    session = server.session(network=False)
    running = running_cell(session)
    engine.kill(shims=True)
    engine.start()
    died(session, running)
    works(server)


# --- dockerd hangs


def test_a_hung_engine_is_reported(serve, engine):
    """Calls that need the engine fail in time with the cause. Running cells continue, and their results are available
    once the engine works again. Calls over the socket do not need the engine and work as before.
    """
    server, other = serve(HUSK_TRANSPORT="exec"), serve(HUSK_TRANSPORT="socket")
    session, stopping = server.session(network=False), server.session(network=False)
    beside = other.session(network=False)
    for one in (session, beside):
        one.code("x = 1").ok()
    engine.freeze()
    creating = [s.start_call("create_session", {"network": False}) for s in (server, other)]
    running = session.start_code("x += 1", 1)
    stop = server.start_call("stop_session", {"session_id": stopping.id})
    assert beside.code("x += 1; x").ok().value == "2"
    assert beside.shell("echo on").ok().stdout == "on\n"
    for _ in range(5):
        assert server.ping() < UNDISTURBED
    for answer in (*creating, running):
        failed = answer.tool(100)
        assert answer.took < 90
        assert "engine" in failed.text and "did not answer" in failed.text, failed.text
    failed = stop.tool(100)
    assert failed.is_error and "did not answer in time" in failed.text
    engine.thaw()
    # The cell that was being sent runs at most once.
    assert session.code("x").ok().value in ("1", "2")
    assert beside.code("x").ok().value == "2"
    for one in (stopping, beside):
        assert one.stop().success is True
        assert one.container not in engine.containers()
    for one in (server, other):
        works(one)


# --- no disk, no image


def test_an_engine_without_disk_space_is_reported(serve, engine):
    """The engine keeps its containers on a small file system, which is full."""
    server = serve()
    kept = server.session(network=False)
    containers = engine.kept / "data" / "containers"
    engine.enter("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(containers))
    try:
        engine.enter("sh", "-c", f"head -c 1M /dev/zero >'{containers}/full' || true")
        failed = server.call("create_session", {"network": False})
        assert failed.is_error and "no space left on device" in failed.text
        assert "disk space" in failed.hint
        assert kept.code("6 * 7").ok().value == "42"
    finally:
        engine.enter("umount", "--lazy", str(containers))
    works(server)


def test_a_removed_image_is_reported(serve, engine):
    server = serve()
    session = server.session(network=False)
    engine.docker("tag", engine.image, "kept-aside:now")
    engine.docker("rmi", engine.image)
    try:
        failed = server.call("create_session", {"network": False})
        assert failed.is_error and engine.image in failed.text and "husk setup" in failed.hint
        assert session.code("6 * 7").ok().value == "42"
    finally:
        engine.docker("tag", "kept-aside:now", engine.image)
        engine.docker("rmi", "kept-aside:now")
    works(server)


def test_a_removed_network_is_created_again(serve, engine):
    server = serve()
    server.session(network=True).stop()
    engine.docker("network", "rm", "husk")
    assert server.session(network=True).shell("ls /sys/class/net").stdout.split() == ["eth0", "lo"]
