"""Settings: their sources, the rejection of wrong values by name, and their effect inside a session."""

import json
import re
import subprocess

import pytest
from harness import clean_env, docker, husk_binary, store_rows, wait_until

BAD = {
    "CONTAINER_MEMORY_LIMIT": ["lots", "0", "1m", "-2g", "2.5g"],
    "CONTAINER_CPU_QUOTA": ["0", "-1", "half", "1.5"],
    "CONTAINER_PIDS_LIMIT": ["0", "-1", "unlimited"],
    "CONTAINER_TMPFS_SIZE": ["big", "200mb", "0"],
    "CONTAINER_ORPHAN_MIN_AGE_SECONDS": ["soon", "-1"],
    "CONTAINER_EXECUTION_TIMEOUT_SECONDS": ["0", "301", "-5", "30s"],
    "CONTAINER_MAX_SESSIONS": ["0", "none"],
    "CONTAINER_MAX_SESSIONS_PER_THREAD": ["0", "-3"],
    "CONTAINER_EXECUTE_AS_ROOT": ["true", "1", "perhaps"],
    "CONTAINER_NETWORK_ENABLED": ["sometimes", "2"],
    "CONTAINER_CA_BUNDLE": ["/nonexistent/ca.crt"],
    "CONTAINER_RUNTIME": ["run sc", "--privileged"],
    "SESSION_LEASE_SECONDS": ["0", "forever"],
    "SESSION_IDLE_TTL_SECONDS": ["x", "-1"],
    "SESSION_MAX_LIFETIME_SECONDS": ["2h", "0"],
    "SESSION_GC_INTERVAL_SECONDS": ["0"],
    "SESSION_MAX_ACTIVE_THREADS": ["ten"],
    "MAX_STDOUT_CHARS": ["-1", "all"],
    "MAX_STDERR_CHARS": ["1e5"],
    "MAX_RESULT_CHARS": ["99999999999999999999"],
    "MAX_TRACEBACK_CHARS": ["0x10"],
    "MCP_STRUCTURED_CONTENT": ["maybe"],
    "POSTGRES_PORT": ["0", "70000"],
    "HUSK_THREAD_ID": ["../up", "a b"],
    "HUSK_LOG": ["loud"],
}


