"""husk-jupyter between the kernel link and a misbehaving kernel (odd_kernel.py), which does what cells say."""

import json
import os
import pathlib
import sys

import pytest

from link_harness import Kernel, KernelError

HERE = pathlib.Path(__file__).resolve().parent
ADAPTER = HERE.parents[1] / os.environ.get("BUILD", "build") / "kernels" / "jupyter" / "husk-jupyter"
LOST = 70


def start(folder, *options, **spec):
    """A kernel behind the adapter. `options` are for the adapter, `spec` is added to kernel.json."""
    kernelspec, runtime = folder / "spec", folder / "runtime.json"
    kernelspec.mkdir()
    (kernelspec / "kernel.json").write_text(json.dumps({
        "argv": [sys.executable, "-B", str(HERE / "odd_kernel.py"), "{connection_file}"], "display_name": "Odd", "language": "odd", **spec}))
    runtime.write_text(json.dumps({"name": "odd", "kernel": [str(ADAPTER), "--folder", str(folder), *options, str(kernelspec)], "env": {}}))
    return Kernel(runtime, cwd=folder)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with start(tmp_path_factory.mktemp("shared")) as kernel:
        yield kernel


def words_of(outcome):
    """The log without its types: texts, and the content of messages."""
    return [what.decode() if isinstance(what, bytes) else what for _, what in outcome.log]


def test_messages_keep_the_order_of_publication(kernel):
    log = kernel.run("""
        for i in range(20):
            k.text("out"); k.text("err", "stderr"); k.display("d"); k.text("out"); k.display("e")
    """).log
    assert [kind for kind, _ in log] == ["stdout", "stderr", "display", "stdout", "display"] * 20


def test_clear_and_update_are_passed_on(kernel):
    shown = kernel.run("""
        k.text("before"); k.clear(); k.clear(wait=True); k.display("1", "id"); k.display("2", "id", update=True)
    """)
    assert [(d["data"].get("text/plain"), d.get("display_id"), d.get("update"), d.get("clear"), d.get("wait")) for d in shown.displays] == [
        (None, None, None, True, None), (None, None, None, True, True), ("1", "id", None, None, None), ("2", "id", True, None, None)]
    assert shown.log[0] == ("stdout", b"before")


def test_line_ends_and_the_byte_order_mark_are_normalised(kernel):
    kernel.run("\ufeffk.text('a')\r\nk.text(repr(k.request['code'][:20]))\r\n\r\n")
    assert kernel.outcome.stdout == "a" + repr("k.text('a')\nk.text(repr"[:20])


def test_buffers_are_carried(kernel):
    (display,) = kernel.run("k.display('x', buffers=[b'\\0\\xff', b''])").displays
    assert display["buffers"] == ["AP8=", ""]


def test_queries_become_requests_and_replies_their_answers(kernel):
    kernel.run("""
        def answer(kind, content):
            if kind == "complete":
                return {"status": "ok", "matches": [content["code"] + "c", 5], "cursor_start": 0, "cursor_end": content["cursor_pos"]}
            if kind == "inspect":
                return {"status": "ok", "found": True, "data": {"text/plain": f"help {content['detail_level']}"}, "metadata": {}}
            k.reply({"status": "invalid"}, "is_complete_reply", parent={"msg_id": "other", "msg_type": "is_complete_request"})
            return {"status": "incomplete", "indent": "  "}
    """)
    assert kernel.complete("ä.b") == ["ä.bc"]
    assert kernel.help("x", detail=1) == "help 1"
    assert kernel.wholeness("x") == ("incomplete", "  "), "the reply to another question is none to this one"
    assert kernel.run("k.text('on')").stdout == "on"


