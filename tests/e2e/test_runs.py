"""Runs that outlive their call: `wait`, `run`, `interrupt`. New output is delivered once, whatever happens to the
server in between.
"""

import os
import signal

import pytest
from harness import Session, children_of


@pytest.fixture
def window(start, tmp_path):
    """Starts servers that share a home, like several windows of one client, or one window that is reopened."""
    return lambda **settings: start(home=tmp_path / "home", **settings)


STEPS = "import os, time\nfor i in (1, 2, 3):\n    while not os.path.exists(f'/workspace/go{i}'): time.sleep(0.01)\n    print('step', i, flush=True)\n'end'"


def go(session, *numbers):
    """Continues the cell STEPS without a tool call, which would report its end."""
    session.server.docker("exec", session.container, "touch", *(f"/workspace/go{i}" for i in numbers))


def until_new(call, run, words):
    """Waits until the new output has these words and returns all of it. `call` is a method of a session."""
    text = ""
    while words not in text:
        result = call(run=run, wait=1)
        assert not result.is_error, result.text
        text += result.stdout
    return text


def is_running(result, run):
    assert (result.is_error, result.ending, result.success, result.run) == (False, "running", False, run), result.text
    assert f"run {run} continues" in result.text and f"{{run: {run}, wait: 60}}" in result.text
    return result


def test_a_run_continues_and_each_answer_has_the_new_output(own_session):
    s = own_session
    s.shell("touch /workspace/go1").ok()
    first = is_running(s.code(STEPS, wait=1), 2)
    assert (first.stdout or until_new(s.code, 2, "step 1")) == "step 1\n"
    go(s, 2)
    assert until_new(s.code, 2, "step 2") == "step 2\n"
    waiting = s.start_code(run=2, wait=60)
    go(s, 3)
    last = waiting.tool().ok()
    assert (last.stdout, last.value, last.run) == ("step 3\n", "'end'", 2)
    refused = s.code(run=2)
    assert refused.is_error and "run 2 has ended" in refused.text


def test_an_end_is_reported_once_by_the_next_call(own_session):
    s = own_session
    run = s.code(STEPS, wait=0).run
    reminded = s.shell("true")
    assert reminded.fields["earlier"] == [{"run": run, "kind": "cell", "ended": False}]
    assert f"earlier cell {run}: still running" in reminded.text and f"{{run: {run}}}" in reminded.text
    go(s, 1, 2)
    go(s, 3)
    told = []
    while not told:
        told = [e for e in s.shell("sleep 0.1").fields.get("earlier", []) if e["ended"]]
    assert told[0]["stdout"].endswith("step 3\n") and told[0]["ending"] == "ok" and told[0]["result"] == {"text/plain": "'end'"}
    assert "earlier" not in s.shell("true").fields
    assert s.code(run=run).is_error


def test_pictures_come_with_the_answer_that_has_them(own_session):
    s = own_session
    code = ("import matplotlib.pyplot as plt, time, os\nfrom IPython.display import display\nfig = plt.figure(); plt.plot([1, 2])\n"
            "display(fig); plt.close()\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\nplt.plot([3, 4]);")
    first = s.code(code, wait=0)
    images = list(first.images)
    while not images:
        images += s.code(run=first.run, wait=1).images
    s.shell("touch /workspace/go").ok()
    last = s.code(run=first.run, wait=60).ok()
    assert len(images) == 1 and len(last.images) == 1


def test_an_interrupt_ends_the_run_and_keeps_variables(own_session):
    s = own_session
    begun = s.code("kept = 1\nprint('begun', flush=True)\nwhile True: pass", wait=2)
    assert begun.stdout == "begun\n"
    run = begun.run
    ended = s.code(run=run, interrupt=True)
    assert (ended.ending, ended.run) == ("interrupted", run), ended.text
    assert s.code("kept").ok().value == "1"


def test_the_next_cell_queues_and_names_the_run_before_it(own_session):
    s = own_session
    first = s.code(STEPS, wait=0).run
    queued = s.code("'after'", wait=0)
    assert (queued.ending, queued.queued, queued.behind) == ("running", True, first)
    assert f"run {queued.run} is queued behind run {first}" in queued.text
    without_wait = s.code("'later'", 1)
    assert without_wait.ending == "running" and without_wait.queued, "nobody hangs behind a run that may take hours"
    go(s, 1, 2, 3)
    after = s.code(run=queued.run, wait=60).ok()
    assert after.value == "'after'" and after.behind == first and f"It had to wait for run {first}" in after.text
    told = [e for e in after.fields.get("earlier", []) if e["run"] == without_wait.run and e["ended"]]
    later = told[0]["result"] if told else s.code(run=without_wait.run, wait=60).ok().result
    assert later == {"text/plain": "'later'"}


