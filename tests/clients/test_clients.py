"""Husk as real clients see it: the SDKs of both eras, the Inspector's command line and Claude Code, all as published."""

import base64
import json
import pathlib
import sys

import pytest
from client_runner import AUTHORIZATION, HUSK, SERVER, ClientRunner, check_wire, era_of, thread_of
from harness import MODERN, RESULT_META

# Installing the clients does not count as a test's time. Everything that they start has a deadline anyway.
pytestmark = pytest.mark.timeout(180, func_only=True)

LEGACY = "2025-11-25"
TOOLS = ["create_session", "execute_code", "execute_terminal", "import_files", "export_files", "stop_session",
         "session_info", "checkpoint"]
PNG = b"\x89PNG\r\n\x1a\n"
# Takes some 10 ms on a quiet machine. A call that waits for the end of the cancelled cell takes far longer than this.
AT_ONCE_MS = 5000
SDK_MODES = {
    "sdk1": ("sdk1.mjs", None, LEGACY),
    "sdk2-legacy": ("sdk2.mjs", "legacy", LEGACY),
    "sdk2-auto": ("sdk2.mjs", "auto", MODERN),
    "sdk2-pinned": ("sdk2.mjs", MODERN, MODERN),
}


def texts(result):
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def fields(result):
    return result.get("structuredContent") or result["_meta"][RESULT_META]


# --- the SDKs


@pytest.fixture(scope="module", params=[*SDK_MODES, *(f"{mode}-http" for mode in SDK_MODES)])
def report(request, scripts, modules, tmp_path_factory):
    """The report of scenario.mjs for one client in one mode, over stdio or HTTP."""
    http = request.param.endswith("-http")
    script, mode, revision = SDK_MODES[request.param.removesuffix("-http")]
    runner = ClientRunner(tmp_path_factory.mktemp("sdk") / "home", modules)
    done = runner.run_node(scripts / script, SERVER, *([mode] if mode else []), http=http)
    assert done.returncode == 0, done.stderr
    assert thread_of(runner.home)
    return {**json.loads(done.stdout), "revision": revision, "http": http}


def test_sdk_negotiates(report):
    assert report["negotiated"] == {"version": report["revision"], "era": "modern" if report["revision"] == MODERN else "legacy"}
    assert report["server"]["name"] == "husk" and report["server"]["version"]
    # The newest revision has tasks, and deprecates logging.
    other = {"extensions": {"io.modelcontextprotocol/tasks": {}}} if report["revision"] == MODERN else {"logging": {}}
    assert report["capabilities"] == {"tools": {}, "resources": {"subscribe": True, "listChanged": True}, "prompts": {}, "completions": {}, **other}
    assert "create_session" in report["instructions"]


def test_sdk_lists_tools(report):
    assert [tool["name"] for tool in report["tools"]] == TOOLS
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in report["tools"])


def test_sdk_cells_share_state(report):
    assert report["created"]["isError"] is False
    assert fields(report["created"])["network"] is False
    first, second = report["cells"]
    assert fields(first)["stdout"] == "set\n" and "set" in texts(first)
    assert fields(second)["result"] == {"text/plain": "42"} and "42" in texts(second)


def test_sdk_sees_a_traceback(report):
    assert "ZeroDivisionError" in texts(report["raised"]) and "1 / 0" in texts(report["raised"])


def test_sdk_gets_a_picture(report):
    images = [block for block in report["plot"]["content"] if block["type"] == "image"]
    assert [image["mimeType"] for image in images] == ["image/png"]
    assert base64.b64decode(images[0]["data"], validate=True).startswith(PNG)
    assert "structuredContent" not in report["plot"]


def test_sdk_runs_a_command(report):
    ran = fields(report["terminal"])
    assert (ran["stdout"], ran["stderr"], ran["exit_code"]) == ("/workspace\n", "to stderr\n", 3)
    assert all(word in texts(report["terminal"]) for word in ("/workspace", "to stderr", "3"))


def test_sdk_progress_arrives_while_the_cell_runs(report):
    progress = report["progress"]
    assert progress["before"] >= 1
    assert "begun" in progress["messages"][0]["message"]
    steps = [message["progress"] for message in progress["messages"]]
    assert steps == sorted(set(steps))
    assert fields(progress["result"])["stdout"] == "begun\nended\n"


