"""`husk serve` under load: requests at full rate, a thousand readers of one session, and the whole description."""

import contextlib
import pathlib
import re
import resource
import subprocess
import sys

import api_description
import debian_packages
import harness
import pytest
from serving import Serving

sys.path.append(str(harness.ROOT / "bench"))

import serve as bench_serve  # noqa: E402

pytestmark = pytest.mark.timeout(1800)
READERS = 1000
SECONDS = 10
LINES = 100
# Far below what a quiet machine reaches, which the figures show.
RATE = 2000
# Sends a cell and checks that the answer has its value. Each thread has its own session, whose id is an argument.
RUN = """
function init(args)
  path = "/v1/sessions/" .. args[2] .. "/runs"
  body = '{"text": "1 + 1"}'
  headers = { ["Authorization"] = "Bearer " .. args[1], ["Content-Type"] = "application/json", ["Prefer"] = "wait=30" }
end
function request() return wrk.format("POST", path, headers, body) end
function response(status, headers, body)
  if status ~= 200 or not body:find('"text/plain":"2"', 1, true) then print("wrong answer", status, body) end
end
"""
GET = """
function init(args) headers = { ["Authorization"] = "Bearer " .. args[1] } end
function request() return wrk.format("GET", nil, headers) end
function response(status, headers, body) if status ~= 200 then print("wrong answer", status, body) end end
"""


@pytest.fixture(name="serving", scope="module")
def fixture_serving(tmp_path_factory):
    one = Serving(tmp_path_factory.mktemp("load"), CONTAINER_MAX_SESSIONS=40, CONTAINER_MAX_SESSIONS_PER_THREAD=40, SERVE_MAX_CONNECTIONS=2000,
                  SERVE_MAX_STREAMS_PER_KEY=READERS + 10)
    yield one
    one.stop()


@pytest.fixture
def figure(capsys):
    def show(text):
        with capsys.disabled():
            print(f"\nfigure: {text}")
    return show