def test_commands_leave_the_queue(own_session):
    s = own_session
    long = s.shell("until [ -e go1 ]; do sleep 0.02; done; echo went", wait=0)
    assert is_running(long, 1)
    beside = s.shell("pwd").ok()
    assert beside.stdout == "/workspace\n" and "behind" not in beside.fields
    go(s, 1)
    assert s.shell(run=long.run, wait=60).ok().stdout == "went\n"


def test_without_a_timeout_a_run_has_the_sessions_lifetime(start):
    s = start(CONTAINER_EXECUTION_TIMEOUT_SECONDS=1).session(network=False)
    run = s.code("import time\ntime.sleep(2.5)\n'long'", wait=0).run
    assert s.code(run=run, wait=60).ok().value == "'long'"
    limited = s.code("time.sleep(100)", timeout=1, wait=60)
    assert limited.ending == "timeout", limited.text
    assert s.code("time.sleep(100)").ending == "timeout"


def test_a_client_that_stops_waiting_does_not_end_the_run(own_session):
    s = own_session
    run = s.code(STEPS, wait=0).run
    waiting = s.start_code(run=run, wait=300)
    second = s.code(run=run)
    assert second.is_error and "another request waits" in second.text
    s.server.cancel(waiting)
    go(s, 1, 2, 3)
    assert s.code(run=run, wait=60).ok().stdout.endswith("step 3\n")


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("how", ["SIGKILL", "EOF"])
def test_runs_survive_the_server_and_are_reported_once(window, how):
    first = window()
    session = first.session(network=False)
    session.shell("touch /workspace/go1").ok()
    cell = session.code(STEPS, wait=1)
    assert (cell.stdout or until_new(session.code, cell.run, "step 1")) == "step 1\n"
    command = session.shell("echo begun; until [ -e go2 ]; do sleep 0.02; done; echo went", wait=1)
    assert (command.stdout or until_new(session.shell, command.run, "begun")) == "begun\n"
    waiting = session.start_code(run=cell.run, wait=60)
    session.server.ping()
    if how == "EOF":
        first.close_stdin()
    else:
        first.process.send_signal(signal.SIGKILL)
    first.process.wait(20)
    assert not waiting.done
    again = Session(window(), session.id)
    reminded = again.code(run=cell.run, wait=0)
    assert (reminded.ending, reminded.stdout) == ("running", ""), "step 1 was told by the first server"
    go(again, 2, 3)
    assert until_done(again, cell.run) == "step 2\nstep 3\n"
    told = again.shell(run=command.run)
    assert told.is_error or told.stdout == "went\n"


def until_done(session, run):
    text = ""
    while True:
        result = session.code(run=run, wait=5)
        text += result.stdout
        if result.ending != "running":
            return text


def test_a_wait_survives_a_broken_stream(own_session):
    s = own_session
    s.shell("touch /workspace/go1").ok()
    first = s.code(STEPS, wait=1)
    run = first.run
    assert (first.stdout or until_new(s.code, run, "step 1")) == "step 1\n"
    waiting = s.start_code(run=run, wait=60)
    s.server.ping()
    for pid, command in children_of(s.server.process.pid).items():
        if "attach" in command:
            os.kill(pid, signal.SIGKILL)
    go(s, 2, 3)
    assert waiting.tool().ok().stdout == "step 2\nstep 3\n"


def test_a_kernel_that_dies_during_a_wait_is_reported(own_session):
    s = own_session
    run = s.code("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1000)", wait=1)
    pid = run.stdout or until_new(s.code, run.run, "\n")
    waiting = s.start_code(run=run.run, wait=60)
    s.server.ping()
    s.shell(f"kill -9 {pid.strip()}")
    died = waiting.tool()
    assert died.ending == "kernel_died" and died.stdout == ""
    assert "earlier" not in s.code("1").ok().fields


@pytest.mark.parametrize("arguments, words", [
    ({}, "code is required"), ({"code": "1", "run": 1}, "code and run exclude each other"), ({"run": 999}, "there is no run 999"),
    ({"interrupt": True, "code": "1"}, "interrupt needs run"), ({"run": 1, "timeout": 5}, "timeout applies only to a new run"),
    ({"run": 1, "env": {"A": "1"}}, "env applies only to a new run"), ({"code": "1", "wait": 301}, "wait must be an integer from 0 to 300"),
    ({"code": "1", "timeout": 301}, "from 1 to 300"), ({"run": 0}, "run must be"), ({"code": "1", "wait": -1}, "wait must be"),
])
def test_bad_input_is_refused_by_name(session, arguments, words):
    refused = session.server.call("execute_code", {"session_id": session.id, **arguments})
    assert refused.is_error and words in refused.text, refused.text
