"""Both protocol eras on one stdio connection, and every kind of invalid line."""

import json
import os
import pathlib
import re
import stat
import threading

import pytest
from harness import LEGACY, META, MODERN, build_dir, modern_meta, wait_until

PARSE, INVALID, NO_METHOD, BAD_PARAMS, UNSUPPORTED = -32700, -32600, -32601, -32602, -32022
TOOLS = ["create_session", "execute_code", "execute_terminal", "import_files", "export_files", "stop_session",
         "session_info", "checkpoint"]


@pytest.fixture
def raw(start):
    """A server to which the harness sends nothing by itself."""
    return start(era=None)


def modern(server, method, params=None, id=1, version=MODERN, meta=None):
    full = {**(params or {}), "_meta": modern_meta(version) if meta is None else meta}
    return server.expect({"jsonrpc": "2.0", "id": id, "method": method, "params": full}, MODERN)


# --- the modern era


def test_discover(raw):
    result = modern(raw, "server/discover", id="d1").result()
    assert result["resultType"] == "complete"
    assert MODERN in result["supportedVersions"]
    assert "tools" in result["capabilities"]
    assert result["ttlMs"] >= 0 and result["cacheScope"] in ("public", "private")
    info = result["_meta"][META + "serverInfo"]
    assert info["name"] == "husk" and info["version"]
    assert 0 < len(result["instructions"]) <= 1800


def test_no_list_changed_is_promised(raw):
    assert not modern(raw, "server/discover").result()["capabilities"]["tools"].get("listChanged")


def test_modern_needs_no_handshake(raw):
    result = modern(raw, "tools/list").result()
    assert result["resultType"] == "complete"
    assert [t["name"] for t in result["tools"]] == TOOLS
    assert result["ttlMs"] >= 0 and result["cacheScope"] == "public"


def test_libraries_that_few_servers_need_are_not_loaded(raw):
    modern(raw, "tools/list").result()
    maps = pathlib.Path(f"/proc/{raw.process.pid}/maps").read_text()
    assert "libuv" in maps
    assert re.findall(r"lib(?:curl|pq|archive|ssl|crypto|wslay|edit|sixel|zmq|llhttp)\b\S*", maps) == []


def test_unknown_version_is_refused_every_time(raw):
    supported = modern(raw, "server/discover", id="d").result()["supportedVersions"]
    for i, version in enumerate(["1900-01-01", "2099-01-01", "", MODERN, "1900-01-01", "draft", "1900-01-01"]):
        for method in ("tools/list", "server/discover", "tools/call", "no/such/method"):
            answer = modern(raw, method, {"name": "execute_code", "arguments": {}}, id=f"{i}{method}", version=version)
            if version == MODERN:
                answer.wait()
                continue
            error = answer.error()
            assert error["code"] == UNSUPPORTED, error
            assert error["data"]["requested"] == version
            assert MODERN in error["data"]["supported"]
            assert set(error["data"]["supported"]) <= set(supported)


def test_legacy_versions_are_not_modern_ones(raw):
    for version in LEGACY:
        assert modern(raw, "tools/list", id=version, version=version).error()["code"] == UNSUPPORTED


@pytest.mark.parametrize(
    "meta",
    [
        {META + "protocolVersion": MODERN},
        {META + "protocolVersion": MODERN, META + "clientCapabilities": None},
        {META + "protocolVersion": MODERN, META + "clientCapabilities": []},
        {META + "protocolVersion": MODERN, META + "clientCapabilities": "all"},
        {META + "protocolVersion": 20260728, META + "clientCapabilities": {}},
    ],
)
def test_incomplete_meta_is_bad_params(raw, meta):
    assert modern(raw, "tools/list", meta=meta).error()["code"] == BAD_PARAMS


def test_client_info_is_not_required(raw):
    meta = modern_meta()
    del meta[META + "clientInfo"]
    assert modern(raw, "tools/list", meta=meta).result()["tools"]


