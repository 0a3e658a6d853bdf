"""Checkpoints of the kernel: made, kept within bounds, and used after a death or for an undo."""

import os
import time

import frames
import pytest

FORKS = {"env": {"FORKS": "1"}}


@pytest.fixture
def start(make_box):
    """start(*options) starts PID 1 with a kernel that can be copied, and returns (box, client)."""

    def begin(*options, mode="request", cgroup="v2"):
        box = make_box("--grace-ms", "1500", "--checkpoints", mode, *options, manifest=FORKS, cgroup=cgroup)
        return box, box.attach()

    return begin


@pytest.fixture
def client(start):
    return start()[1]


def wait_for(condition, seconds=20):
    """A copy is made without an event for the manager."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise TimeoutError


def kept(client):
    return client.status()["checkpoints"]


def children(box):
    return open(f"/proc/{box.pid}/task/{box.pid}/children").read().split()


@pytest.mark.parametrize("end, ending", [("os._exit(3)", "kernel_died"), ("os.kill(os.getpid(), 11)", "kernel_died"),
                                         ("link.raw(b'\\0\\0\\0\\1x'); time.sleep(99)", "kernel_died")])
def test_a_death_continues_with_the_newest_checkpoint(client, end, ending):
    assert client.greeting["checkpoints"] is True
    client.execute("x = 1")
    assert client.checkpoint("save", name="a")["run"] == 1
    client.execute("x = 2")
    client.checkpoint("save", name="b")
    client.execute("x = 3")
    reply = client.execute(end)
    assert reply.ending == ending and reply.end["kernel"] == "restored"
    assert reply.end["restored"] == {"run": 2, "name": "b", "missing": [3, 4]}
    assert reply.detail.endswith("Variables are as they were after run 2; runs 3 and 4 are not in them.")
    assert client.execute("print(x)").out == b"2\n"
    wait_for(lambda: [c["name"] for c in kept(client)] == ["a", "b"])  # it is made again


def test_a_timeout_that_kills_the_kernel_restores_it(client):
    client.execute("x = 1")
    client.checkpoint("save", name="a")
    reply = client.execute("signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)", timeout_ms=100)
    assert reply.ending == "timeout" and reply.end["restored"]["missing"] == [2]
    assert client.execute("print(x)").out == b"1\n"


def test_a_death_between_two_cells_is_reported_by_the_next(client):
    client.execute("x = 1")
    client.checkpoint("save", name="a")
    client.execute("import threading\nthreading.Timer(0.1, os._exit, [7]).start()")
    client.event("kernel_died")
    reply = client.execute("print(x)")
    assert reply.ending == "ok" and reply.out == b"1\n" and reply.end["restored"]["missing"] == [2]
    assert reply.detail.startswith("Before this run the kernel exited with status 7. Variables are as they were after run 1;")
    assert "restored" not in client.execute("1").end


def test_the_answer_names_losses_and_changed_files(client):
    client.execute("open('/workspace/old', 'w').close(); lacks = ['the thread worker', '', 5, 'x' * 300]")
    client.execute("time.sleep(0.02)")
    assert client.checkpoint("save", name="a")["lost"] == ["the thread worker", "x" * 200]
    reply = client.execute("os.mkdir('/workspace/d'); open('/workspace/d/new\\u202e', 'w').close(); os._exit(1)")
    assert reply.end["restored"]["files"] == ["d/new<U+202E>"]
    assert "Not restored: the thread worker; xxx" in reply.detail and "have changed since then: d/new<U+202E>." in reply.detail


def test_a_new_interpreter_has_no_automatic_checkpoints_but_named_ones(client):
    client.execute("x = 1")
    client.checkpoint("save", name="a")
    client.execute("", restart=True)
    assert client.execute("x").ending == "error"
    assert client.checkpoint("undo", name="a")["status"] == "ok"
    assert client.execute("print(x)").out == b"1\n"


def test_an_undo_ends_the_processes_of_the_interpreter_and_can_be_undone(start):
    box, client = start()
    client.execute("x = 1")
    client.checkpoint("save", name="one")
    client.execute("x = 2; import subprocess; child = subprocess.Popen(['sleep', '1000'])")
    client.checkpoint("save", name="two")
    answer = client.checkpoint("undo", run=1)
    assert answer["status"] == "ok" and answer["restored"] == {"run": 1, "name": "one", "missing": [2]}
    assert client.execute("print(x)").out == b"1\n"
    assert b"sleep" not in client.terminal("cat /proc/[0-9]*/comm").out
    assert client.checkpoint("undo", name="two")["restored"]["missing"] == [3]
    assert client.execute("print(x)").out == b"2\n"


@pytest.mark.parametrize("request_, status", [
    ({"action": "save", "name": n}, "invalid") for n in ("", "1a", "a b", "a/b", "é", "x" * 65)] + [
    ({"action": "save"}, "invalid"), ({"action": "fly"}, "invalid"), ({"action": "undo", "name": "b"}, "none"),
    ({"action": "undo", "run": 5}, "none"), ({"action": "drop", "name": "b"}, "none"), ({"action": "undo", "run": "1"}, "none")])
def test_a_wrong_request_is_refused_with_what_there_is(client, request_, status):
    client.execute("1")
    client.checkpoint("save", name="a")
    answer = client.checkpoint(**request_)
    assert answer["status"] == status and answer["why"] and [c["name"] for c in answer["checkpoints"]] == ["a"]


def test_the_ninth_name_is_refused_and_a_name_can_be_used_again(client):
    for name in "abcdefgh":
        client.execute("1")
        assert client.checkpoint("save", name=name)["status"] == "ok"
    assert client.checkpoint("save", name="i")["status"] == "full"
    assert client.checkpoint("save", name="a")["status"] == "ok"
    assert [c["name"] for c in kept(client)] == list("bcdefgha")
    assert client.checkpoint("drop", name="b")["status"] == "ok" and client.checkpoint("save", name="i")["status"] == "ok"


def test_a_busy_interpreter_is_not_copied(client):
    number = client.start(frames.EXECUTE, "print('on', flush=True)\ntime.sleep(1000)")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    assert client.checkpoint("save", name="a")["status"] == "busy"
    client.send(frames.INTERRUPT, number)
    client.finish(number)


@pytest.mark.parametrize("why", ["in_copy = lambda: time.sleep(1000)", "in_copy = lambda: os._exit(1)"])
def test_a_copy_that_does_not_come_is_dropped_within_two_seconds(start, why):
    box, client = start()
    client.execute("x = 1; " + why)
    begun = time.monotonic()
    assert client.checkpoint("save", name="a")["status"] == "failed"
    assert time.monotonic() - begun < 4 and kept(client) == []
    assert client.execute("print(x)").out == b"1\n"


def test_a_copy_that_hangs_when_it_is_needed_gives_way_to_an_older_one(start):
    box, client = start()
    client.execute("x = 1")
    client.checkpoint("save", name="a")
    client.execute("x = 2; on_wake = lambda: time.sleep(1000)")
    client.checkpoint("save", name="b")
    begun = time.monotonic()
    reply = client.execute("os._exit(1)")
    assert reply.end["restored"]["name"] == "a" and time.monotonic() - begun < 5
    assert client.execute("print(x)").out == b"1\n"
    wait_for(lambda: [c["name"] for c in kept(client)] == ["a"])


def test_if_no_copy_wakes_up_the_kernel_starts_anew(client):
    client.execute("x = 1; on_wake = lambda: os._exit(1)")
    client.checkpoint("save", name="a")
    reply = client.execute("os._exit(1)")
    assert reply.end["kernel"] == "restarted" and "restored" not in reply.end
    assert client.execute("x").ending == "error"


@pytest.mark.parametrize("target", [{"name": "a"}, {"run": 1}])
def test_an_undo_can_be_repeated_without_a_run_between(client, target):
    client.execute("x = [1]")
    client.checkpoint("save", name="a")
    for n in range(3):
        client.execute(f"x.append({n})")
        assert [client.checkpoint("undo", **target)["status"] for _ in range(20)] == ["ok"] * 20
        assert client.execute("print(x)").out == b"[1]\n"


def test_an_undo_that_fails_changes_nothing(client):
    client.execute("x = 1; on_wake = lambda: os._exit(1)")
    client.checkpoint("save", name="a")
    client.execute("x = 2")
    answer = client.checkpoint("undo", name="a")
    assert answer["status"] == "failed" and answer["checkpoints"] == []
    assert client.execute("print(x)").out == b"2\n"




def test_only_a_process_that_leads_its_session_is_taken(client):
    """Code in the kernel decides which process says hello. PID 1 would later kill the session of that process."""
    client.execute("x = 1\ndef in_copy():\n    if os.fork(): time.sleep(1000)\n")
    assert client.checkpoint("save", name="a")["status"] == "failed"
    assert client.execute("print(x)").out == b"1\n" and kept(client) == []


def test_why_there_is_no_checkpoint_is_said(client):
    client.execute("cannot = 'polars is loaded'")
    answer = client.checkpoint("save", name="a")
    assert (answer["status"], answer["why"]) == ("cannot", "polars is loaded")
    assert client.status()["no_checkpoints"] == "polars is loaded"


def test_checkpoints_that_are_off_or_unsupported_are_refused(start, make_box):
    assert "operator" in start(mode="off")[1].checkpoint("save", name="a")["why"]
    client = make_box().attach()
    assert client.checkpoint("save", name="a")["status"] == "cannot" and "no_checkpoints" in client.status()


def test_cells_that_took_long_are_covered_automatically_and_at_most_twice(start):
    client = start(mode="auto")[1]
    for i in range(4):
        client.execute(f"x = {i}; time.sleep(0.3)")
        wait_for(lambda i=i: [c for c in kept(client) if c["run"] == i + 1])
    assert [c["run"] for c in kept(client)] == [3, 4] and all("name" not in c for c in kept(client))
    reply = client.execute("os._exit(1)")
    assert reply.end["restored"] == {"run": 4, "missing": [5]}
    assert client.execute("print(x)").out == b"3\n"


def test_short_cells_are_covered_after_a_pause(start):
    client = start(mode="auto")[1]
    client.execute("x = 1")
    assert kept(client) == []
    wait_for(lambda: kept(client))
    assert client.execute("os._exit(1)").end["restored"]["run"] == 1


def test_automatic_checkpoints_of_an_idle_session_are_dropped(start):
    box, client = start("--checkpoints-idle-ms", "300", mode="auto")
    client.execute("x = 1; time.sleep(0.3)")
    wait_for(lambda: kept(client))
    client.checkpoint("save", name="a")
    wait_for(lambda: [c.get("name") for c in kept(client)] == ["a"])
    client.checkpoint("drop", name="a")
    wait_for(lambda: len(children(box)) == 1)


def test_the_first_cell_after_idleness_makes_a_checkpoint_first(start):
    client = start("--checkpoints-idle-ms", "300", mode="auto")[1]
    client.execute("x = 1; time.sleep(0.3)")
    wait_for(lambda: kept(client))
    wait_for(lambda: not kept(client))
    assert client.execute("os._exit(1)").end["restored"] == {"run": 1, "missing": [2]}
    assert client.execute("print(x)").out == b"1\n"


def test_copies_are_not_processes_of_the_session(start):
    """They are spared when the others are ended, and end with the session."""
    box, client = start()
    client.execute("x = 1")
    client.checkpoint("save", name="a")
    copies = children(box)
    assert len(copies) == 2
    client.send(frames.STOP)
    assert box.wait() == 0
    assert not any(os.path.exists(f"/proc/{pid}") for pid in copies)


def test_a_broken_line_and_a_new_manager_lose_no_checkpoint(start):
    box, client = start()
    client.execute("x = 1")
    client.checkpoint("save", name="a")
    client.process.kill()
    second = box.attach(fence=2)
    assert [c["name"] for c in kept(second)] == ["a"]
    assert second.execute("os._exit(1)").end["restored"]["run"] == 1


LIMIT = 80 << 20  # in cgroup/v2-small
FILL = "x = bytearray(12 << 20); x[:] = b'a' * len(x)"
CHANGE = "x[:] = b'b' * len(x)"  # from now on, the copy alone holds the old pages


def use_memory(box, percent):
    (box.cgroup / "memory.stat").write_text(f"anon {LIMIT * percent // 100}\nshmem 0\n")


def test_checkpoints_that_hold_a_quarter_of_the_memory_lose_the_oldest(start):
    box, client = start(cgroup="v2-small")
    for name in "ab":
        client.execute(FILL)
        client.checkpoint("save", name=name)
        client.execute(CHANGE)
    assert sum(c["bytes"] for c in kept(client)) > LIMIT // 4
    use_memory(box, 61)
    wait_for(lambda: [c["name"] for c in kept(client)] == ["b"])
    assert client.execute("1").detail == "The checkpoint 'a' was dropped, since checkpoints held too much memory."


def test_automatic_checkpoints_are_dropped_before_named_ones(start):
    box, client = start(mode="auto", cgroup="v2-small")
    client.execute(FILL)
    client.checkpoint("save", name="a")
    client.execute(CHANGE + "; time.sleep(0.3)")
    wait_for(lambda: [c for c in kept(client) if c["run"] == 2])
    client.execute(CHANGE.replace("b'b'", "b'c'"))
    use_memory(box, 61)
    wait_for(lambda: not [c for c in kept(client) if c["run"] == 2])
    assert "a" in [c.get("name") for c in kept(client)]


def test_a_full_container_keeps_no_automatic_checkpoint(start):
    box, client = start(mode="auto", cgroup="v2-small")
    client.execute(FILL + "; time.sleep(0.3)")
    wait_for(lambda: kept(client))
    client.execute(CHANGE)
    assert LIMIT // 100 < sum(c["bytes"] for c in kept(client)) < LIMIT // 4
    use_memory(box, 86)
    wait_for(lambda: not [c for c in kept(client) if c["run"] == 1])