def test_sdk_runs_outlive_their_call(report):
    begun, ended = fields(report["runs"]["begun"]), fields(report["runs"]["ended"])
    assert (begun["ending"], ended["ending"], ended["run"]) == ("running", "ok", begun["run"])
    assert begun["stdout"] + ended["stdout"] == "begun\nended\n"
    # With wait: 0 the answer may come before PID 1 has begun the cell.
    assert any(word in texts(report["runs"]["begun"]) for word in ("⟦running⟧", "⟦queued⟧"))


def test_sdk_answers_prompts(report):
    asked = report["asking"]
    assert (fields(asked["cell"])["ending"], fields(asked["cell"])["prompt"]) == ("waiting", "Name? ")
    assert "⟦waiting for input⟧" in texts(asked["cell"]) and fields(asked["greeted"])["stdout"] == "hi Bob\n"
    assert fields(asked["command"])["prompt"] == "Go on?" and fields(asked["went"])["stdout"] == "Go on? yes\nyes\n"


@pytest.mark.parametrize("how", ["timeout", "abort"])
def test_sdk_cancels(report, how):
    found = report[how]
    assert {"timeout": "timed out", "abort": "abort"}[how] in found["error"]["message"]
    assert fields(found["shell"]["result"])["stdout"] == "at once\n"
    assert fields(found["cell"]["result"])["result"] == {"text/plain": "'kept'"}
    assert found["shell"]["ms"] + found["cell"]["ms"] < AT_ONCE_MS


def test_sdk_gets_no_answer_to_cancelled_calls(report):
    cancelled, tokens = set(), {}
    for entry in report["wire"]:
        message = entry["message"]
        params = message.get("params", {})
        if entry["from"] == "client":
            tokens[message.get("id")] = params.get("_meta", {}).get("progressToken")
            if message.get("method") == "notifications/cancelled":
                cancelled.add(params["requestId"])
        else:
            assert message.get("id") not in cancelled, message
            if message.get("method") == "notifications/progress":
                assert params["progressToken"] not in {tokens[id] for id in cancelled}, message
    # Over HTTP the newest revision cancels a call by closing its connection.
    assert len(cancelled) == (0 if report["http"] and report["revision"] == MODERN else 2)


TOOL_ERRORS = {
    "argument": ["code", "7"],
    "missing": ["code"],
    "timeout": ["timeout", "300", "301"],
    "session": ["nobody", "not found"],
}


@pytest.mark.parametrize("what", TOOL_ERRORS)
def test_sdk_gets_tool_errors(report, what):
    assert report["bad"][what]["isError"] is True
    assert all(word in texts(report["bad"][what]) for word in TOOL_ERRORS[what])


def test_sdk_unknown_tool_is_a_protocol_error(report):
    assert report["bad"]["tool"]["code"] == -32602


def test_sdk_stops_the_session(report):
    assert report["stopped"]["isError"] is False
    assert report["after"]["isError"] is True and "not found" in texts(report["after"])


def test_sdk_connection_is_clean(report):
    """No client swallowed an error, nothing is on stderr, and the server ends at EOF (the SDKs send SIGTERM
    after 2 s).
    """
    assert report["errors"] == [] and report["stderr"] == ""
    assert report["closeMs"] < 1900


def test_sdk_wire_follows_the_schema(report):
    sent = [entry["message"] for entry in report["wire"] if entry["from"] == "client"]
    answers = [entry["message"] for entry in report["wire"] if entry["from"] == "server"]
    check_wire(sent, [json.dumps(answer).encode() + b"\n" for answer in answers])
    results = [answer["result"] for answer in answers if "result" in answer]
    assert results and all(("resultType" in result) == (report["revision"] == MODERN) for result in results)


# --- the Python client, which sends nothing when it gives up a call


@pytest.fixture(scope="module")
def given_up(modules, python_client, tmp_path_factory):
    runner = ClientRunner(tmp_path_factory.mktemp("python") / "home", modules)
    script = pathlib.Path(__file__).parent / "python_client.py"
    done = runner.run([sys.executable, script, HUSK], PYTHONPATH=str(python_client))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_python_client_hears_of_the_run_that_it_gave_up(given_up, how):
    """The next cell is answered while the old one runs. The answer names the old run and says how to interrupt it."""
    found = given_up[how]
    assert {"timeout": "Timed out", "cancel": "cancelled"}[how] in found["error"]
    old, queued = 1, found["next"]["fields"]
    assert (queued["ending"], queued.get("queued"), queued.get("behind")) == ("running", True, old), found["next"]["text"]
    assert f"queued behind run {old}" in found["next"]["text"] and f"{{run: {old}, interrupt: true}}" in found["next"]["text"]
    assert f"Run {old} was interrupted" in found["interrupted"]["text"]
    assert found["ended"]["fields"]["result"] == {"text/plain": "'after'"}