def test_discover_without_meta_is_bad_params(raw):
    assert raw.expect({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}).error()["code"] == BAD_PARAMS


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"])
def test_removed_methods_are_unknown_in_the_modern_era(raw, method):
    assert modern(raw, method, {"protocolVersion": MODERN}).error()["code"] == NO_METHOD


def test_legacy_results_carry_nothing_modern(start):
    for version in LEGACY:
        server = start(era=version)
        result = server.request("tools/list").result()
        assert not {"resultType", "ttlMs", "cacheScope"} & set(result)
        assert server.request("ping").result() == {}


# --- the legacy era


@pytest.mark.parametrize("version", LEGACY)
def test_initialize_echoes_a_known_version(raw, version):
    raw.era = version
    result = raw.initialize(version)
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "husk"
    assert "tools" in result["capabilities"]
    assert 0 < len(result["instructions"]) <= 1800
    assert [t["name"] for t in raw.request("tools/list").result()["tools"]] == TOOLS


@pytest.mark.parametrize("version", ["1999-01-01", "2099-12-31", "", MODERN])
def test_initialize_offers_the_latest_legacy_version_for_others(raw, version):
    raw.era = "2025-11-25"
    assert raw.initialize(version)["protocolVersion"] == "2025-11-25"


def test_initialize_wants_a_version(raw):
    assert raw.expect({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}, "2025-11-25").error()["code"] == BAD_PARAMS


def test_ping_before_and_after_initialize(raw):
    raw.era = "2025-11-25"
    assert raw.request("ping").result() == {}
    raw.initialize("2025-11-25")
    assert raw.request("ping").result() == {}


def test_tools_are_listed_before_initialize(raw):
    raw.era = "2025-11-25"
    assert [t["name"] for t in raw.request("tools/list").result()["tools"]] == TOOLS


def test_legacy_and_modern_requests_mix(start):
    server = start(era="2025-06-18")
    legacy = server.request("tools/list")
    modern_answer = modern(server, "tools/list", id="m")
    assert "resultType" not in legacy.result()
    assert modern_answer.result()["resultType"] == "complete"
    assert modern(server, "tools/list", id="n", version="1900-01-01").error()["code"] == UNSUPPORTED
    assert server.request("ping").result() == {}
    assert modern(server, "ping", id="p").error()["code"] == NO_METHOD


# --- tools/list and tools/call


@pytest.mark.parametrize("era", [MODERN, *LEGACY])
def test_tools_are_well_described(start, era):
    server = start(era=era)
    first = server.request("tools/list").result()["tools"]
    assert first == server.request("tools/list").result()["tools"]
    for tool in first:
        assert len(tool["name"]) <= 30 and tool["name"].replace("_", "").isalnum()
        assert 0 < len(tool["description"]) <= 1800
        schema = tool["inputSchema"]
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert not {"anyOf", "oneOf", "allOf"} & set(schema)
        assert "outputSchema" not in tool
        for name in schema.get("required", []):
            assert name in schema["properties"]
    if era == "2024-11-05":
        assert all(set(t) <= {"name", "description", "inputSchema"} for t in first)


def test_texts_for_models_stay_short(raw, capsys):
    """Every conversation carries these texts from its first message on."""
    instructions = modern(raw, "server/discover", id="d").result()["instructions"]
    answer = modern(raw, "tools/list", id="t").result()
    tools = answer["tools"]
    listed = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    limit = 15_000
    with capsys.disabled():
        print(f"\nfigure: tools/list has {listed} characters, instructions {len(instructions)}, "
              f"{limit - listed - len(instructions)} are left; descriptions: " +
              ", ".join(f"{tool['name']} {len(tool['description'])}" for tool in tools))
    assert listed + len(instructions) <= limit
    assert all(len(tool["description"]) < 1800 for tool in tools)


