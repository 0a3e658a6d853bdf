"""Cells: their output and endings, and what a hostile kernel can do."""
import time

import frames
import pytest


def test_output_and_result_keep_their_order(client):
    reply = client.execute("print('one'); link.display({'text/plain': 'd'}); print('two'); link.result('3')")
    kinds = [f.type for f in reply.frames]
    # Text printed before a display comes before it. Text printed right after it may overtake it.
    assert reply.frames[0].type == frames.OUT and reply.frames[0].payload.startswith(b"one\n")
    assert [k for k in kinds if k != frames.OUT] == [frames.DISPLAY, frames.RESULT, frames.END]
    assert kinds.index(frames.RESULT) > max(i for i, k in enumerate(kinds) if k == frames.OUT)
    assert reply.out == b"one\ntwo\n"
    assert reply.ending == "ok" and reply.end["kernel"] == "kept"
    assert reply.end["stdout_bytes"] == 8
    assert reply.results[0]["data"] == {"text/plain": "3"}


def test_error_keeps_state(client):
    client.execute("x = 41")
    reply = client.execute("1/0")
    assert reply.ending == "error" and reply.errors[0]["type"] == "ZeroDivisionError"
    assert client.execute("print(x + 1)").out == b"42\n"


def test_exit_code_of_a_cell_that_raises_system_exit(client):
    reply = client.execute("link.send(op='error', id=link.id, type='SystemExit', exit_code=3)")
    assert reply.ending == "error" and reply.end["exit_code"] == 3 and reply.end["kernel"] == "kept"
    assert "exit_code" not in client.execute("1/0").end


def test_cells_run_in_order_and_beside_the_terminal(client):
    slow = client.start(frames.EXECUTE, "sys.stdout.write('go'); sys.stdout.flush(); time.sleep(30)")
    client.expect(lambda f: f.call == slow and f.type == frames.OUT)
    queued = client.start(frames.EXECUTE, "print('second')")
    assert client.terminal("echo beside").out == b"beside\n"
    client.send(frames.INTERRUPT, slow)
    assert client.finish(slow).ending == "interrupted"
    assert client.finish(queued).out == b"second\n"


def test_timeout_interrupts_and_keeps_variables(client):
    reply = client.execute("x = 5\nprint('partial', flush=True)\nwhile True: pass", timeout_ms=300)
    assert reply.ending == "timeout" and reply.end["kernel"] == "kept"
    assert reply.out == b"partial\n" and reply.errors[0]["type"] == "KeyboardInterrupt"
    assert client.execute("print(x)").out == b"5\n"


def test_timeout_reaches_children_of_the_cell(client):
    reply = client.execute("os.system('sleep 50')\nraise KeyboardInterrupt", timeout_ms=300)
    assert reply.ending == "timeout" and reply.end["kernel"] == "kept"


def test_stopped_kernel_is_woken_to_be_interrupted(client):
    reply = client.execute("os.kill(os.getpid(), signal.SIGSTOP); time.sleep(50)", timeout_ms=300)
    assert reply.ending == "timeout" and reply.end["kernel"] == "kept"


def test_interrupt_of_a_queued_run_removes_it(client):
    slow = client.start(frames.EXECUTE, "time.sleep(30)")
    queued = client.start(frames.EXECUTE, "open('/workspace/ran', 'w')")
    client.send(frames.INTERRUPT, queued)
    assert client.finish(queued).ending == "interrupted"
    client.send(frames.INTERRUPT, slow)
    client.finish(slow)
    assert client.terminal("test -e /workspace/ran").end["exit_code"] == 1


SWALLOW = """
open('/workspace/kept', 'w').write('file')
import threading
while True:
    try:
        while True: time.sleep(0.01)
    except KeyboardInterrupt:
        print('swallowed', flush=True)
"""


def test_swallowed_interrupts_restart_the_kernel(client):
    client.execute("x = 5")
    began = time.monotonic()
    reply = client.execute(SWALLOW, timeout_ms=200)
    assert time.monotonic() - began < 6
    assert reply.ending == "timeout" and reply.end["kernel"] == "restarted" and reply.end["signal"] == 9
    assert reply.out == b"swallowed\n" * 2, "one interrupt, and one more a second later"
    assert "ariables are gone" in reply.detail and "files are kept" in reply.detail
    after = client.execute("print('x' in globals(), open('/workspace/kept').read())")
    assert after.out == b"False file\n" and after.ending == "ok"


