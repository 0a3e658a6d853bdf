"""The status of a session, as PID 1 reports it, and which variables it names when their kernel ends."""

import json

import frames
import pytest

X = {"name": "x", "type": "int", "shape": "2 x 3", "bytes": 5}


def test_a_look_reports_variables_memory_and_disks(client):
    client.execute("x = 1")
    info = client.status()
    assert (info["kernel"], info["variables"], info["more"], info["fresh"]) == ("ready", [X], 0, True)
    assert info["memory"] > 0 and info["memory_limit"] > 0 and info["landlock"] >= 0
    assert {disk["path"] for disk in info["disks"]} >= {"/workspace", "/tmp"}
    assert all(0 <= disk["used"] <= disk["size"] for disk in info["disks"])
    client.execute("y = 'new'")
    assert [v["name"] for v in client.status()["variables"]] == ["x", "y"]


def test_a_busy_kernel_gets_no_look(client):
    client.execute("x = 1")
    client.status()
    number = client.start(frames.EXECUTE, "y = 1\nprint('on', flush=True)\ntime.sleep(1000)")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    info = client.status()
    assert (info["kernel"], info["variables"], info["fresh"]) == ("busy", [X], False)
    client.send(frames.INTERRUPT, number)
    client.finish(number)
    assert client.status()["fresh"] is True


def test_a_kernel_that_does_not_answer_delays_no_other(client):
    client.execute("look = lambda: time.sleep(1000)")
    assert "variables" not in client.status()


def test_a_hostile_list_is_bounded(client):
    client.execute("bad = [5, {}, {'name': 5, 'type': 'a'}, {'name': 'n'}, {'name': 'x' * 100000, 'type': 'a'}, {'name': 'a', 'type': 'b', 'bytes': -1, 'shape': [], 'more': 1}]\n"
                   "look = lambda: {'variables': bad, 'more': -5}")
    info = client.status()
    assert info["variables"] == [{"name": "a", "type": "b"}] and info["more"] == 5
    client.execute("many = [{'name': '\\1' * 120, 'type': '\\1' * 120} for i in range(1000)]\nlook = lambda: {'variables': many, 'more': 7}")
    info = client.status()
    assert len(json.dumps(info)) < 65536 and len(info["variables"]) + info["more"] == 1007
    assert len(info["variables"][0]["name"]) == 100


@pytest.mark.parametrize("sent", ["op='variables', id=99, variables=[]", "op='variables', id=link.id, variables=[]", "op='variables', id=1"])
def test_unrequested_variables_end_the_kernel(client, sent):
    reply = client.execute(f"link.send({sent})\ntime.sleep(1000)")
    assert reply.ending == "kernel_died" and "variables" in reply.detail, reply.end


def test_an_unexpected_end_names_the_lost_variables(client):
    client.execute("x = 1")
    client.status()
    reply = client.execute("y = 1\nos._exit(3)")
    assert reply.end["lost"] == [{"name": "x", "type": "int"}], "what was known: y came too late"
    assert "lost" not in client.execute("1").end, "told once"


def test_lost_variables_are_known_without_a_look(client):
    client.execute("x = 1")
    assert client.execute("os._exit(3)").end["lost"] == [{"name": "x", "type": "int"}]


def test_a_death_between_two_cells_is_reported_with_the_next(client):
    client.execute("x = 1\nimport threading\ndef end():\n    while not os.path.exists('/workspace/go'): time.sleep(0.01)\n    os._exit(3)\n"
                   "threading.Thread(target=end).start()")
    names = {v["name"] for v in client.status()["variables"]}
    client.terminal("touch /workspace/go")
    client.event("kernel_died")
    reply = client.execute("print('x' in globals())")
    assert reply.end["kernel"] == "restarted" and {v["name"] for v in reply.end["lost"]} == names >= {"x"}


@pytest.mark.parametrize("code", ["", "print('x' in globals())"])
def test_a_restart_is_done_on_request(box, client, code):
    client.execute("x = 1\nopen('/workspace/kept', 'w').close()")
    reply = client.execute(code, restart=True)
    assert (reply.ending, reply.end["kernel"], reply.end["lost"]) == ("ok", "restarted", [{"name": "x", "type": "int"}])
    assert "as requested" in reply.detail and reply.out == (b"False\n" if code else b"")
    reply = client.execute("print(os.path.exists('/workspace/kept'), 'x' in globals())")
    assert reply.out == b"True False\n" and reply.end["kernel"] == "kept" and "lost" not in reply.end


# evidence: restart-names
def test_a_restart_names_the_daemons_that_keep_running(client):
    odd = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'a\\n\\xc3\\xa9'); print(1, flush=True); time.sleep(1000)"
    code = "import subprocess\ndaemon = subprocess.Popen(['/bin/sleep', '1000'], start_new_session=True)\nchild = subprocess.Popen(['/bin/sleep', '1000'])\n" \
        f"odd = subprocess.Popen(['/usr/bin/python3', '-c', {odd!r}], start_new_session=True, stdout=subprocess.PIPE)\n" \
        "odd.stdout.readline()\nprint(daemon.pid, odd.pid)"
    daemon, odd = client.execute(code).out.decode().split()
    number = client.start(frames.TERMINAL, "echo on; sleep 1000")
    client.expect(lambda f: f.call == number and f.type == frames.OUT)
    reply = client.execute("", restart=True)
    assert reply.detail.count("pid") == 2 and f"sleep (pid {daemon})" in reply.detail and f"a\\n?? (pid {odd})" in reply.detail, "not the child, nor the command"
    assert reply.detail.isascii() and reply.detail.isprintable()
    client.send(frames.INTERRUPT, number)
    client.finish(number)
    client.terminal(f"kill -9 {daemon} {odd}; while [ -e /proc/{daemon} ] || [ -e /proc/{odd} ]; do sleep 0.01; done")
    assert "pid" not in client.execute("", restart=True).detail


def test_a_restart_does_not_wait_for_a_silent_kernel(client):
    client.execute("x = 1\nlook = lambda: time.sleep(1000)")
    reply = client.execute("print('new')", restart=True)
    assert reply.out == b"new\n" and reply.end["kernel"] == "restarted" and "lost" not in reply.end


def test_a_restart_ends_the_running_cell_and_runs_first(client):
    first = client.start(frames.EXECUTE, "x = 1\nprint('on', flush=True)\ntime.sleep(1000)")
    client.expect(lambda f: f.call == first and f.type == frames.OUT)
    second = client.start(frames.EXECUTE, "print('x' in globals(), 'y' in globals())")
    third = client.start(frames.EXECUTE, "y = 1", restart=True)
    assert client.finish(first).ending == "interrupted"
    assert client.finish(third).end["kernel"] == "restarted"
    assert client.finish(second).out == b"False True\n"
