"""Which processes may control PID 1, what survives a broken stream, and when PID 1 ends by itself."""
import contextlib
import os
import signal
import struct
import subprocess
import time

import box as box_module
import frames
import pytest

pytestmark = pytest.mark.each_stream


def test_hello(box):
    client = box.attach()
    hello = client.greeting
    assert hello["version"] == 4 and hello["runtime"] == "fake" and hello["last_call"] == 0 and "session" not in hello
    assert hello["lease_seconds"] == 300 and "lifetime_left_seconds" not in hello
    again = box.attach()
    assert again.greeting["kernel"] == "ready" and again.greeting["language_version"] == "fake 1.0"


def test_hello_reports_lifetime_and_lease(make_box):
    hello = make_box("--lifetime", "100", "--lease", "50").attach().greeting
    assert 95 <= hello["lifetime_left_seconds"] <= 100 and hello["lease_seconds"] == 50


@pytest.mark.parametrize("version, low, chosen", [(4, 3, 4), (3, 2, 3), (6, 1, 4), (6, 5, 0), (2, 1, 0)])
def test_the_version_is_negotiated(box, version, low, chosen):
    client = box.attach(hello=False)
    if chosen:
        assert client.hello(version=version, min_version=low)["version"] == chosen
    else:
        client.send(frames.HELLO, 0, {"version": version, "min_version": low, "fence": 1})
        client.wait_closed()


# evidence: control-user
def test_processes_of_the_session_cannot_attach(box, client):
    process = box.attach_process(uid=65532)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 1 and out == b"" and b"only the manager's user" in err
    # The socket itself rejects processes of the session too, not only attach.
    reply = client.terminal("/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); "
                            "s.connect(\"\\0husk-control\"); print(s.recv(1))'")
    assert reply.out == b"b''\n"


# evidence: control-user
def test_attach_rejects_a_listener_that_is_not_pid_1(box, client):
    assert client.execute("pass").ending == "ok"
    squatter = subprocess.run(
        ["unshare", "--net", "/usr/bin/python3", "-c",
         "import socket, subprocess, sys; s = socket.socket(socket.AF_UNIX); s.bind('\\0husk-control'); s.listen();"
         "p = subprocess.run(['setpriv', '--reuid', '65531', '--clear-groups', sys.argv[1], 'attach'], capture_output=True);"
         "print(p.returncode, p.stderr)", os.environ.get("HUSK_CLIENT_COPY", "/proc/%d/root/opt/husk/husk-client" % box.pid)],
        capture_output=True, timeout=20)
    assert b"1 b'husk-client attach: refused: the listener is not PID 1" in squatter.stdout, squatter


# evidence: control-user
def test_a_lower_epoch_is_rejected_and_a_higher_one_takes_over(box):
    first = box.attach(fence=5)
    low = box.attach(hello=False)
    low.send(frames.HELLO, 0, {"version": 4, "min_version": 3, "fence": 4})
    assert low.read_frame() == frames.Frame(frames.EVENT, 0, {"event": "fenced", "fence": 5})
    low.wait_closed()
    assert first.ping() == b"ping"
    same = box.attach(fence=5)
    first.wait_closed()
    higher = box.attach(fence=6)
    same.wait_closed()
    assert higher.execute("print(1)").out == b"1\n"


# evidence: input-bounds
@pytest.mark.parametrize("data", [
    struct.pack(">IBI", 0, 99, 0), struct.pack(">IBI", 1 << 30, frames.EXECUTE, 1), struct.pack(">IBI", 65, frames.PING, 0),
    struct.pack(">IBI", 2, frames.EXECUTE, 1) + b"[]", struct.pack(">IBI", 3, frames.TERMINAL, 1) + b"{\"a",
    struct.pack(">IBI", 2, frames.EXECUTE, 0) + b"{}", struct.pack(">IBI", 2, frames.HELLO, 0) + b"{}",
    struct.pack(">IBI", 0, frames.OUT, 1),
])
def test_malformed_frames_end_only_the_stream(box, client, data):
    client.send_bytes(data)
    client.wait_closed()
    assert box.attach().execute("print('alive')").out == b"alive\n"


def test_replay_after_a_broken_stream(box, client):
    done = client.start(frames.EXECUTE, "print('kept'); link.display({'text/plain': 'd'}); link.result('r')")
    client.finish(done, ack=False)
    acked = client.execute("print('forgotten')")
    running = client.start(frames.EXECUTE, "print('before', flush=True)\nwhile not os.path.exists('/workspace/go'): "
                           "time.sleep(0.01)\nprint('after')")
    queued = client.start(frames.EXECUTE, "print('queued')")
    client.expect(lambda f: f.call == running and f.type == frames.OUT)
    client.process.kill()
    client.process.wait()

    again = box.attach()
    assert again.greeting["last_call"] == queued and again.greeting["kernel"] == "busy"
    for number, state in ((done, "ended"), (running, "running"), (queued, "queued")):
        assert again.expect(lambda f: f.type == frames.CALL).payload == {"kind": "execute", "state": state, "told": 0}, number
    replayed = again.finish(done)
    assert replayed.out == b"kept\n" and len(replayed.displays) == 1 and len(replayed.results) == 1
    box.write_file("go")
    assert again.finish(running).out == b"before\nafter\n"
    assert again.finish(queued).out == b"queued\n"
    third = box.attach()
    assert third.ping() == b"ping" and not third.waiting
    assert acked.ending == "ok"