# --- Python clients over HTTP


PYTHON_MODES = {"mcp1": LEGACY, "mcp2": MODERN, "mcp2-legacy": LEGACY, "fastmcp": MODERN}


@pytest.fixture(scope="module", params=PYTHON_MODES)
def python_report(request, modules, python_client, next_python_client, tmp_path_factory):
    """The report of python_http.py for one client."""
    runner = ClientRunner(tmp_path_factory.mktemp("python-http") / "home", modules)
    script = pathlib.Path(__file__).parent / "python_http.py"
    packages = python_client if request.param == "mcp1" else next_python_client
    done = runner.run([sys.executable, script, request.param, SERVER], http=True, PYTHONPATH=str(packages))
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "wanted": PYTHON_MODES[request.param]}


def test_python_client_runs_cells_over_http(python_report):
    assert python_report["revision"] == python_report["wanted"]
    assert python_report["tools"] == TOOLS
    first, second = python_report["cells"]
    assert fields(first)["stdout"] == "set\n" and fields(second)["result"] == {"text/plain": "42"}
    assert "ZeroDivisionError" in texts(python_report["raised"])
    images = [block for block in python_report["plot"]["content"] if block["type"] == "image"]
    assert [base64.b64decode(image["data"])[:8] for image in images] == [PNG]
    assert not python_report["stopped"].get("isError")


def test_python_client_gets_progress_over_http(python_report):
    progress = python_report["progress"]
    assert progress["before"] >= 1 and "begun" in progress["messages"][0]["message"]
    assert fields(progress["result"])["stdout"] == "begun\nended\n"


def test_python_client_gives_up_a_call_over_http(python_report):
    """The newest revision cancels the call by its disconnect. In older ones the abandoned cell runs on."""
    after = fields(python_report["after"])
    if python_report["wanted"] == MODERN:
        assert after["result"] == {"text/plain": "'after'"}
    else:
        assert after.get("result") == {"text/plain": "'after'"} or after.get("behind")


# --- tasks


def test_sdk2_drives_tasks(scripts, modules, tmp_path):
    """With the official package for the extension, a task is waited for, cancelled, and resumed on the next server."""
    runner = ClientRunner(tmp_path / "home", modules)
    done = runner.run_node(scripts / "tasks.mjs", HUSK, MCP_TASK_AFTER_SECONDS="0")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["errors"] == []
    assert (report["kind"], report["view"]["status"]) == ("task", "working")
    assert report["waited"]["status"] == "completed" and fields(report["waited"]["result"])["stdout"] == "ended\n"
    assert report["again"]["result"] == report["waited"]["result"]
    assert report["cancelled"]["status"] == "cancelled"
    assert report["resumed"]["status"] == "completed", "a cell that raised has completed"
    assert "ZeroDivisionError" in texts(report["resumed"]["result"])
    sent = [entry["message"] for entry in report["wire"] if entry["from"] == "client"]
    answers = [entry["message"] for entry in report["wire"] if entry["from"] == "server"]
    check_wire(sent, [json.dumps(answer).encode() + b"\n" for answer in answers])


# --- the Inspector's command line, which starts a server for each call


OLD, *ERAS = INSPECTORS = ("old", "legacy", "auto", "modern")


def inspector(runner, which, server, *args, **more):
    settings = [word for setting in runner.engine_settings() for word in ("-e", setting)]
    if which == OLD:
        program = runner.modules / "inspector-old" / "cli" / "build" / "cli.js"
        return runner.run_node(program, *settings, "--cli", *server, *args, **more)
    program = runner.modules / "inspector-new" / "clients" / "launcher" / "build" / "index.js"
    return runner.run_node(program, "--cli", *server, *settings, "--protocol-era", which, "--format", "json", *args, **more)


def result_of(which, done):
    found = json.loads(done.stdout)
    return found if which == OLD else found["result"]