# evidence: jupyter-kernels
def test_unsigned_messages_are_ignored(kernel):
    """A process that finds the sockets does not know the key, so it can neither print text nor end a cell."""
    ended = kernel.run("""
        import json
        header = {"msg_id": "x", "msg_type": "stream", "session": "s"}
        parts = [json.dumps(p).encode() for p in (header, k.parent, {}, {"name": "stdout", "text": "forged"})]
        k.raw("iopub", parts, signature=b"0" * 64)
        k.raw("iopub", parts, signature=b"")
        k.raw("iopub", parts, signature=k.sign(parts)[:-1])
        k.raw("iopub", parts[:3])
        k.raw("shell", parts, signature=b"1" * 64, identities=k.identities)
        k.text("real")
    """)
    assert ended.stdout == "real" and "wrong signature" in ended.stderr and "forged" not in repr(ended)


# evidence: jupyter-replay
def test_a_signed_message_counts_once(kernel):
    ended = kernel.run("""
        import json
        header = {"msg_id": "x", "msg_type": "stream", "session": "s"}
        parts = [json.dumps(p).encode() for p in (header, k.parent, {}, {"name": "stdout", "text": "once"})]
        k.raw("iopub", parts)
        k.raw("iopub", parts)
        k.raw("iopub", parts, signature=k.sign(parts).upper(), buffers=[b"more"])
        k.text("real")
    """)
    assert ended.stdout == "oncereal"


@pytest.mark.parametrize("part", ["b'[]'", "b'{'", "b''", "b'{\"a\":' * 5000 + b'1' + b'}' * 5000", "b'\\xff\\xfe'"])
def test_parts_that_are_not_objects_are_left_out(kernel, part):
    ended = kernel.run(f"parts = [b'{{}}'] * 3 + [{part}]\nk.raw('iopub', parts)\nk.raw('iopub', parts, buffers=[b''] * 300)\nk.text('on')")
    assert ended.stdout == "on" and not ended.displays


def test_a_cell_ends_with_reply_and_idle(kernel):
    ended = kernel.run("""
        k.reply(); k.text("after the reply"); k.status("idle", parent={"msg_id": "other", "msg_type": "execute_request"})
        k.text(", and more"); k.mute = {"reply"}
    """)
    assert ended.stdout == "after the reply, and more"
    assert kernel.run("k.status('idle'); k.mute = {'idle'}; time.sleep(0.1); k.text('x')").result is None
    kernel.run("k.text('not the cell before')")


def test_a_lost_idle_or_reply_is_noticed(kernel):
    """A publisher whose queue is full drops messages, `idle` among them."""
    assert "more output than could be read" in kernel.run("k.mute = {'idle'}").stderr
    assert "without a reply" in kernel.run("k.mute = {'reply'}").stderr
    assert kernel.run("k.text('on')").stdout == "on"


def test_a_flood_of_messages_is_bounded(kernel):
    ended = kernel.run("for i in range(10_000): k.text(f'{i}\\n')")
    lines = ended.stdout.split()
    assert lines == sorted(lines, key=int) and ("lost" in ended.stderr or len(lines) > 1000)
    assert kernel.run("k.text('on')").stdout.endswith("on")


def test_late_output_is_marked(kernel):
    kernel.run("before = dict(k.parent)")
    ended = kernel.run("k.text('mine\\n'); k.text('late\\n', parent=before); k.display('late', parent=before); k.text('mine\\n')")
    assert ended.stdout == "mine\n[from an earlier cell]\nlate\n(a display; it is shown with those of this cell)\n[from this cell]\nmine\n"
    kernel.run("""
        parent = dict(k.parent)
        def late():
            time.sleep(0.2)
            k.text("between", parent=parent); k.display("between", parent=parent)
        threading.Thread(target=late).start()
    """)
    kernel.wait_output("between")
    assert [d["data"] for d in kernel.run("time.sleep(0.2)").displays] == [{"text/plain": "between"}]