def run(home, *args, cwd=None, **settings):
    """Runs `husk mcp` with an empty standard input."""
    home.mkdir(exist_ok=True)
    return subprocess.run([husk_binary(), "mcp", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=cwd,
                          env=clean_env(home, **settings), timeout=20)


@pytest.mark.parametrize("name, value", [(n, v) for n, values in BAD.items() for v in values])
def test_a_bad_setting_is_refused_by_its_name(tmp_path, name, value):
    done = run(tmp_path / "home", **{name: value})
    assert done.returncode == 64
    assert done.stdout == ""
    assert name in done.stderr and value in done.stderr or name in ("CONTAINER_EXECUTE_AS_ROOT", "HUSK_THREAD_ID")
    assert name in done.stderr
    assert len(done.stderr.splitlines()) <= 3


@pytest.mark.parametrize("folder", ["~", ".", "data", "/no/such/folder", "/etc/passwd"])
def test_a_folder_that_cannot_be_allowed_stops_the_start(tmp_path, folder):
    done = run(tmp_path / "home", "--allow", folder)
    assert (done.returncode, done.stdout) == (64, "") and "--allow" in done.stderr and folder in done.stderr, done.stderr


def test_root_is_refused_with_an_explanation(tmp_path):
    done = run(tmp_path / "home", CONTAINER_EXECUTE_AS_ROOT="true")
    assert done.returncode == 64
    assert "CONTAINER_EXECUTE_AS_ROOT" in done.stderr and "root" in done.stderr
    assert len(done.stderr) > 80  # says why
    assert run(tmp_path / "home", CONTAINER_EXECUTE_AS_ROOT="false").returncode == 0


def test_tmpfs_that_exceeds_the_memory_is_refused_by_name(tmp_path):
    done = run(tmp_path / "home", CONTAINER_MEMORY_LIMIT="512m")
    assert done.returncode == 64
    assert "CONTAINER_TMPFS_SIZE" in done.stderr and "CONTAINER_MEMORY_LIMIT" in done.stderr
    assert run(tmp_path / "home", CONTAINER_MEMORY_LIMIT="512m", CONTAINER_TMPFS_SIZE="64m").returncode == 0


def test_settings_of_the_reference_are_accepted(tmp_path):
    """Users of the reference can keep their file."""
    done = run(tmp_path / "home", CHAT_MODEL="gpt-4o", CHAT_MODEL_API_KEY="x", CONTAINER_MEMORY_LIMIT="2048m", CONTAINER_CPU_QUOTA="200000",
               STORAGE_DIR="./storage", IMPORT_ALLOWED_DIRS=f"{tmp_path},/tmp", API_BASE_URL="http://127.0.0.1:8000",
               MAX_ITERATIONS="25", POSTGRES_USER="", POSTGRES_PASSWORD="", POSTGRES_DB="", POSTGRES_HOST="", POSTGRES_PORT="",
               ENCRYPTION_KEY="")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_blank_setting_is_unset(tmp_path):
    assert run(tmp_path / "home", CONTAINER_PIDS_LIMIT="", CONTAINER_NETWORK_ENABLED="").returncode == 0


# --- where they come from


def default_timeout(server):
    tools = {t["name"]: t for t in server.request("tools/list").result()["tools"]}
    return int(re.search(r"\d+", tools["execute_code"]["inputSchema"]["properties"]["timeout"]["description"])[0])


@pytest.fixture
def usual_file(tmp_path):
    """$XDG_CONFIG_HOME/husk/.env of the server that starts with home=tmp_path / "s"."""
    path = tmp_path / "s" / "config" / "husk" / ".env"
    path.parent.mkdir(parents=True)
    return path


def test_the_usual_file(start, tmp_path, usual_file):
    usual_file.write_text("# my settings\nCONTAINER_EXECUTION_TIMEOUT_SECONDS=77\n")
    assert default_timeout(start(home=tmp_path / "s")) == 77


def test_the_environment_wins_over_the_file(start, tmp_path, usual_file):
    usual_file.write_text("CONTAINER_EXECUTION_TIMEOUT_SECONDS=77\n")
    assert default_timeout(start(home=tmp_path / "s", CONTAINER_EXECUTION_TIMEOUT_SECONDS=88)) == 88


def config(home, *args, typed="", **settings):
    home.mkdir(exist_ok=True)
    return subprocess.run([husk_binary(), "config", *args], input=typed, capture_output=True, text=True, env=clean_env(home, **settings))


def test_a_kept_setting_applies_until_it_is_unset(start, tmp_path, usual_file):
    home, name = tmp_path / "s", "CONTAINER_EXECUTION_TIMEOUT_SECONDS"
    assert config(home, "set", name, "55").returncode == 0
    with start(home=home) as server:
        assert default_timeout(server) == 55
    assert config(home, "get", name).stdout == "55\n"
    usual_file.write_text(f"{name}=77\n")  # the .env file takes precedence
    assert config(home, "get", name).stdout == "77\n"
    assert config(home, "get", name, CONTAINER_EXECUTION_TIMEOUT_SECONDS="88").stdout == "88\n"
    usual_file.unlink()
    assert config(home, "unset", name).returncode == 0
    assert config(home, "get", name).stdout == "30\n"
    again = config(home, "unset", name)
    assert again.returncode == 1 and name in again.stderr


def test_a_secret_is_read_from_standard_input_and_not_listed(tmp_path):
    home, url = tmp_path / "s", "https://me:hunter2@index.example/simple"
    refused = config(home, "set", "PIP_INDEX_URL", url)
    assert refused.returncode == 64 and "hunter2" not in refused.stderr and "standard input" in refused.stderr
    assert config(home, "set", "PIP_INDEX_URL", typed=f"{url}\n").returncode == 0
    listed = config(home, "list", "--json")
    entry = next(s for s in json.loads(listed.stdout)["settings"] if s["name"] == "PIP_INDEX_URL")
    assert entry == {"name": "PIP_INDEX_URL", "secret": True, "set": True, "from": "kept"}
    assert "hunter2" not in config(home, "list").stdout
    assert config(home, "get", "PIP_INDEX_URL").stdout == f"{url}\n"
    assert not any(b"hunter2" in path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("args, words", [
    (("set", "CONTAINER_PIDS_LIMIT", "none"), "CONTAINER_PIDS_LIMIT"),
    (("set", "CONTAINER_PIDS_LIMITS", "64"), "no setting"),
    (("set", "ENCRYPTION_KEY", "x" * 40), "cannot be stored itself"),
    (("get", "NOTHING"), "no setting"),
])
def test_invalid_settings_are_not_kept(tmp_path, args, words):
    done = config(tmp_path / "s", *args)
    assert done.returncode == 64 and words in done.stderr and "usage: husk config" in done.stderr
    assert not list(tmp_path.rglob("settings.db"))


def test_a_named_file(start, tmp_path, usual_file):
    usual_file.write_text("CONTAINER_EXECUTION_TIMEOUT_SECONDS=77\n")
    named = tmp_path / "named.env"
    named.write_text("CONTAINER_EXECUTION_TIMEOUT_SECONDS=66\n")
    assert default_timeout(start(home=tmp_path / "s", args=("mcp", "--env-file", str(named)))) == 66


def test_a_named_file_must_exist(tmp_path):
    done = run(tmp_path / "home", "--env-file", str(tmp_path / "missing.env"))
    assert done.returncode == 64 and "missing.env" in done.stderr


def test_bad_values_in_a_file_are_refused_too(tmp_path):
    named = tmp_path / "named.env"
    named.write_text("CONTAINER_PIDS_LIMIT=none\n")
    done = run(tmp_path / "home", "--env-file", str(named))
    assert done.returncode == 64 and "CONTAINER_PIDS_LIMIT" in done.stderr


def test_the_working_directory_configures_nothing(start, tmp_path):
    cwd = tmp_path / "cloned"
    (cwd / "husk").mkdir(parents=True)
    for path in (cwd / ".env", cwd / "husk" / ".env"):
        path.write_text("CONTAINER_EXECUTION_TIMEOUT_SECONDS=55\nCONTAINER_EXECUTE_AS_ROOT=true\n")
    assert default_timeout(start(cwd=cwd)) == 30
    home = tmp_path / "home"
    home.mkdir()
    (home / ".env").write_text("CONTAINER_EXECUTE_AS_ROOT=true\n")
    assert run(home, cwd=cwd, XDG_CONFIG_HOME=None).returncode == 0
    assert run(home, cwd=cwd, XDG_CONFIG_HOME=".").returncode == 0  # relative values are invalid by their specification


# --- limits, from inside


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    from harness import Server

    with Server(tmp_path_factory.mktemp("small"), CONTAINER_MEMORY_LIMIT="448m", CONTAINER_TMPFS_SIZE="64m", CONTAINER_PIDS_LIMIT="64",
                CONTAINER_CPU_QUOTA="50000") as server:
        yield server.session(network=False)


def test_small_limits_are_those_of_the_container(small):
    host = json.loads(docker("inspect", small.container))[0]["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 448 << 20
    assert (host["CpuQuota"], host["PidsLimit"]) == (50000, 64)
    assert small.shell("echo $OMP_NUM_THREADS").stdout == "1\n"


# evidence: container-limits
def test_tmpfs_is_full_at_its_size(small):
    for folder in ("/workspace", "/tmp"):
        result = small.shell(f"head -c 100000000 /dev/zero >{folder}/big; stat -c %s {folder}/big; rm {folder}/big")
        assert "No space left" in result.stderr
        assert int(result.stdout) <= 64 << 20


# evidence: container-limits
def test_processes_are_limited(small):
    result = small.code(
        "import os, signal, time\n"
        "pids = []\n"
        "try:\n"
        "    while len(pids) < 200:\n"
        "        pid = os.fork()\n"
        "        if pid == 0:\n"
        "            time.sleep(60); os._exit(0)\n"
        "        pids.append(pid)\n"
        "except OSError as e:\n"
        "    reason = e.strerror\n"
        "for p in pids: os.kill(p, signal.SIGKILL); os.waitpid(p, 0)\n"
        "len(pids), reason"
    ).ok()
    count, reason = eval(result.value)
    assert 10 < count < 64 and "unavailable" in reason


# evidence: container-limits
def test_cpu_time_is_limited(small):
    result = small.code("import time\nw = time.time()\nc = time.process_time()\n"
                        "while time.time() - w < 2: pass\ntime.process_time() - c").ok()
    assert float(result.value) < 1.5  # half a CPU for two seconds, with some slack for the scheduler


# evidence: container-limits
def test_memory_is_limited(small):
    result = small.code("x = bytearray(1 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1", 60)
    assert not result.is_error and result.success is False
    assert result.ending in ("oom", "error")
    assert result.ending == "oom" or "MemoryError" in result.text
    assert small.code("1 + 1").value == "2"


# --- MAX_*


@pytest.fixture(scope="module")
def terse(tmp_path_factory):
    from harness import Server

    with Server(tmp_path_factory.mktemp("terse"), MAX_STDOUT_CHARS="1000", MAX_STDERR_CHARS="500", MAX_RESULT_CHARS="300",
                MAX_TRACEBACK_CHARS="400", CONTAINER_EXECUTION_TIMEOUT_SECONDS="2") as server:
        yield server.session(network=False)


# The first cell of a session may take longer than the default timeout here if the machine is busy.
LONG_ENOUGH = 60
LONG = "import sys\nprint('HEAD' + 'x' * 5000 + 'TAIL', file=sys.{})"


# evidence: output-clean
@pytest.mark.parametrize("stream, limit", [("stdout", 1000), ("stderr", 500)])
def test_streams_are_cut_head_and_tail(terse, stream, limit):
    result = terse.code(LONG.format(stream), LONG_ENOUGH).ok()
    text = result.fields[stream]
    assert len(text) <= limit + 200  # plus the note about the cut
    assert text.startswith("HEAD") and text.rstrip().endswith("TAIL")
    assert result.fields[f"{stream}_truncated"] is True
    assert result.fields[f"{stream}_bytes"] == 5009
    assert "cut" in result.text


@pytest.mark.parametrize("stream, limit", [("stdout", 1000), ("stderr", 500)])
def test_the_shell_s_streams_are_cut_too(terse, stream, limit):
    to = "" if stream == "stdout" else " >&2"
    result = terse.shell(f"(printf HEAD; head -c 5000 /dev/zero | tr '\\0' x; echo TAIL){to}", LONG_ENOUGH).ok()
    text = result.fields[stream]
    assert len(text) <= limit + 200 and text.startswith("HEAD") and text.rstrip().endswith("TAIL")


def test_cutting_counts_characters_not_bytes(terse):
    result = terse.code("print('é' * 999)", LONG_ENOUGH).ok()
    assert result.stdout == "é" * 999 + "\n" and result.stdout_truncated is False
    cut = terse.code("print('é' * 3000)", LONG_ENOUGH).ok()
    assert "\ufffd" not in cut.stdout and cut.stdout_truncated is True


def test_results_are_cut(terse):
    result = terse.code("'r' * 5000", LONG_ENOUGH).ok()
    assert 200 <= len(result.value) <= 500


def test_tracebacks_are_cut(terse):
    result = terse.code("def f(n):\n    return f(n - 1) if n else 1 / 0\ndef g(n):\n    return f(3) if n else g(0)\n"
                        "def h():\n    return g(1)\n" * 1 + "h()\n# " + "long " * 50, LONG_ENOUGH)
    assert result.error["type"] == "ZeroDivisionError"
    assert len(result.error["traceback"]) <= 600
    assert result.error["traceback"].rstrip().endswith("ZeroDivisionError: division by zero")


def test_the_default_timeout_is_a_setting(terse):
    assert default_timeout(terse.server) == 2
    result = terse.code("import time; time.sleep(30)")
    assert result.ending == "timeout" and 1.8 < result.duration_ms / 1000 < 15
    assert terse.shell("sleep 30").ending == "timeout"


# --- the rest


def test_structured_content_is_sent_on_request(start):
    session = start(MCP_STRUCTURED_CONTENT="on").session(network=False)
    for result in (session.code("1 + 1"), session.shell("true")):
        assert result.raw["structuredContent"] == result.raw["_meta"]["dev.husk/result"]
    long = session.code("print('x' * 5000)").raw
    assert long["structuredContent"]["stdout"] == "x" * 5000 + "\n"
    assert "stdout" not in long["_meta"]["dev.husk/result"] and long["_meta"]["dev.husk/result"]["stdout_chars"] == 5001


def test_no_structured_content_of_runs_by_default(session):
    for result in (session.code("1 + 1"), session.shell("true")):
        assert "structuredContent" not in result.raw


def test_the_thread_id_can_be_given(start):
    server = start(HUSK_THREAD_ID="conversation-7")
    session = server.session(network=False)
    assert store_rows(server.env, "SELECT thread FROM sessions WHERE id = '" + session.id + "'") == [("conversation-7",)]
    assert server.thread_id() is None  # nothing was written


# evidence: lease
def test_a_session_ends_with_its_lifetime(start):
    server = start(SESSION_MAX_LIFETIME_SECONDS=4)
    session = server.session(network=False)
    assert session.code("1").value == "1"
    wait_until(lambda: not server.containers(), timeout=20, what="the end of the session's lifetime")
    ended = session.code("1")
    assert ended.is_error or not ended.success
    assert "lifetime" in ended.text.lower() or "CONTAINER_DIED" in ended.text, ended.text


def test_an_image_can_be_given(start, session):
    image = docker("inspect", "--format", "{{.Config.Image}}", session.container)
    docker("tag", image, "husk-test:override")
    try:
        other = start(HUSK_IMAGE_PYTHON="husk-test:override").session(network=False)
        assert docker("inspect", "--format", "{{.Config.Image}}", other.container) == "husk-test:override"
        assert other.code("2 + 2").value == "4"
    finally:
        other.stop()
        docker("rmi", "husk-test:override")


def test_a_runtime_can_be_given(start):
    """Any runtime that the engine lists works; the error for another one names the engine that lacks it."""
    runtimes = json.loads(docker("info", "--format", "{{json .Runtimes}}"))
    other = next(name for name in sorted(runtimes) if name != docker("info", "--format", "{{.DefaultRuntime}}"))
    session = start(CONTAINER_RUNTIME=other).session(network=False)
    assert docker("inspect", "--format", "{{.HostConfig.Runtime}}", session.container) == other
    assert session.code("6 * 7").ok().value == "42"
    refused = start(CONTAINER_RUNTIME="husk-nowhere").call("create_session", {"network": False})
    assert refused.is_error and "CONTAINER_RUNTIME" in refused.text and "husk doctor" in refused.text