@pytest.mark.parametrize("code, field, value, words", [
    ("print('last', flush=True); os._exit(3)", "exit_code", 3, "exited with status 3"),
    ("sys.exit(4)", "exit_code", 4, "exited with status 4"),
    ("os.abort()", "signal", 6, "signal 6"),
    ("os.kill(os.getpid(), 11)", "signal", 11, "Segmentation fault"),
    ("os.kill(os.getpid(), 9)", "signal", 9, "was killed by signal 9"),
])
def test_death_of_the_kernel_ends_the_cell(client, code, field, value, words):
    reply = client.execute(code)
    assert reply.ending == "kernel_died" and reply.end[field] == value
    assert words in reply.detail and "while it ran the cell" in reply.detail and reply.end["kernel"] == "restarted"
    assert client.execute("print('alive')").out == b"alive\n"


@pytest.mark.parametrize("link", ["unix", "tcp:8765"])
def test_a_cell_that_a_dying_kernel_has_not_read_runs_on_the_new_one(make_box, link):
    client = make_box(manifest={"link": link}).attach()
    pid = int(client.execute("x = 1; print(os.getpid())").out)
    client.terminal(f"kill -STOP {pid}")
    number = client.start(frames.EXECUTE, "print(message['env'], 'x' in globals())", env={"A": "b"})
    client.terminal(f"kill -KILL {pid}")
    reply = client.finish(number)
    assert reply.ending == "ok" and reply.out == b"{'A': 'b'} False\n", reply.frames
    assert reply.end["kernel"] == "restarted" and "Before this run the kernel was killed by signal 9" in reply.detail


def test_messages_sent_before_death_arrive(client):
    reply = client.execute("print('a', flush=True); link.display({'text/plain': 'd'}); print('b', flush=True); os._exit(0)")
    assert reply.ending == "kernel_died" and reply.out == b"a\nb\n" and len(reply.displays) == 1


def test_death_after_done_is_reported_with_the_next_run(client):
    assert client.execute("link.done(); os._exit(0)").ending == "ok"
    assert client.event("kernel_died")["cause"] == "exited with status 0"
    reply = client.execute("print('new')")
    assert reply.ending == "ok" and reply.end["kernel"] == "restarted"
    assert "exited with status 0" in reply.detail and "ariables are gone" in reply.detail
    assert client.execute("pass").end["kernel"] == "kept"


def test_oom_of_the_kernel_is_reported(box, client):
    number = client.start(frames.EXECUTE, "print('go', flush=True); time.sleep(30)")
    client.expect(lambda f: f.type == frames.OUT)
    box.set_oom_kills(1)
    kernel = box.enter(65532, "/bin/sh", "-c", "pkill -9 -x python3")
    assert kernel.wait() == 0
    end = client.expect(lambda f: f.type == frames.END and f.call == number).payload
    assert end["ending"] == "oom" and end["signal"] == 9 and end["oom_kills"] == 1 and end["kernel"] == "restarted"
    assert end["memory_limit"] == 2 << 30 and end["memory_files"] == 30 << 20 and "2048 MiB" in end["detail"]
    assert client.execute("pass").ending == "ok"


def test_oom_of_a_child_is_reported(box, client):
    number = client.start(frames.EXECUTE, "print('go', flush=True); sys.stdin.read(); print(os.path.exists('/workspace/x'))\n"
                          "while not os.path.exists('/workspace/x'): time.sleep(0.01)")
    client.expect(lambda f: f.type == frames.OUT)
    box.set_oom_kills(2)
    box.write_file("x")
    end = client.expect(lambda f: f.type == frames.END and f.call == number).payload
    assert end["ending"] == "ok" and end["oom_kills"] == 2 and "2 processes" in end["detail"]


# evidence: hostile-kernel
@pytest.mark.parametrize("code, words", [
    ("link.raw(b'\\x00\\x00\\x00\\x05hello')", "not a JSON object"),
    ("link.raw(b'\\x40\\x00\\x00\\x00' + b'x' * 100000)", "forbidden length"),
    ("link.raw(b'\\x00\\x00\\x00\\x00')", "forbidden length"),
    ("link.send(op='done', id=link.id); link.send(op='done', id=link.id)", None),
    ("link.send(op='done', id=99)", "another cell"),
    ("link.send(op='sing', id=link.id)", "unknown message"),
    ("link.result('a'); link.result('b')", "second result"),
    ("link.error('a'); link.error('b')", "second result or error"),
    ("link.send(op='error', id=link.id, type='SystemExit', exit_code=256)", "malformed error"),
    ("link.send(op='hello', token='0' * 32, version=1, language_version='x')", "hello twice"),
    ("link.send(op='display', id=link.id)", "without data"),
    ("d = b'{\"op\":\"done\",\"id\":1,\"id\":1}'; link.raw(len(d).to_bytes(4, 'big') + d)", "not a JSON object"),
    ("d = b'{\"op\":\"done\",\"x\":\"\\xff\"}'; link.raw(len(d).to_bytes(4, 'big') + d)", "not a JSON object"),
])
def test_a_kernel_that_breaks_the_protocol_is_ended(client, code, words):
    reply = client.execute(code + "\ntime.sleep(30)")
    if words:
        assert reply.ending == "kernel_died" and words in reply.detail and reply.end["kernel"] == "restarted"
    else:
        # The first `done` ended the cell; the second ended the kernel.
        assert reply.ending == "ok" and "no cell was running" in client.event("kernel_died")["cause"]
    assert client.execute("print('alive')").out == b"alive\n"