def test_timeout_is_published_with_its_range(shared_server):
    tools = {t["name"]: t for t in shared_server.request("tools/list").result()["tools"]}
    for name in ("execute_code", "execute_terminal"):
        timeout = tools[name]["inputSchema"]["properties"]["timeout"]
        assert (timeout["minimum"], timeout["maximum"]) == (1, 604800)  # 300 at most without a wait
        assert re.search(r"\b30\b", timeout["description"]) and "default" not in timeout  # the default depends on `wait`
    language = tools["create_session"]["inputSchema"]["properties"]["language"]
    built = [image["name"] for image in json.loads((build_dir() / "images.json").read_text())]
    assert sorted(language["enum"]) == sorted(built) and language["default"] == "python"  # the languages that this build has images for
    assert tools["create_session"]["inputSchema"]["properties"]["network"]["anyOf"][0] == {"type": "boolean"}
    assert tools["create_session"]["inputSchema"]["properties"]["name"]["maxLength"] == 25


def test_an_unknown_cursor_is_rejected(shared_server):
    assert shared_server.request("tools/list", {"cursor": "abc"}).error()["code"] == BAD_PARAMS


@pytest.mark.parametrize(
    "params, code",
    [
        ({"name": "no_such_tool", "arguments": {}}, BAD_PARAMS),
        ({"name": "import_everything", "arguments": {}}, BAD_PARAMS),
        ({"arguments": {}}, BAD_PARAMS),
        ({"name": 5}, BAD_PARAMS),
        ({"name": None}, BAD_PARAMS),
        ({"name": "execute_code", "arguments": []}, BAD_PARAMS),
        ({"name": "execute_code", "arguments": "x"}, BAD_PARAMS),
        ({"name": "execute_code\u0000", "arguments": {}}, BAD_PARAMS),
    ],
)
def test_malformed_calls_are_protocol_errors(shared_server, params, code):
    assert shared_server.request("tools/call", params).error()["code"] == code


@pytest.mark.parametrize("method", ["prompts/lists", "completion/completes", "logging/setLevel", "x", "", "tools/list/"])
def test_unknown_methods_are_answered_at_once(shared_server, method):
    answer = shared_server.request(method)
    assert answer.error()["code"] == NO_METHOD


@pytest.mark.parametrize("request_id", [0, -1, 2**53, "", "0", "a b", "ü✓", "x" * 1000])
def test_ids_are_returned_unchanged(shared_server, request_id):
    message = shared_server.request("tools/list", id=request_id).wait()
    assert message["id"] == request_id and type(message["id"]) is type(request_id)


def test_number_and_string_ids_are_different(shared_server):
    one = shared_server.request("tools/list", id=77)
    other = shared_server.request("tools/list", id="77")
    assert one.wait()["id"] == 77 and other.wait()["id"] == "77"


# --- lines that are not messages

BROKEN = [
    (b"this is not JSON", None, PARSE),
    (b"{", None, PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"pi\xffng"}', None, PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', None, PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', None, PARSE),
    (b"\xef\xbb\xbf[1", None, PARSE),
    (b"{'jsonrpc':'2.0'}", None, PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"} trailing', None, PARSE),
    (b"null", None, INVALID),
    (b"1", None, INVALID),
    (b'"text"', None, INVALID),
    (b"{}", None, INVALID),
    (b"[]", None, INVALID),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID),
    (b'{"id":5,"method":"ping"}', 5, INVALID),
    (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', 5, INVALID),
    (b'{"jsonrpc":2.0,"id":5,"method":"ping"}', 5, INVALID),
    (b'{"jsonrpc":"2.0","id":5}', 5, INVALID),
    (b'{"jsonrpc":"2.0","id":"five","method":7}', "five", INVALID),
    (b'{"jsonrpc":"2.0","id":5,"method":null}', 5, INVALID),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}', 5, BAD_PARAMS),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":"x"}', 5, BAD_PARAMS),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}", 5, INVALID),
    (b"[" * 100000, None, PARSE),
]


