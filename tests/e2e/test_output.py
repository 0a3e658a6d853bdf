"""Live output, floods, stalled readers, pictures and rich displays are bounded and in order, and cuts are reported."""

import json
import pathlib
import re
import subprocess
import threading
import time

import harness
import pytest


def resident_kb(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


# --- progress


@pytest.mark.usefixtures("transport")
def test_live_output_is_sent_as_progress(own_session):
    server = own_session.server
    cell = own_session.start_code("import time\nfor i in range(30): print('step', i, flush=True); time.sleep(0.1)", progress="tok-1")
    server.wait_for(lambda s: len(s.progress_of("tok-1")) >= 3)
    assert not cell.done
    cell.tool().ok()
    progress = server.progress_of("tok-1")
    numbers = [p["progress"] for p in progress]
    assert all(a < b for a, b in zip(numbers, numbers[1:]))
    assert len(progress) <= 8  # the first, and two per second for three seconds
    assert any("step" in p["message"] for p in progress)


def test_progress_is_sent_separately_and_before_the_answer(own_session):
    server = own_session.server
    for i in range(20):
        own_session.start_code("print('x' * 10, flush=True)", progress=f"glue-{i}").tool().ok()
    ids = {}
    for position, message in enumerate(server.messages):
        if isinstance(message, dict) and message.get("method") == "notifications/progress":
            ids.setdefault(message["params"]["progressToken"], []).append(position)
    assert not ids  # the run was too short for progress messages


def test_without_a_token_there_is_no_progress(own_session):
    own_session.code("import time\nfor i in range(12): print(i, flush=True); time.sleep(0.1)").ok()
    assert own_session.server.notifications == []


def test_a_silent_cell_sends_progress(own_session):
    server = own_session.server
    cell = own_session.start_code("import time; time.sleep(7)", progress=7)
    server.wait_for(lambda s: s.progress_of(7))
    assert not cell.done
    cell.tool().ok()


# --- floods


# evidence: output-clean
@pytest.mark.alone
@pytest.mark.usefixtures("transport")
def test_a_flood_uses_little_server_cpu(own_session):
    server = own_session.server
    own_session.code("1").ok()
    before = resident_kb(server)
    cell = own_session.start_code("import time\nend, n, line = time.time() + 4, 0, 'x' * 99\n"
                                  "while time.time() < end or n < 110_000:\n    print(line); n += 1", 60, progress="flood")
    pings = []
    while not cell.done:
        ping = server.request("ping", era="2025-11-25")
        ping.result()
        pings.append(ping.took)
        time.sleep(0.02)  # a client's pace, not a second flood
    ended = cell.tool().ok()
    assert ended.stdout_truncated and ended.stdout_bytes > 10_000_000
    assert resident_kb(server) - before < 4096
    pings.sort()
    assert pings[int(len(pings) * 0.95)] < 0.020
    periods = max(1, cell.took / 10)  # number of periods of ten seconds
    assert sum(len(line) for line, _, _ in server.lines if b"notifications/progress" in line) < 100_000 * periods
    assert len(server.progress_of("flood")) <= 25 * periods


def test_a_client_that_stops_reading_stalls_only_itself(start, tmp_path):
    """A raw client, since the harness always reads: 60 answers of 50 KB wait in the server, which stays small and
    continues when they are read.
    """
    env = harness.clean_env(tmp_path, HUSK_THREAD_ID="stalled")
    process = subprocess.Popen([harness.husk_binary(), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=tmp_path)
    try:
        calls = [{"jsonrpc": "2.0", "id": i, "method": "tools/list", "params": {"_meta": harness.modern_meta()}} for i in range(5000)]
        feeder = threading.Thread(target=lambda: process.stdin.write(b"".join(json.dumps(c).encode() + b"\n" for c in calls)))
        feeder.start()
        harness.wait_until(lambda: stalled(process.pid), what="the server waits for its reader")
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        assert int(status.split("VmRSS:")[1].split()[0]) < 40_000
        assert start().ping() < 2
        answered = [json.loads(process.stdout.readline())["id"] for _ in calls]
        assert answered == list(range(5000))
        feeder.join()
    finally:
        process.kill()
        process.wait()


def stalled(pid):
    """True once the process uses no more CPU: it waits."""
    def ticks():
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    before = ticks()
    time.sleep(0.3)
    return ticks() == before


def test_a_ten_megabyte_line(session):
    ended = session.code("print('z' * 10_000_000)").ok()
    assert ended.stdout_bytes == 10_000_001 and ended.stdout_truncated
    assert len(ended.text) < 20_001 and "10000001" in ended.text


def test_cuts_never_split_a_character(session):
    ended = session.code("print('→🎈' * 200_000)").ok()
    assert ended.stdout_truncated and "\ufffd" not in ended.text


def test_both_streams_are_read_at_once(start):
    session = start(MCP_STRUCTURED_CONTENT="on").session(network=False)
    ended = session.code("import sys\nfor i in range(20000): print('o', i); print('e', i, file=sys.stderr)").ok()
    whole = ended.raw["structuredContent"]  # only this has the complete texts
    assert whole["stdout"].endswith("o 19999\n") and whole["stderr"].endswith("e 19999\n")
    assert len(ended.text) < 20_001


def test_background_jobs_are_shown_at_the_next_call(own_session):
    own_session.shell("(while [ ! -e go ]; do sleep 0.05; done; echo from the job; touch done) &").ok()
    own_session.code("import os, time\nopen('go', 'w').close()\nwhile not os.path.exists('done'): time.sleep(0.02)").ok()
    assert "from the job\n" in own_session.shell("echo now").ok().stdout


# --- pictures


def test_pictures_stay_within_the_clients_limits(session):
    ended = session.code("import numpy as np, matplotlib.pyplot as plt\n"
                         "plt.figure(figsize=(30, 20))\nplt.imshow(np.random.default_rng(0).random((900, 1200, 3)))", 120).ok()
    (kind, data), = ended.images
    assert kind in ("image/png", "image/jpeg") and len(data) <= 750_000
    assert len(ended.raw["content"][1]["data"]) < 1_000_000


def test_the_number_of_pictures_is_bounded_and_the_rest_is_counted(session):
    ended = session.code("import matplotlib.pyplot as plt\nfor i in range(15): plt.figure(figsize=(1, 1)); plt.plot([i])", 60).ok()
    assert 1 <= len(ended.images) <= 8
    assert "pictures were left out" in ended.text


def test_the_last_pictures_are_kept(session):
    """The last of many pictures are kept in their places; a loop that clears its output leaves the last one."""
    ended = session.code("import matplotlib.pyplot as plt\nfor i in range(10):\n    print('plot', i); plt.plot([i]); plt.show()", 60).ok()
    assert len(ended.images) == 8 and "plot 1\n⟦picture left out⟧\nplot 2\n⟦picture 1⟧" in ended.text
    assert ended.text.index("plot 9\n⟦picture 8⟧") < ended.text.index("⟦note⟧ 2 pictures were left out")
    ended = session.code("from IPython.display import clear_output\nfor i in range(12):\n    clear_output(wait=True)\n"
                         "    plt.plot([i]); plt.show()\n", 60).ok()
    assert len(ended.images) == 1 and ended.text == "⟦picture 1⟧"


def test_pictures_between_texts(start):
    session = start(MCP_CONTENT="interleaved").session(network=False)
    code = "import matplotlib.pyplot as plt\nprint('one'); plt.plot([1]); plt.show(); print('two')"
    blocks = session.code(code, 60).ok().raw["content"]
    assert [block["type"] for block in blocks] == ["text", "image", "text"]
    assert (blocks[0]["text"], blocks[2]["text"]) == ("one\n⟦picture 1⟧", "two")


def test_invalid_pictures_are_not_sent(session):
    """Half a PNG, and one with data after its end."""
    ended = session.code("import io\nfrom PIL import Image\nfrom IPython.display import display\n"
                         "out = io.BytesIO(); Image.new('RGB', (30, 20)).save(out, 'PNG'); png = out.getvalue()\n"
                         "for data in (png[:-20], png + b'more'): display({'image/png': data}, raw=True)").ok()
    assert ended.images == [] and "2 images were left out: not a whole, valid PNG" in ended.text


def test_the_full_text_of_a_run_is_a_resource(session):
    ended = session.code("for i in range(9000): print('line', i)").ok()
    uri = re.search(r"husk://run/\w+/\d+", ended.text)[0]
    read = session.server.request("resources/read", {"uri": uri}).result()["contents"][0]
    assert read["uri"] == uri and read["text"] == "".join(f"line {i}\n" for i in range(9000))
    for missing in (uri + "0000", "husk://run/nothing/1", "husk://run/" + "a" * 26 + "/1"):
        assert "not found" in session.server.request("resources/read", {"uri": missing}).error()["message"]
    large = session.code("print('x' * 3_000_000)").ok()
    error = session.server.request("resources/read", {"uri": re.search(r"husk://run/\w+/\d+", large.text)[0]}).error()
    assert "3000001 bytes" in error["message"] and "~/.husk/runs" in error["message"]


# evidence: output-clean
def test_an_answer_stays_under_a_megabyte(session):
    ended = session.code("import os, base64\nfrom IPython.display import display, Image\n"
                         "import struct, zlib\n"
                         "def big_png(n):\n"
                         "    raw = b''.join(b'\\0' + os.urandom(n * 3) for _ in range(n))\n"
                         "    chunk = lambda t, d: struct.pack('>I', len(d)) + t + d + struct.pack('>I', zlib.crc32(t + d))\n"
                         "    return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', n, n, 8, 2, 0, 0, 0))\n"
                         "            + chunk(b'IDAT', zlib.compress(raw, 0)) + chunk(b'IEND', b''))\n"
                         "for _ in range(4): display(Image(big_png(400)))", 60).ok()
    line = next(line for line, method, _ in reversed(session.server.lines) if method == "tools/call")
    assert len(line) < 1_100_000
    assert "⟦picture 1⟧" in ended.text and "pictures were left out" in ended.text


# --- rich displays


def test_rich_displays_in_order(session):
    ended = session.code(
        "from IPython.display import display, HTML, SVG, Latex, Markdown, JSON\n"
        "display(HTML('<i>h</i>'))\n"
        "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))\n"
        "display(Latex('$x$'))\ndisplay(Markdown('**m**'))\ndisplay(JSON({'a': 1}))").ok()
    assert [d["type"] for d in ended.display_outputs] == ["text/html", "image/svg+xml", "text/latex", "text/markdown", "application/json"]
    assert ended.display_outputs[0]["data"] == "<i>h</i>"


def test_an_update_replaces_its_display(session):
    ended = session.code("from IPython.display import display, HTML\n"
                         "h = display(HTML('one'), display_id=True)\ndisplay(HTML('two'))\nh.update(HTML('three'))").ok()
    assert [d["data"] for d in ended.display_outputs] == ["three", "two"]


def test_large_html_does_not_flood_the_text(session):
    ended = session.code("class Chart:\n    def _repr_html_(self): return '<div>' + 'h' * 3_000_000 + '</div>'\nChart()").ok()
    assert len(ended.text) < 2000 and "text/html" in ended.text