# evidence: cell-ids
def test_a_thread_cannot_guess_the_id_of_the_next_cell(client):
    """A thread that guessed the id could end the cell. A wrong guess ends the kernel."""
    client.execute("import threading\nbegun = threading.Event()\nguess = link.id + 1\n"
                   "def forge():\n"
                   "    begun.wait()\n"
                   "    link.send(op='result', id=guess, data={'text/plain': 'forged'})\n"
                   "    link.send(op='done', id=guess)\n"
                   "threading.Thread(target=forge, daemon=True).start()")
    reply = client.execute("begun.set()\ntime.sleep(30)")
    assert reply.ending == "kernel_died" and "another cell" in reply.detail and not reply.results
    ids = [int(client.execute("print(message['id'])").out) for _ in range(5)]
    assert len(set(ids)) == 5 and max(ids) < 1 << 53 and max(ids) > 1 << 40, "random"


@pytest.mark.parametrize("code", [
    "link.display({'text/plain': 5})", "link.display({'nonsense': 'x'})", "link.display({'text/' + 'x' * 200: 'x'})",
    "link.display({'application/json': eval('[' * 190 + ']' * 190)}) or link.display({f'a/{i}': '' for i in range(40)})",
    "deep = b'[' * 300; link.raw(len(deep).to_bytes(4, 'big') + deep)",
    "n = 6000000; link.raw((n*2).to_bytes(4, 'big') + b'[,' * n)",
])
def test_an_oversized_display_is_dropped_and_counted(client, code):
    client.execute("x = 1")
    reply = client.execute(code)
    assert reply.ending == "ok" and reply.end["displays_dropped"] == 1 and reply.end["kernel"] == "kept"
    assert client.execute("print(x)").out == b"1\n"


# evidence: hostile-kernel
def test_a_gigabyte_on_the_link_is_bounded(box, client):
    reply = client.execute("n = 11 << 20\nhead = n.to_bytes(4, 'big')\ntry:\n  for i in range(100): link.raw(head + b' ' * n)\n"
                           "except OSError: pass  # a kernel that exits by itself has another ending\ntime.sleep(30)")
    assert reply.ending == "kernel_died" and "not a JSON object" in reply.detail
    assert rss_kib(box.pid) < 40 << 10


def rss_kib(pid):
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))


def test_a_closed_link_ends_the_kernel(client):
    reply = client.execute("for fd in range(10):\n  try: os.close(fd)\n  except OSError: pass\ntime.sleep(30)")
    assert reply.ending == "kernel_died" and "closed its link" in reply.detail
    assert client.execute("print('alive')").out == b"alive\n"


def test_a_forked_child_that_ends_changes_nothing(client):
    reply = client.execute("pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0); print('parent')")
    assert reply.ending == "ok" and reply.out == b"parent\n"


def test_displays_are_bounded_and_counted(client):
    reply = client.execute("for i in range(120): link.display({'text/plain': str(i)})")
    assert len(reply.displays) == 100 and reply.end["displays_dropped"] == 20
    reply = client.execute("for i in range(5): link.display({'text/plain': 'A' * (10 << 20)})")
    assert len(reply.displays) == 2 and reply.end["displays_dropped"] == 3


@pytest.mark.parametrize("count, size, kept", [(120, 300, 100), (5, 10 << 20, 2)])
def test_the_last_pictures_are_kept(box, client, count, size, kept):
    number = client.start(frames.EXECUTE, f"for i in range({count}): link.display({{'image/png': 'A' * {size}, 'text/plain': str(i)}})")
    assert client.finish(number, ack=False).end["displays_dropped"] == count - kept
    again = box.attach(fence=2).finish(number)  # a replay contains the output that was kept
    assert [d["data"]["text/plain"] for d in again.displays] == [str(i) for i in range(count - kept, count)]


def test_long_output_keeps_head_and_tail(client):
    reply = client.execute("sys.stdout.write(''.join(chr(97 + i % 26) for i in range(10000)))", limit=1000)
    whole = bytes(97 + i % 26 for i in range(10000))
    assert reply.out == whole[:500] and reply.out_tail == whole[-500:] and reply.end["stdout_bytes"] == 10000
    reply = client.execute("sys.stdout.write('y' * 300 + 'z' * 700)", limit=1000)
    assert reply.out + reply.out_tail == b"y" * 300 + b"z" * 700
    reply = client.execute("sys.stderr.write('y' * 100)", limit=1000)
    assert reply.err == b"y" * 100 and reply.err_tail == b""
    reply = client.execute("print('gone')", limit=0)
    assert reply.out == reply.out_tail == b"" and reply.end["stdout_bytes"] == 5