def test_a_replay_names_the_starter_of_a_run(box, client):
    client.number += 1
    client.send(frames.EXECUTE, client.number, {"code": "pass", "timeout_ms": 5000, "by": "rest", "detached": True})
    client.finish(client.number, ack=False)
    client.number += 1
    client.send(frames.EXECUTE, client.number, {"code": "pass", "timeout_ms": 5000, "by": "x" * 65})
    client.finish(client.number, ack=False)
    again = box.attach()
    calls = [again.expect(lambda f: f.type == frames.CALL).payload for _ in range(2)]
    assert (calls[0]["by"], calls[0]["detached"]) == ("rest", True)
    assert "by" not in calls[1] and "detached" not in calls[1]


def test_a_known_run_number_is_not_run_again(client):
    payload = {"code": "print('once')", "timeout_ms": 5000}
    client.number += 1
    client.send(frames.EXECUTE, client.number, payload)
    client.send(frames.EXECUTE, client.number, payload)
    client.finish(client.number)
    client.send(frames.EXECUTE, client.number, payload)
    assert client.execute("print('next')").out == b"next\n"
    assert not client.waiting


def test_too_many_runs_are_refused(client):
    first = client.start(frames.EXECUTE, "time.sleep(30)")
    rest = [client.start(frames.EXECUTE, "pass #" + "x" * 7_000_000) for _ in range(6)]
    for number in rest[4:]:
        assert client.finish(number).ending == "refused"
    client.send(frames.INTERRUPT, first)
    assert client.finish(first).ending == "interrupted"
    for number in rest[:4]:
        assert client.finish(number).ending == "ok"


def test_a_controller_that_does_not_read_can_be_replaced(box, client):
    """The controller's runs continue, PID 1 stays small, and the next controller gets all output."""
    numbers = [client.start(frames.EXECUTE, "sys.stdout.write('x' * 3000000)", limit=4000000) for _ in range(5)]
    os.set_blocking(client.write_fd, False)
    with contextlib.suppress(BlockingIOError):  # PID 1 stops reading from a controller that does not read
        for _ in range(2000):
            client.send(frames.PING, 0, b"p" * 64)
    other = box.attach(fence=1)
    for number in numbers:
        reply = other.finish(number)
        assert reply.ending == "ok" and len(reply.out) + len(reply.out_tail) == 3000000
    status = open(f"/proc/{box.pid}/status").read()
    peak = int(status.split("VmHWM:")[1].split()[0])
    assert peak < 64 << 10


def test_ping_while_a_large_reply_waits(client):
    number = client.start(frames.EXECUTE, "link.display({'image/png': 'A' * (11 << 20)})")
    client.send(frames.PING, 0, b"x")
    client.expect(lambda f: f.type == frames.PONG)
    assert len(client.finish(number).displays[0]["data"]["image/png"]) == 11 << 20


# evidence: timeouts
@pytest.mark.alone
def test_stop(box, client):
    client.start(frames.EXECUTE, "time.sleep(50)")
    began = time.monotonic()
    client.send(frames.STOP)
    assert box.wait() == 0 and time.monotonic() - began < 1


# evidence: pid1-guard
@pytest.mark.alone
def test_only_signals_from_outside_end_pid_1(box, client):
    reply = client.terminal("kill -TERM 1; kill -KILL 1; kill -TERM -1; echo alive")
    assert client.terminal("echo alive").out == b"alive\n", reply.err
    # A signal sent by the owner of a descriptor has no sender pid.
    client.terminal("/usr/bin/python3 -c 'import fcntl, os, signal, socket\n"
                    "a, b = socket.socketpair()\n"
                    "fcntl.fcntl(a, fcntl.F_SETOWN, 1); fcntl.fcntl(a, 10, signal.SIGTERM)\n"
                    "fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC); b.send(b\"x\")'")
    assert client.terminal("echo alive").out == b"alive\n"
    began = time.monotonic()
    os.kill(box.pid, signal.SIGTERM)
    assert box.wait() == 128 + signal.SIGTERM and time.monotonic() - began < 1


def test_a_kernel_that_cannot_start_is_reported(box, client):
    box.write_file("die-at-start")
    reply = client.execute("os._exit(0)")
    assert reply.ending == "kernel_died"
    waiting = client.start(frames.EXECUTE, "pass")
    event = client.event("ending")
    assert event["cause"] == "kernel_failed" and "told to die" in event["detail"]
    reply = client.finish(waiting)
    assert reply.ending == "kernel_died" and reply.end["kernel"] == "gone" and "status 9" in reply.detail
    assert box.wait() == 70