@pytest.mark.parametrize("which", INSPECTORS)
def test_inspector_lists_tools(runner, which):
    done = inspector(runner, which, runner.tapped("server"), "--method", "tools/list")
    assert (done.returncode, done.stderr) == (0, "")
    assert [tool["name"] for tool in result_of(which, done)["tools"]] == TOOLS
    first = runner.wire("server")[0]
    assert first["method"] == ("server/discover" if which in ("auto", "modern") else "initialize")


@pytest.mark.parametrize("which", ERAS)
def test_inspector_finds_the_schemas_portable(runner, which):
    done = inspector(runner, which, [HUSK, "mcp"], "--method", "tools/list", "--strict")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("which", INSPECTORS)
def test_inspector_calls_a_tool(runner, which):
    """The client ends without stop_session, so the session waits for the next server."""
    arguments = ["--tool-arg", "network=false"] if which == OLD else ["--tool-args-json", '{"network": false}']
    done = inspector(runner, which, [HUSK, "mcp"], "--method", "tools/call", "--tool-name", "create_session", *arguments,
                     sessions_left=1)
    assert (done.returncode, done.stderr) == (0, "")
    created = result_of(which, done)
    assert not created.get("isError")
    assert created["structuredContent"]["network"] is False and created["structuredContent"]["session_id"]
    assert json.loads(texts(created)) == created["structuredContent"]
    assert thread_of(runner.home)  # otherwise no container would have been searched for


@pytest.mark.parametrize("which", INSPECTORS)
def test_inspector_shows_a_tool_error(runner, which):
    arguments = ["--tool-arg", "session_id=nobody", "code=x"]
    done = inspector(runner, which, [HUSK, "mcp"], "--method", "tools/call", "--tool-name", "execute_code", *arguments)
    assert (done.returncode == 0) == (which == OLD), done.stderr
    found = result_of(which, done)
    assert found["isError"] is True and "not found" in texts(found)


@pytest.mark.parametrize("which", ERAS)
def test_inspector_calls_a_tool_over_http(runner, which):
    program = runner.modules / "inspector-new" / "clients" / "launcher" / "build" / "index.js"
    command = [runner.node, program, "--cli", SERVER, "--transport", "http", "--header", AUTHORIZATION, "--protocol-era", which,
               "--format", "json", "--method", "tools/call", "--tool-name", "session_info"]  # fmt: skip
    done = runner.run(command, http=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not result_of(which, done).get("isError")


# --- Claude Code, offline


CLAUDE_OFFLINE = {
    **dict.fromkeys(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER"), "1"),
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
}


@pytest.fixture
def claude(runner):
    """Runs Claude Code like a person who has just installed it and has no network."""
    program = runner.modules / "@anthropic-ai" / "claude-code-linux-x64" / "claude"

    def run(*args, **settings):
        done = runner.run([program, "mcp", *args], **CLAUDE_OFFLINE, **settings)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_claude_code_connects(runner, claude, mode):
    settings = {} if mode == "auto" else {"MCP_PROTOCOL_NEGOTIATION": mode}
    method, revision = ("server/discover", MODERN) if mode == "auto" else ("initialize", LEGACY)
    assert "husk" in claude("add", "husk", "--", HUSK, "mcp", **settings)
    claude("add", "tapped", "--", *runner.tapped("server"), **settings)
    listed = claude("list", **settings)
    for name in ("husk", "tapped"):
        lines = [line for line in listed.splitlines() if line.startswith(f"{name}:")]
        assert len(lines) == 1 and lines[0].endswith("Connected"), listed
    shown = claude("get", "husk", **settings)
    assert "Connected" in shown and "stdio" in shown and "Args: mcp" in shown
    sent = runner.wire("server")
    assert sent[0]["method"] == method
    assert era_of(sent[0]) == revision


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_claude_code_connects_over_http(runner, mode):
    """With the line that `husk serve` prints."""
    program = runner.modules / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    script = '"$0" mcp add --transport http husk "$1" --header "$2" && "$0" mcp list'
    settings = {} if mode == "auto" else {"MCP_PROTOCOL_NEGOTIATION": mode}
    done = runner.run(["/bin/sh", "-c", script, program, SERVER, AUTHORIZATION], http=True, **CLAUDE_OFFLINE, NO_PROXY="127.0.0.1", **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("husk:")]
    assert len(lines) == 1 and lines[0].endswith("Connected"), done.stdout