FLOOD = "end = time.monotonic() + 1.6\nwhile time.monotonic() < end: sys.stdout.write('0123456789abcdef' * 4096)"


# evidence: hostile-kernel
def test_a_flood_costs_little_and_shows_progress(box, client):
    number = client.start(frames.EXECUTE, FLOOD, limit=100000)
    assert client.ping(b"during") == b"during"
    reply = client.finish(number)
    assert reply.ending == "ok" and reply.end["stdout_bytes"] > 10 << 20
    assert 1 <= len(reply.progress) <= 4
    totals = [p["stdout_bytes"] for p in reply.progress]
    assert totals == sorted(totals) and 0 < len(reply.progress[-1]["tail"]) <= 1024
    assert len(reply.out) == 50000 and len(reply.out_tail) == 50000
    assert rss_kib(box.pid) < 8 << 10


def test_progress_is_valid_text(client):
    number = client.start(frames.EXECUTE, "while True:\n  os.write(1, 'ä\\0'.encode() * 511 + b'\\xff'); time.sleep(0.01)",
                          limit=100)
    progress = client.expect(lambda f: f.type == frames.PROGRESS).payload
    assert "ä" in progress["tail"] and "\0" not in progress["tail"]
    client.send(frames.INTERRUPT, number)
    assert client.finish(number).ending == "interrupted"


def test_output_between_cells_comes_with_the_next(client):
    client.execute("import subprocess\n"
                   "p = subprocess.Popen(['/bin/sh', '-c', 'while [ ! -e /workspace/go ]; do sleep 0.01; done; "
                   "echo late; touch /workspace/done'])")
    client.terminal("touch /workspace/go; while [ ! -e /workspace/done ]; do sleep 0.01; done")
    reply = client.execute("print('now')")
    assert reply.out == b"late\nnow\n"


def test_much_output_between_cells_is_cut_and_counted(client):
    client.execute("import subprocess; p = subprocess.Popen(['/bin/sh', '-c', 'until [ -e /workspace/go ]; do sleep 0.01; done; '\n"
                   "                                         'head -c 100000 /dev/zero; touch /workspace/ok'])")
    client.terminal("touch /workspace/go; while [ ! -e /workspace/ok ]; do sleep 0.01; done")
    reply = client.execute("print('now')")
    assert reply.out.endswith(b"now\n") and len(reply.out) == (16 << 10) + 4
    assert f"{100000 - (16 << 10)} bytes of output" in reply.detail


def test_a_daemon_outlives_its_kernel_and_its_session_does_not(client):
    client.execute("import subprocess\n"
                   "a = subprocess.Popen(['sleep', '1111'])\n"
                   "b = subprocess.Popen(['sleep', '2222'], start_new_session=True)")
    client.execute("os._exit(1)")
    client.execute("pass")
    assert client.terminal("pgrep -f 'sleep 1111'").end["exit_code"] == 1
    assert client.terminal("pgrep -f 'sleep 2222'").end["exit_code"] == 0


def test_bad_runs_are_refused_with_a_reason(client):
    for payload, words in [({"timeout_ms": 5}, "no text"), ({"code": "a\0b"}, "NUL"), ({"code": 5}, "no text"),
                           ({"code": "#" * ((8 << 20) + 1)}, "8 MiB")]:
        client.number += 1
        client.send(frames.EXECUTE, client.number, payload)
        reply = client.finish(client.number)
        assert reply.ending == "refused" and words in reply.detail
    assert client.execute("#" * (8 << 20)).ending == "ok"


def test_the_kernel_has_the_environment_of_the_manifest(client):
    reply = client.execute("print({k: v for k, v in os.environ.items() if k.startswith(('HUSK', 'FROM'))}, os.nice(0), "
                           "os.getsid(0) == os.getpid(), os.getcwd(), open('/proc/self/oom_score_adj').read().strip(), "
                           "sorted(os.listdir('/proc/self/fd')))")
    text = reply.out.decode()
    assert "HUSK_SECRET" not in text and "KUBERNETES_" not in text and "HUSK_TOKEN" not in text and "FROM_MANIFEST" in text
    assert " 5 True /workspace 1000 ['0', '1', '14', '2', '3', '4']" in text


def test_variables_of_one_run_reach_the_kernel(client):
    assert client.execute("print(message['env'])", env={"A": "1=2", "B": ""}).out == b"{'A': '1=2', 'B': ''}\n"
    assert client.execute("print('env' in message)").out == b"False\n"