def seconds_of(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def start_wrk(folder, script, url, *words, connections=1, seconds=SECONDS):
    unpacked = debian_packages.unpacked(harness.build_dir(), "wrk", "libluajit-5.1-2")
    program, env = debian_packages.program(unpacked, "wrk")
    file = folder / f"{connections}.lua"
    file.write_text(script)
    return subprocess.Popen([program, "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s", "--latency", "--script", file,
                             url, "--", *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read_wrk(process):
    """Answers per second, and the 50th and 99th percentile of their time in ms."""
    text, _ = process.communicate(timeout=harness.PATIENCE)
    assert process.returncode == 0 and "wrong answer" not in text and "Socket errors" not in text, text[:3000]
    rate = float(re.search(r"Requests/sec: +([\d.]+)", text).group(1))
    return rate, *(seconds_of(re.search(rf"{share}% +(\S+)", text).group(1)) * 1000 for share in (50, 99))


def test_requests_at_full_rate(serving, tmp_path, figure):
    """A fixed answer, and one that needs the key and JSON."""
    for path in ("/healthz", "/v1/me"):
        rate, p50, p99 = read_wrk(start_wrk(tmp_path, GET, serving.origin + path, serving.key, connections=64))
        figure(f"GET {path}, 64 connections: {rate:.0f} /s, p50 {p50:.2f}, p99 {p99:.2f} ms")
        assert rate > RATE


def test_cells_at_full_rate(serving, tmp_path, figure):
    """Eight sessions, each with a connection that always has one call under way."""
    sessions = [serving.create() for _ in range(8)]
    running = []
    for i, session in enumerate(sessions):
        folder = tmp_path / str(i)
        folder.mkdir()
        running.append(start_wrk(folder, RUN, serving.origin, serving.key, session))
    found = [read_wrk(process) for process in running]
    figure(f"1+1 over REST, 8 sessions: {sum(rate for rate, *_ in found):.0f} /s, p50 {max(p50 for _, p50, _ in found):.2f}, "
           f"p99 {max(p99 for *_, p99 in found):.2f} ms")
    for session in sessions:
        serving.call("DELETE", f"/v1/sessions/{session}").ok()


def memory_kb(serving):
    text = pathlib.Path(f"/proc/{serving.process.pid}/status").read_text(encoding="ascii")
    return int(text.split("VmRSS:")[1].split()[0])


@contextlib.contextmanager
def many_files():
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(old[0], 2 * READERS), old[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, old)


def test_a_thousand_readers(serving, tmp_path, figure):
    """Each reader gets every event in order, and another session runs cells meanwhile."""
    session, other = serving.create(), serving.create()
    serving.run(other, "1 + 1")
    with many_files():
        before = memory_kb(serving)
        readers = [bench_serve.Events(("127.0.0.1", serving.port), serving.key, f"/v1/sessions/{session}/events?after=now") for _ in range(READERS)]
        idle = (memory_kb(serving) - before) / READERS
        calm = read_wrk(start_wrk(tmp_path, RUN, serving.origin, serving.key, other, seconds=5))
        code = f"import time\nfor i in range({LINES}): print(i, flush=True); time.sleep(0.05)"
        beside = start_wrk(tmp_path, RUN, serving.origin, serving.key, other, seconds=5)
        started = serving.call("POST", f"/v1/sessions/{session}/runs", {"text": code, "timeout": 60}).ok()
        bench_serve.read_all(readers)
        busy = read_wrk(beside)
        outputs = {reader.output() for reader in readers}
        for reader in readers:
            reader.close()
    assert outputs == {"".join(f"{i}\n" for i in range(LINES))}
    assert serving.call("GET", started.fields["location"]).ok().json["ending"] == "ok"
    figure(f"{READERS} readers of events: {idle:.1f} KiB each while idle; 1+1 beside them p50 {calm[1]:.2f}, p99 {calm[2]:.2f} ms, "
           f"and while each gets 20 lines a second p50 {busy[1]:.2f}, p99 {busy[2]:.2f} ms")
    assert idle < 16
    assert busy[1] < max(50, 20 * calm[1])  # other programs may keep the machine busy
    harness.wait_until(lambda: "husk_http_streams 0" in serving.call("GET", "/metrics").body.decode(), what="the end of the streams")


# --- the description ---------------------------------------------------------------------------------------------------

PHASES = ("--phases", "examples,coverage,fuzzing,stateful")
# The answers of ports are those of a program, for any method, and packages start an installer each time.
OTHERS = "addPackages|usePort|joinPort"
# They remove what all requests use: the session, or the key.
REMOVING = "stopSession|deleteThread|removeKey"


def test_all_answers_match_the_description(serving, tmp_path):
    session = serving.create()
    serving.run(session, "1 + 1")
    api_description.run(serving, tmp_path, *PHASES, "--max-examples", "60", "--exclude-operation-id-regex", f"{OTHERS}|{REMOVING}|createSession",
                        session=session, patience=1200)
    assert serving.run(session, "2 + 2")["ending"] in ("ok", "error")
    serving.call("DELETE", f"/v1/sessions/{session}")


def test_all_answers_match_the_description_without_a_session(serving, tmp_path):
    api_description.run(serving, tmp_path, *PHASES, "--max-examples", "20", "--exclude-operation-id-regex", f"{OTHERS}|removeKey|createSession",
                        patience=1200)


def test_sessions_and_keys_are_made_and_removed_as_described(serving, tmp_path):
    """With names that are not those of the requests' own key."""
    api_description.run(serving, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "10", "--include-operation-id-regex", "createSession|removeKey",
                        patience=600)
    for session in serving.call("GET", "/v1/sessions?all=true").ok().json["sessions"]:
        serving.call("DELETE", f"/v1/sessions/{session['id']}").ok()