def test_only_interactive_cells_get_input(kernel):
    ended, prompts = kernel.run_answered("k.text(k.prompt('Name? ') + k.prompt()); k.text(k.prompt('Secret', password=True))", "Bob\nB.", "s3cret")
    assert prompts == ["Name? ", "Secret"] and ended.stdout == "BobB.s3cret"
    assert kernel.run("k.text(repr((k.request['allow_stdin'], k.prompt())))").stdout == "(False, '\\x04')"
    assert "stdin is closed" in kernel.outcome.stderr
    assert kernel.run_answered("k.text(repr(k.prompt()))", "\x04")[0].stdout == "'\\x04'"


def test_an_interrupt_withdraws_a_prompt(kernel):
    kernel.begin("k.prompt('?')", interactive=True)
    assert kernel.wait_prompt() == "?"
    kernel.interrupt()
    ended = kernel.finish()
    assert ended.error["type"] == "KeyboardInterrupt" and kernel.prompt is None


def test_errors_reach_the_link_once(kernel):
    ended = kernel.run("""
        error = {"status": "error", "ename": "E", "evalue": "v", "traceback": ["one", "\\x1b[31mtwo"]}
        k.publish("error", error); k.publish("error", error); k.reply(error); k.mute = {"reply"}
    """)
    assert (ended.error["type"], ended.error["message"], ended.error["traceback"]) == ("E", "v", "one\ntwo")


def test_tcp_and_interrupt_by_message(tmp_path):
    with start(tmp_path, "--transport", "tcp", interrupt_mode="message") as kernel:
        ended = kernel.run_interrupted("k.text('go')\nwhile k.control() != 'interrupt_request': pass\nraise Interrupted")
        assert ended.error["type"] == "Interrupted"
        assert kernel.run("k.text(k.connection['transport'])").stdout == "tcp"


def test_the_connection_file_is_private_and_removed(tmp_path):
    """Only its user can read the connection file. It is removed with the kernel, which is asked to shut down."""
    with start(tmp_path) as kernel:
        (connection,) = tmp_path.glob("husk-jupyter-*/connection.json")
        assert connection.stat().st_mode & 0o777 == 0o600 and connection.parent.stat().st_mode & 0o777 == 0o700
        assert len(json.loads(connection.read_text())["key"]) == 64
        kernel.hang_up()
        assert kernel.wait_exit() == 0
    assert not list(tmp_path.glob("husk-jupyter-*"))


@pytest.mark.parametrize("code, status", [("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", -9)])
def test_the_adapter_ends_with_the_kernel(tmp_path, code, status):
    with start(tmp_path) as kernel:
        with pytest.raises(KernelError):
            kernel.run(f"k.display('shown'); k.text('last words'); time.sleep(0.2); {code}")
        assert kernel.wait_exit() == status
        assert kernel.outcome.stdout == "last words" and len(kernel.outcome.displays) == 1
    assert not list(tmp_path.glob("husk-jupyter-*"))


@pytest.mark.parametrize("wait", ["", "; time.sleep(1); k.beats = False; time.sleep(60)"])
def test_a_missing_heartbeat_ends_the_kernel(tmp_path, wait):
    """The adapter ends it between cells, and in a cell if the kernel answered heartbeats during earlier cells."""
    with start(tmp_path, "--heartbeat", "50") as kernel:
        with pytest.raises(KernelError):
            kernel.run(f"k.beats = {bool(wait)}{wait}")
            kernel.wait_output("never")
        assert kernel.wait_exit() == LOST and "heartbeat has stopped" in kernel.outcome.stderr


def test_a_single_threaded_kernel_may_miss_heartbeats_in_a_cell(tmp_path):
    """The kernel answers pings before and after a cell, which does not show that it answers them during one."""
    with start(tmp_path, "--heartbeat", "100") as kernel:
        kernel.run("k.one_thread = True")
        for _ in range(10):
            kernel.run("time.sleep(0.15)")
        assert kernel.run("time.sleep(1); k.text('there')").stdout == "there"