# evidence: input-bounds
@pytest.mark.parametrize("line, request_id, code", BROKEN, ids=lambda v: repr(v)[:50] if isinstance(v, bytes) else "")
def test_broken_lines_get_errors(raw, line, request_id, code):
    raw.era = "2025-11-25"
    if request_id is not None:
        raw.methods[json.dumps(request_id)] = (None, raw.era)
    raw.write(line + b"\n")
    raw.wait_for(lambda s: s.messages, what="an answer")
    message = raw.messages[0]
    assert message["error"]["code"] == code, message
    assert message.get("id") == request_id
    assert ("id" in message) == (request_id is not None)  # omitted, never null
    assert raw.request("ping", id="after").result() == {}
    assert len(raw.messages) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc":"2.0","method":"notifications/unknown","params":{"a":1}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}',
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"create_session"}}',
        b'{"jsonrpc":"2.0","method":"ping"}',
        b'{"jsonrpc":"2.0","id":9,"result":{}}',
        b'{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}',
    ],
    ids=lambda line: line.decode()[:60],
)
def test_notifications_get_no_answer(raw, line):
    raw.era = "2025-11-25"
    raw.write(line + b"\n")
    assert raw.request("ping", id="after").result() == {}
    assert len(raw.messages) == 1
    assert raw.containers() == []


def test_line_ends_and_pieces(raw):
    raw.era = "2025-11-25"
    answers = []
    for i, end in enumerate([b"\n", b"\r\n", b"\n\n\n", b"\r\n\r\n"]):
        line = json.dumps({"jsonrpc": "2.0", "id": f"e{i}", "method": "ping"}).encode() + end
        raw.methods[json.dumps(f"e{i}")] = ("ping", raw.era)
        for at in range(len(line)):  # a byte at a time
            raw.write(line[at : at + 1])
        raw.wait_for(lambda s, n=i + 1: len(s.messages) >= n)
        answers.append(raw.messages[-1]["id"])
    assert answers == ["e0", "e1", "e2", "e3"]


def test_many_messages_in_one_write(raw):
    raw.era = "2025-11-25"
    lines = b""
    for i in range(500):
        raw.methods[json.dumps(i)] = ("ping", raw.era)
        lines += json.dumps({"jsonrpc": "2.0", "id": i, "method": "ping"}).encode() + b"\n"
    raw.write(lines)
    raw.wait_for(lambda s: len(s.messages) >= 500)
    assert [m["id"] for m in raw.messages] == list(range(500))


