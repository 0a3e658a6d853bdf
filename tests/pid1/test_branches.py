"""Branches of the kernel: made, run side by side, kept, dropped, and how they end."""

import os
import random
import signal
import time

import frames
import pytest

FORKS = {"env": {"FORKS": "1"}}


@pytest.fixture
def start(make_box):
    """start(*options) starts PID 1 with a kernel that can be copied, and returns (box, client)."""

    def begin(*options, mode="request"):
        box = make_box("--grace-ms", "1500", "--checkpoints", mode, *options, manifest=FORKS)
        return box, box.attach()

    return begin


@pytest.fixture
def client(start):
    return start()[1]


def branches(client):
    return {b["name"]: b for b in client.status()["branches"]}


def begin(client, code, **more):
    """Starts a cell and waits until it has printed `on`."""
    number = client.start(frames.EXECUTE, "print('on', flush=True)\n" + code, **more)
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    return number


def processes(box):
    return open(f"/proc/{box.pid}/task/{box.pid}/children").read().split()


def test_a_cell_makes_its_branch_and_says_so_once(client):
    assert client.greeting["branches"] is True
    client.execute("x = 1")
    reply = client.execute("x += 10; print(x)", branch="a")
    assert reply.ending == "ok" and reply.out == b"11\n" and reply.end["kernel"] == "kept"
    assert reply.detail == "The branch 'a' was made from the main interpreter after run 1."
    assert client.execute("print(x)").out == b"1\n"
    again = client.execute("print(x)", branch="a")
    assert again.out == b"11\n" and "detail" not in again.end
    shown = branches(client)["a"]
    assert shown["run"] == 4 and shown["runs"] == [2, 4] and shown["state"] == "ready" and shown["bytes"] > 0


def test_several_branches_are_made_at_once_or_none(client):
    client.execute("x = 1")
    answer = client.checkpoint("branch", names=["a", "b", "c"])
    assert answer["status"] == "ok" and [b["name"] for b in answer["branches"]] == ["a", "b", "c"]
    for n, name in enumerate("abc"):
        assert client.execute(f"x += {n}; print(x)", branch=name).out == b"%d\n" % (1 + n)
    refused = client.checkpoint("branch", names=["d", "a"])
    assert refused["status"] == "invalid" and "a branch 'a' already" in refused["why"]
    assert [b["name"] for b in refused["branches"]] == ["a", "b", "c"]


def test_branches_run_side_by_side_and_keep_their_output_apart(client):
    client.checkpoint("branch", names=["a", "b"])
    wait = "import os, time\nopen(f'/workspace/{me}', 'w').close()\nwhile not all(os.path.exists(f'/workspace/{n}') for n in 'mab'): time.sleep(0.01)\nprint(me)"
    numbers = [client.start(frames.EXECUTE, f"me = '{n}'\n" + wait, **({} if n == "m" else {"branch": n})) for n in "mab"]
    assert [client.finish(n).out for n in numbers] == [b"m\n", b"a\n", b"b\n"]


def test_each_branch_has_a_queue(client):
    client.checkpoint("branch", names=["a"])
    blocker = begin(client, "time.sleep(1000)", branch="a")
    later = client.start(frames.EXECUTE, "print('later')", branch="a")
    assert client.execute("print('main')").out == b"main\n"
    client.send(frames.INTERRUPT, blocker)
    assert client.finish(blocker).ending == "interrupted"
    reply = client.finish(later)
    assert reply.out == b"later\n" and reply.end["behind"] == blocker


def test_a_branch_is_made_between_the_cells_sent_before_and_after(client):
    blocker = begin(client, "x = 1; time.sleep(0.3)")
    before = client.start(frames.EXECUTE, "x = 2")
    one = client.start(frames.EXECUTE, "print(x)", branch="a")
    two = client.start(frames.EXECUTE, "print(x)", branch="b")
    after = client.start(frames.EXECUTE, "x = 3")
    client.finish(blocker), client.finish(before)
    replies = {n: client.finish(n) for n in (one, two, after)}
    assert replies[one].out == replies[two].out == b"2\n"
    assert replies[one].detail.endswith(f"after run {before}.")


def test_keeping_a_branch_makes_it_the_main_interpreter(start):
    box, client = start()
    client.execute("x = 1")
    client.checkpoint("save", name="s")
    client.checkpoint("branch", names=["a", "b"])
    client.execute("x = 'a'", branch="a")
    client.execute("x = 'main'")
    answer = client.checkpoint("keep", name="a")
    assert answer["status"] == "ok" and answer["dropped"] == ["b"] and answer["branches"] == []
    assert answer["restored"] == {"run": 2, "name": "a", "missing": [3]}
    assert answer["note"] == "Variables are those of the branch 'a'; run 3 is not in them."
    assert client.execute("print(x)").out == b"a\n"
    while len(processes(box)) > 2:  # the kernel and the checkpoint
        time.sleep(0.01)
    assert client.checkpoint("undo", name="s")["restored"]["missing"] == [2, 4]
    assert client.execute("print(x)").out == b"1\n"
    assert client.execute("os._exit(1)").end["restored"]["name"] == "s"
    assert client.execute("print(x)").out == b"1\n"