def test_a_kernel_that_starts_after_failures_works(box, client):
    box.write_file("die-at-start")
    client.terminal("sleep 1000 & (setsid sh -c 'while [ -e /workspace/die-at-start ]; do sleep 0.02; done') & "
                    "setsid sleep 2000 &")
    assert client.execute("os._exit(0)").ending == "kernel_died"
    number = client.start(frames.EXECUTE, "print('back')")
    client.terminal("rm /workspace/die-at-start")
    reply = client.finish(number)
    assert reply.out.endswith(b"back\n") and reply.ending == "ok"


def test_a_kernel_that_never_says_hello_times_out(make_box):
    box = make_box("--start-ms", "700")
    client = box.attach()
    box.write_file("silent-at-start")
    job = client.terminal("setsid sleep 1000 &")
    assert job.ending == "ok"
    client.execute("os._exit(0)")
    number = client.start(frames.EXECUTE, "print('back')")
    box_events = client.start(frames.TERMINAL, "while pgrep -x sleep; do sleep 0.01; done; rm /workspace/silent-at-start")
    end = client.finish(box_events).end
    reply = client.finish(number)
    if end["ending"] == "ok":
        assert reply.ending == "ok"
    else:
        # kill(-1) killed the command too, and the result says so.
        assert end["signal"] == 9 and "ended to make room" in end["detail"]
        assert reply.end["kernel"] == "gone"


# evidence: kernel-link
@pytest.mark.parametrize("who", ["stranger", "thief"])
def test_only_the_kernel_completes_the_handshake(make_box, who):
    """A wrong token is rejected, and so is the right one from a process other than the kernel."""
    box = make_box(manifest={"link": "tcp:8765"})
    client = box.attach()
    box.write_file(who)
    client.execute("os._exit(0)")
    assert client.execute("print('in')").out == b"in\n"
    assert box.attach().greeting["language_version"] == "fake 1.0"


# evidence: kernel-link
def test_no_token_in_any_environment(make_box):
    for link, variables in (("unix", ["HUSK_LINK", "HUSK_TAKEN_FD"]), ("tcp:8765", ["HUSK_LINK", "HUSK_TAKEN_FD", "HUSK_TOKEN_FD"])):
        client = make_box(manifest={"link": link}).attach()
        reply = client.execute("print(sorted(n for n in os.environ if n.startswith('HUSK')), os.environ['HUSK_LINK'])")
        assert reply.out.decode() == f"{variables} {'fd:15' if link == 'unix' else 'tcp:127.0.0.1:8765'}\n"


def test_a_kernel_that_does_not_begin_with_hello_is_ended(box, client):
    box.write_file("garbage-at-start")
    client.start(frames.EXECUTE, "os._exit(0)")
    ending = client.event("ending")
    assert ending["cause"] == "kernel_failed" and "something other than a hello" in ending["detail"]


def test_a_wrong_link_version_is_reported(make_box):
    box = make_box(env={"FAKE": "2"})
    client = box.attach(hello=False)
    client.hello()
    assert "another version" in client.event("ending")["detail"]
    assert box.wait() == 70


def test_tcp_link(make_box):
    box = make_box(manifest={"link": "tcp:8765"})
    client = box.attach()
    assert client.execute("print(link.socket.getpeername()[1])").out == b"8765\n"
    client.execute("os._exit(0)")
    assert client.execute("print('again')").out == b"again\n"


def test_a_broken_manifest_is_reported(make_box):
    box = make_box(manifest={"link": "carrier pigeon"})
    assert box.wait() == 111 and "carrier pigeon" in box.read_log()


def test_many_connections_do_not_keep_the_manager_out(box, client):
    """Code of the session can connect to the control socket any number of times."""
    client.terminal("for i in $(seq 20); do /usr/bin/python3 -c 'import socket\n"
                    "while True:\n"
                    "  try: socket.socket(socket.AF_UNIX).connect(\"\\0husk-control\")\n"
                    "  except OSError: pass' & done")
    began = time.monotonic()
    other = box.attach(fence=2)
    assert other.ping() == b"ping" and time.monotonic() - began < 5
    other.send(frames.STOP)
    assert box.wait() == 0


def test_usage():
    def run(*argv):
        return subprocess.run([box_module.client_path(), *argv], capture_output=True, text=True)
    assert run("--version").stdout.startswith("husk-client ")
    assert "  attach " in run("--help").stdout and "--grace-ms" in run("init", "--help").stdout
    for verb in ("attach", "wait"):
        assert run(verb, "--help").stdout.startswith(f"usage: husk-client {verb} ")
    for argv in ([], ["sing"], ["init", "--lease", "0"], ["init", "--lease", "x"], ["init", "more"], ["init", "--what"], ["attach", "more"],
                 ["attach", "--what"], ["wait", "more"], ["init", "--pids", "x"], ["init", "--file-size", "-1"]):
        assert run(*argv).returncode == 100, argv