def test_batches_belong_to_one_revision(start):
    batch = [{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "id": "b", "method": "ping"},
             {"jsonrpc": "2.0", "method": "notifications/x"}]
    server = start(era="2025-03-26")
    server.send(batch)
    server.wait_for(lambda s: isinstance(s.messages[-1], list))
    assert sorted(m["id"] for m in server.messages[-1]) == ["a", "b"]
    server.send([{"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}])
    server.wait_for(lambda s: isinstance(s.messages[-1], list) and s.messages[-1][0]["id"] == "i")
    assert server.messages[-1][0]["error"]["code"] == INVALID
    for era in ("2025-11-25", MODERN):
        other = start(era=era)
        other.send(batch)
        other.wait_for(lambda s: s.orphans())
        assert other.orphans()[0]["error"]["code"] == INVALID


def test_old_schemas_know_no_error_without_an_id(start):
    for era in ("2025-06-18", "2024-11-05"):
        server = start(era=era)
        server.write(b"not JSON\n")
        server.ping()
        assert server.orphans() == []


# evidence: input-bounds
def test_the_length_of_a_line_is_limited(raw):
    raw.era = "2025-11-25"
    long_one = {"jsonrpc": "2.0", "id": "long", "method": "ping", "params": {"x": "y" * (4 << 20)}}
    assert raw.expect(long_one).result() == {}
    writer = threading.Thread(target=lambda: raw.write(b"x" * (40 << 20) + b"\n"))
    writer.start()
    raw.wait_for(lambda s: s.orphans(), what="a refusal of the endless line")
    assert raw.orphans()[0]["error"]["code"] == INVALID
    writer.join()
    assert raw.request("ping", id="after").result() == {}
    assert len(raw.orphans()) == 1


def test_the_last_line_needs_no_newline(raw):
    raw.era = "2025-11-25"
    raw.methods['"last"'] = ("ping", raw.era)
    raw.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    raw.close_stdin()
    raw.wait_for(lambda s: s.messages)
    assert raw.messages[0]["id"] == "last"


# --- answers are short enough


def test_output_lines_stay_below_the_clients_buffer(session):
    session.code("print('x' * 5_000_000)\nimport sys\nprint('é' * 5_000_000, file=sys.stderr)\n'z' * 5_000_000").ok()
    longest = max(len(line) for line, _, _ in session.server.lines)
    assert longest < 2 << 20


# --- private descriptors


def _links(pid):
    folder = f"/proc/{pid}/fd"
    return {int(fd): os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)}


# evidence: output-clean
def test_protocol_descriptors_are_private(server):
    server.ping()
    ours = {os.readlink(f"/proc/self/fd/{server.process.stdin.fileno()}"), os.readlink(f"/proc/self/fd/{server.process.stdout.fileno()}")}
    links = _links(server.process.pid)
    assert links[0] == "/dev/null"
    assert links[1] == links[2] == str(server.stderr_path)
    private = [fd for fd, target in links.items() if target in ours]
    assert len(private) == 2 and min(private) > 2
    for fd in private:
        flags = open(f"/proc/{server.process.pid}/fdinfo/{fd}").read()
        assert int(flags.split("flags:")[1].split()[0], 8) & os.O_CLOEXEC


# evidence: output-clean
def test_a_noisy_child_cannot_corrupt_the_stream(start, tmp_path):
    """The server's docker client writes to every descriptor that it finds, and tries to read the protocol's input."""
    noisy = tmp_path / "bin" / "docker"
    noisy.parent.mkdir()
    noisy.write_text(
        "#!/bin/sh\n"
        "for fd in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$fd ] && eval \"echo noise >&$fd\" 2>/dev/null; done\n"
        f"cat >{tmp_path}/stolen\n"
        f"ls -l /proc/$$/fd >{tmp_path}/fds\n"
        "exit 1\n"
    )
    noisy.chmod(noisy.stat().st_mode | stat.S_IXUSR)
    server = start(PATH=f"{noisy.parent}:{os.environ['PATH']}")
    failed = server.call("create_session", {})
    assert failed.is_error
    server.ping()
    wait_until((tmp_path / "fds").exists, what="the noisy child's end")
    assert (tmp_path / "stolen").read_bytes() == b""
    pipe = os.readlink(f"/proc/self/fd/{server.process.stdout.fileno()}")
    assert pipe not in (tmp_path / "fds").read_text()
    assert all(isinstance(m, dict) for m in server.messages)


# --- cancellation


def test_a_cancelled_call_is_never_answered(own_session):
    server = own_session.server
    running = own_session.start_code("import time\nprint('on', flush=True)\ntime.sleep(60)", 120, progress="p")
    server.wait_for(lambda s: s.progress_of("p"))
    server.cancel(running)
    after = own_session.code("'free again'")  # the cell was interrupted, or this would wait for a minute
    assert after.value == "'free again'" and after.took < 20
    seen = len(server.progress_of("p"))
    server.ping()
    assert not running.done and len(server.progress_of("p")) == seen


def test_cancelling_keeps_the_variables(own_session):
    server = own_session.server
    own_session.code("kept = 41").ok()
    running = own_session.start_code("kept += 1\nprint('on', flush=True)\nwhile True: pass", 120, progress="p")
    server.wait_for(lambda s: s.progress_of("p"))
    server.cancel(running)
    assert own_session.code("kept").value == "42"


def test_cancelling_a_queued_call_lets_the_others_run(own_session):
    server = own_session.server
    first = own_session.start_code("import time; time.sleep(1); order = ['first']")
    second = own_session.start_code("order.append('second')")
    third = own_session.start_code("order.append('third')")
    server.cancel(second)
    first.tool().ok()
    third.tool().ok()
    assert own_session.code("order").value == "['first', 'third']"
    assert not second.done


def test_cancelling_a_command(own_session):
    server = own_session.server
    running = own_session.start_shell("echo on; sleep 60", 120, progress="p")
    server.wait_for(lambda s: s.progress_of("p"))
    server.cancel(running)
    assert own_session.shell("grep -lx sleep /proc/[0-9]*/comm").stdout == ""
    assert not running.done


# evidence: no-leftovers
def test_cancelling_create_leaves_no_container(server):
    creating = server.start_call("create_session", {"network": False})
    server.cancel(creating)
    server.ping()
    other = server.session(network=False)  # by the time this session is up, the cancelled one would be up too
    assert other.code("1").value == "1"
    wait_until(lambda: server.containers() == [other.container], what="removal of the cancelled session")
    assert not creating.done


def test_a_duplicate_id_in_flight_is_refused(own_session):
    server = own_session.server
    first = own_session.start_code("import time; time.sleep(1); 'first'", id="same")
    server.ping()
    server.send({"jsonrpc": "2.0", "id": "same", "method": "tools/list", "params": {"_meta": modern_meta()}})
    server.wait_for(lambda s: any(isinstance(m, dict) and m.get("id") == "same" for m in s.messages))
    refused = [m for m in server.messages if m.get("id") == "same"]
    assert refused[0]["error"]["code"] == INVALID
    server.wait_for(lambda s: sum(m.get("id") == "same" for m in s.messages) == 2)
    assert "first" in server.messages[-1]["result"]["content"][0]["text"]
    assert server.request("tools/list", id="same").result()  # the id is free again
    del first


# --- progress


def test_progress_is_monotone_and_ends_before_the_answer(own_session):
    server = own_session.server
    token = "tok-1"
    answer = own_session.start_code("import time\nfor i in range(8): print('step', i, flush=True); time.sleep(0.25)", progress=token)
    answer.tool().ok()
    progress = server.progress_of(token)
    assert progress
    numbers = [p["progress"] for p in progress]
    assert numbers == sorted(set(numbers))
    assert any("step" in p.get("message", "") for p in progress)
    assert len(progress) < 12
    at = {id(n): i for i, n in enumerate(server.messages)}
    assert max(at[id(n)] for n in server.notifications) < at[id(answer.message)]
    server.ping()
    assert len(server.progress_of(token)) == len(progress)


@pytest.mark.parametrize("token", [0, 7, "", "seven"])
def test_progress_tokens_are_returned_unchanged(session, token):
    server = session.server
    before = len(server.notifications)
    session.code("import time\nprint('x', flush=True)\ntime.sleep(0.8)", progress=token).ok()
    mine = server.notifications[before:]
    assert mine and all(n["params"]["progressToken"] == token and type(n["params"]["progressToken"]) is type(token) for n in mine)


def test_without_a_token_there_is_no_progress(session):
    before = len(session.server.notifications)
    session.code("import time\nprint('x', flush=True)\ntime.sleep(0.8)").ok()
    assert len(session.server.notifications) == before


def test_bad_progress_tokens_are_refused(shared_server):
    for token in (1.5, {}, [], True):
        params = {"name": "stop_session", "arguments": {"session_id": "x"}}
        answer = shared_server.request("tools/call", params, meta={"progressToken": token})
        assert answer.error()["code"] == BAD_PARAMS


@pytest.mark.parametrize("era", LEGACY)
def test_a_whole_session_works_in_every_legacy_revision(start, era):
    server = start(era=era)
    session = server.session(network=False)
    session.code("x = 40").ok()
    done = session.code("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('hello')\nx + 2", progress=1).ok()
    assert done.value == "42" and done.stdout == "hello\n"
    assert done.images[0][0] == "image/png"
    assert session.shell("echo shell").stdout == "shell\n"
    created = next(m["result"] for m in server.messages if "session_id" in json.dumps(m))
    assert json.loads(created["content"][0]["text"])["session_id"] == session.id
    assert ("structuredContent" in created) == (era >= "2025-06-18")
    assert session.stop().fields["success"] is True