def test_a_kept_branch_does_not_recover_to_what_it_does_not_continue(start):
    client = start(mode="auto")[1]
    client.execute("x = 1; time.sleep(0.3)")
    client.checkpoint("save", name="old")
    client.checkpoint("branch", names=["a"])
    client.execute("x = 'a'", branch="a")
    client.execute("x = 'main'; time.sleep(0.3)")
    client.checkpoint("save", name="of_main")
    client.checkpoint("keep", name="a")
    client.execute("time.sleep(0.3)")
    end = client.execute("os._exit(1)").end
    assert end["restored"].get("name") != "of_main"
    assert client.execute("print(x)").out in (b"a\n", b"1\n")


@pytest.mark.parametrize("end, ending", [("os._exit(3)", "kernel_died"), ("os.kill(os.getpid(), 11)", "kernel_died")])
def test_the_death_of_a_branch_ends_only_that_branch(client, end, ending):
    client.execute("x = 1")
    client.checkpoint("branch", names=["a", "b"])
    dying = client.start(frames.EXECUTE, "time.sleep(0.2)\n" + end, branch="a")
    queued = client.start(frames.EXECUTE, "print(x)", branch="a")
    reply = client.finish(dying)
    assert reply.ending == ending and "The branch 'a' has ended with it. The main interpreter is as it was." in reply.detail
    refused = client.finish(queued)
    assert refused.ending == "refused" and "The branch 'a' ended before this run" in refused.detail
    assert list(branches(client)) == ["b"]
    assert client.execute("print(x)").out == client.execute("print(x)", branch="b").out == b"1\n"


def test_a_branch_that_died_idle_is_named_by_the_next_cell(client):
    client.execute("x = 1")
    client.execute("import threading\nthreading.Timer(0.1, os._exit, [7]).start()", branch="a")
    while branches(client):
        time.sleep(0.01)
    answer = client.checkpoint("keep", name="a")
    assert answer["status"] == "none" and "its interpreter exited with status 7" in answer["why"]
    reply = client.execute("print(x)", branch="a")
    assert reply.out == b"1\n" and reply.end["kernel"] == "restarted"
    assert reply.detail == "The branch 'a' had ended, since its interpreter exited with status 7. A new one was made from the main interpreter after run 1."


def test_the_death_of_main_leaves_the_branches(client):
    client.execute("x = 1")
    client.execute("x = 2", branch="a")
    assert client.execute("os._exit(1)").end["kernel"] == "restarted"
    assert client.execute("print(x)", branch="a").out == b"2\n"
    client.execute("", restart=True)
    assert client.checkpoint("keep", name="a")["status"] == "ok"
    assert client.execute("print(x)").out == b"2\n"


def test_a_timeout_of_a_branch_keeps_it(client):
    reply = client.execute("x = 5\nwhile True: time.sleep(0.1)", branch="a", timeout_ms=200)
    assert reply.ending == "timeout" and client.execute("print(x)", branch="a").out == b"5\n"
    reply = client.execute("signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)", branch="a", timeout_ms=100)
    assert reply.ending == "timeout" and "The branch 'a' has ended with it." in reply.detail


def test_dropping_a_branch_ends_its_cells(start):
    box, client = start()
    running = begin(client, "time.sleep(1000)", branch="a")
    queued = client.start(frames.EXECUTE, "1", branch="a")
    assert client.checkpoint("drop", name="a")["branches"] == []
    for number in (running, queued):
        reply = client.finish(number)
        assert reply.ending == "interrupted" and reply.detail.endswith("The branch 'a' was dropped.")
    while len(processes(box)) > 1:
        time.sleep(0.01)
    assert client.execute("print(1)").out == b"1\n"


def test_a_busy_branch_or_main_interpreter_is_not_kept(client):
    client.checkpoint("branch", names=["a", "b"])
    running = begin(client, "time.sleep(1000)", branch="a")
    assert client.checkpoint("keep", name="a")["why"] == "The branch 'a' is busy."
    client.send(frames.INTERRUPT, running)
    client.finish(running)
    running = begin(client, "time.sleep(1000)")
    assert client.checkpoint("keep", name="a")["why"] == "The main interpreter is busy."
    assert client.checkpoint("branch", names=["c"])["status"] == "busy"
    client.send(frames.INTERRUPT, running)
    client.finish(running)
    running = begin(client, "time.sleep(1000)", branch="b")
    assert client.checkpoint("keep", name="a")["status"] == "ok"
    reply = client.finish(running)
    assert reply.ending == "interrupted" and "The branch 'a' was kept" in reply.detail


