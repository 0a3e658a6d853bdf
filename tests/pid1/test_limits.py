"""At the process limit (read from the box's own cgroup files) every run works or soon fails with the reason."""
import time

import frames


def test_a_command_at_the_process_limit_is_refused(box, client):
    box.set_processes(511)
    began = time.monotonic()
    reply = client.terminal("echo never")
    assert reply.ending == "refused" and "process limit (512)" in reply.detail and time.monotonic() - began < 5
    assert client.execute("print('cells run')").ending == "ok"
    number = client.start(frames.TERMINAL, "echo at last")
    client.ping()
    box.set_processes(20)
    assert client.finish(number).out == b"at last\n"


def test_interrupt_while_a_shell_waits_for_room(box, client):
    box.set_processes(511)
    number = client.start(frames.TERMINAL, "echo never")
    client.send(frames.INTERRUPT, number)
    assert client.finish(number).ending == "interrupted"
    box.set_processes(20)
    assert client.terminal("echo next").out == b"next\n"


BOMB = "print('go', flush=True)\nwhile True: time.sleep(10)"


# evidence: container-bombs
def test_a_bomb_that_survives_its_interrupt_restarts_the_kernel(box, client):
    number = client.start(frames.EXECUTE, BOMB)
    client.expect(lambda f: f.type == frames.OUT)
    box.set_processes(510)
    client.send(frames.INTERRUPT, number)
    end = client.expect(lambda f: f.type == frames.END).payload
    assert end["ending"] == "interrupted" and end["kernel"] == "restarted" and "process limit is reached" in end["detail"]
    next_call = client.start(frames.EXECUTE, "print('back')")
    client.ping()
    box.set_processes(20)
    assert client.finish(next_call).out == b"back\n"


def test_short_lived_workers_do_not_restart_the_kernel(box, client):
    number = client.start(frames.EXECUTE, "x = 1\n" + BOMB)
    client.expect(lambda f: f.type == frames.OUT)
    box.set_processes(510)
    client.send(frames.INTERRUPT, number)
    client.ping()
    box.set_processes(20)
    end = client.expect(lambda f: f.type == frames.END).payload
    assert end["ending"] == "interrupted" and end["kernel"] == "kept"
    assert client.execute("print(x)").out == b"1\n"


def test_no_room_for_a_new_kernel_ends_every_process_then_the_session(box, client):
    client.terminal("setsid sleep 1000 &")
    box.set_processes(512)
    began = time.monotonic()
    assert client.execute("os._exit(1)").ending == "kernel_died"
    waiting = client.start(frames.EXECUTE, "pass")
    event = client.event("ending")
    assert event["cause"] == "kernel_failed" and "process limit (512)" in event["detail"]
    assert client.finish(waiting).end["kernel"] == "gone"
    assert box.wait() == 70 and time.monotonic() - began < 10


def test_ending_every_process_makes_room_for_a_kernel(box, client):
    client.terminal("setsid sleep 1000 & until pgrep -x sleep >/dev/null; do :; done")
    box.set_processes(512)
    client.execute("os._exit(1)")
    waiting = client.start(frames.EXECUTE, "print('back')")
    watcher = box.enter(65531, "/bin/sh", "-c", "while pgrep -x sleep >/dev/null; do :; done")
    assert watcher.wait(10) == 0
    box.set_processes(5)
    reply = client.finish(waiting)
    assert reply.out == b"back\n" and reply.end["kernel"] == "restarted"
    assert "process limit (512)" in reply.detail and "background processes" in reply.detail
    later = client.terminal("echo jobs")
    assert later.ending == "ok" and "background processes are gone" in later.detail
    assert client.terminal("echo jobs").detail == ""


KILLER = "import os, signal\nwhile True:\n  for p in filter(str.isdigit, os.listdir('/proc')):\n    try:\n" \
    "      if b'/opt/husk/kernel.py' in open(f'/proc/{p}/cmdline', 'rb').read(): os.kill(int(p), 9)\n" \
    "    except OSError: pass\n"


def test_a_process_that_keeps_killing_kernels_is_ended(box, client):
    box.write_file("killer.py", KILLER)
    client.terminal("setsid /usr/bin/python3 /workspace/killer.py > /dev/null 2>&1 &")
    client.event("kernel_died")
    reply = client.execute("print('at last')")
    while reply.ending == "kernel_died":  # the killer may be quick enough to hit a cell
        reply = client.execute("print('at last')")
    assert reply.ending == "ok" and b"at last" in reply.out
    assert client.terminal("pgrep -f killer.py").end["exit_code"] == 1
