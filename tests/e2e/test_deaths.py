"""The end of a container is reported with its cause: at once in the running call, and in the first call after it,
with the reference's reasons and hint.
"""

import pytest

import harness

SIGKILL = "killed by signal 9 (SIGKILL) — likely OOM or external kill"
REMOVED = "container no longer exists (removed externally)"
OOM = "OOM-killed — the code exhausted the container memory limit"
# Shared memory that belongs to no process: killing processes does not free it, so in the end only PID 1 is left to
# kill.
SHARED_MEMORY = "while :; do perl -e '$s = 1 << 18; while (1) { shmwrite(shmget(0, $s, 01600), q(x) x $s, 0, $s) || exit }'; done"

# name -> (what is done to the container from outside, the possible reasons)
DEATHS = {
    "kill": (("kill",), [SIGKILL]),
    "terminate": (("kill", "--signal", "TERM"), ["terminated by SIGTERM"]),
    "stop": (("stop",), ["terminated by SIGTERM"]),
    "hang up": (("kill", "--signal", "HUP"), ["exited with status 129 (container status: exited)"]),
    # The engine kills the container before it removes it, and either may be reported first.
    "remove": (("rm", "--force", "--volumes"), [SIGKILL, REMOVED]),
}


each_transport = pytest.mark.usefixtures("transport")  # each transport notices a death differently


@pytest.fixture
def session(start):
    return start().session(network=False)


def run_on(session, code="import time; time.sleep(100)"):
    running = session.start_code(f"print('on', flush=True)\n{code}", 100, progress="p")
    session.server.wait_for(lambda s: s.progress_of("p"))
    return running


def check_death(session, running, reasons):
    ended = running.tool()
    assert (ended.ending, ended.is_error, ended.success) == ("container_died", False, False), ended.text
    assert "on\n" in ended.stdout
    reason, = [reason for reason in reasons if reason in ended.text]
    after = session.code("1")
    assert after.is_error and after.fields["error"] == f"CONTAINER_DIED: {reason}"
    for word in ("stop_session", "create_session", "memory exhausted?"):
        assert word in after.hint
    assert [(known["session_id"], known["status"]) for known in after.active_sessions] == [(session.id, "dead")]
    assert session.shell("true").fields["error"] == after.fields["error"]
    assert session.stop().success is True
    assert session.code("1").is_error
    return ended


@each_transport
@pytest.mark.parametrize("how", DEATHS)
def test_a_death_is_reported_with_its_cause(session, how):
    command, reasons = DEATHS[how]
    running = run_on(session)
    harness.docker(*command, session.container)
    check_death(session, running, reasons)


@each_transport
@pytest.mark.parametrize("how", DEATHS)
def test_a_death_between_two_calls_is_reported(session, how):
    command, reasons = DEATHS[how]
    session.code("1").ok()
    harness.docker(*command, session.container)
    harness.wait_until(lambda: session.container not in harness.docker("ps", "--all", "--format", "{{.Names}}").split())
    after = session.code("1")
    if not after.is_error:  # the call was faster than the engine's event
        assert after.ending == "container_died"
        after = session.code("1")
    assert after.is_error and after.fields["error"] in [f"CONTAINER_DIED: {reason}" for reason in reasons]


def test_memory_that_no_process_holds_ends_the_session_with_that_cause(start):
    """The cause is reported whether the machine's kernel kills PID 1 or PID 1 finds no room for a new interpreter."""
    session = start(CONTAINER_MEMORY_LIMIT="640m", CONTAINER_TMPFS_SIZE="100m").session(network=False)
    for _ in range(10):
        filling = session.start_shell(SHARED_MEMORY, 20)
        after = session.code("import time; time.sleep(100)", 20)
        if after.is_error:
            break
        assert after.ending in ("oom", "kernel_died", "container_died", "timeout"), after.text
        filling.tool()
    assert after.text.startswith("CONTAINER_DIED: ") and ("memory limit was reached" in after.text or OOM in after.text), after.text
    assert "create_session" in after.hint
    assert session.stop().success is True


# Each process is small, and makes itself as unlikely to be killed as it can.
HORDE = r"""python3 -c '
import os
for i in range(60):
    if os.fork() == 0:
        try:
            open("/proc/self/oom_score_adj", "w").write("0")
        except OSError:
            pass
        kept = []
        while True:
            kept.append(bytearray(65536))
for i in range(60):
    os.wait()
'"""


# evidence: pid1-oom
def test_many_small_writers_do_not_get_pid_1_killed(start):
    session = start(CONTAINER_MEMORY_LIMIT="640m", CONTAINER_TMPFS_SIZE="100m", CONTAINER_PIDS_LIMIT="200").session(network=False)
    container = session.container
    after = session.shell(HORDE, 60)
    assert not after.is_error and "memory limit was reached" in after.text, after.text
    assert session.code("6 * 7", 30).ok().value == "42" and session.container == container