@pytest.mark.parametrize("request_, status, why", [
    ({"action": "branch", "names": ["1a"]}, "invalid", "begins with a letter"), ({"action": "branch", "names": []}, "invalid", "needs a name"),
    ({"action": "branch", "names": ["s"]}, "invalid", "name of a checkpoint"), ({"action": "branch", "names": ["b", "b"]}, "invalid", "already"),
    ({"action": "branch", "names": [5]}, "invalid", "letter"), ({"action": "keep", "name": "s"}, "none", "undo"),
    ({"action": "keep", "name": "zz"}, "none", "no such branch"), ({"action": "keep"}, "none", "no such branch"),
    ({"action": "undo", "name": "a"}, "invalid", "'a' is a branch"), ({"action": "save", "name": "a"}, "invalid", "'a' is a branch")])
def test_a_wrong_request_is_refused_with_what_there_is(client, request_, status, why):
    client.checkpoint("save", name="s")
    client.checkpoint("branch", names=["a"])
    answer = client.checkpoint(**request_)
    assert answer["status"] == status and why in answer["why"], answer
    assert [b["name"] for b in answer["branches"]] == ["a"] and [c["name"] for c in answer["checkpoints"]] == ["s"]


def test_a_wrong_branch_of_a_cell_is_refused(client):
    client.checkpoint("save", name="s")
    for name, why in (("a b", "letters"), ("s", "name of a checkpoint"), (5, "not valid")):
        reply = client.execute("1", branch=name)
        assert reply.ending == "refused" and why in reply.detail
    reply = client.execute("1", branch="a", restart=True)
    assert reply.ending == "refused" and "cannot be restarted" in reply.detail


def test_the_ninth_branch_is_refused(client):
    assert client.checkpoint("branch", names=list("abcdefgh"))["status"] == "ok"
    assert "at most 8 branches" in client.execute("1", branch="i").detail
    assert client.checkpoint("branch", names=["i"])["status"] == "invalid"


def test_an_interpreter_that_cannot_be_copied_has_no_branches(client, make_box):
    client.execute("cannot = 'polars is loaded'")
    reply = client.execute("1", branch="a")
    assert reply.ending == "refused" and reply.detail == "The branch 'a' could not be made. polars is loaded"
    answer = client.checkpoint("branch", names=["a", "b"])
    assert answer["status"] == "cannot" and "polars" in answer["why"] and not answer["branches"]
    other = make_box().attach()
    assert "interpreters can be copied" in other.execute("1", branch="a").detail


@pytest.mark.parametrize("why", ["in_copy = lambda: time.sleep(1000)", "in_copy = lambda: os._exit(1)", "on_wake = lambda: os._exit(1)"])
def test_a_branch_that_does_not_come_is_refused(start, why):
    box, client = start()
    client.execute("x = 1; " + why)
    reply = client.execute("1", branch="a")
    assert reply.ending == "refused" and "The copy of the interpreter did not start." in reply.detail
    assert client.checkpoint("branch", names=["b", "c"])["status"] == "failed"
    assert client.execute("print(x)").out == b"1\n" and not branches(client)
    while "exit" in why and len(processes(box)) > 1:
        time.sleep(0.01)


def test_processes_killed_at_any_moment_leave_a_working_session(start):
    """The main interpreter, a copy in the making, a branch or a checkpoint."""
    box, client = start()
    numbers = random.Random(1)
    for _ in range(24):
        client.execute("x = 1")
        client.checkpoint("save", name="s")
        client.queries += 1
        client.send(frames.CHECKPOINT, client.queries, {"action": "branch", "names": ["a", "b"]})
        time.sleep(numbers.random() * 0.02)
        os.kill(int(numbers.choice(processes(box))), signal.SIGKILL)
        assert client.answer(client.queries)["status"] in ("ok", "failed", "busy")
        assert client.execute("print(7)").out == b"7\n"
        for name in branches(client):
            if client.execute("print(7)", branch=name).out == b"7\n":  # otherwise it was the one that was killed
                client.checkpoint("drop", name=name)
    client.checkpoint("drop", name="s")
    while len(processes(box)) > 1:
        time.sleep(0.01)


def test_a_new_manager_finds_the_branches_and_their_cells(start):
    box, client = start()
    client.execute("x = 1")
    running = begin(client, "time.sleep(0.5)\nprint('end')", branch="a")
    client.process.kill()
    second = box.attach(fence=2)
    call = second.expect(lambda f: f.type == frames.CALL and f.call == running).payload
    assert call["branch"] == "a"
    assert second.finish(running).out == b"on\nend\n"
    assert list(branches(second)) == ["a"]
    second.send(frames.STOP)
    assert box.wait() == 0


def test_losses_of_the_copy_are_listed_and_named_by_keep(client):
    client.execute("lacks = ['the thread worker']")
    client.execute("x = 1", branch="a")
    assert branches(client)["a"]["lost"] == ["the thread worker"]
    assert client.checkpoint("keep", name="a")["note"].endswith("Not restored: the thread worker.")
