#!/usr/bin/env python3
"""Writes the seeds of the corpus: tests/fuzz/corpus/TARGET/NAME. Run it after a change of a format and commit the
files.

Inputs that a campaign found are added by hand as found-WHAT; this program leaves them alone. Streams start with a
byte that says how the target cuts them into pieces (0 = not at all).
"""

import base64
import json
import struct
from pathlib import Path

import seeds_files
import seeds_texts

CORPUS = Path(__file__).resolve().parent / "corpus"

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
WHOLE, CUT = seeds_texts.WHOLE, seeds_texts.CUT


def rpc(method, id=None, **params):
    message = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params:
        message["params"] = params
    return json.dumps(message).encode()


def modern(method, id=1, meta=None, **params):
    return rpc(method, id, _meta={**MODERN, **(meta or {})}, **params)


def frame(type, call=0, payload=b""):
    if isinstance(payload, dict):
        payload = json.dumps(payload).encode()
    return struct.pack(">IBI", len(payload), type, call) + payload


def link(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(data)) + data


# --- the malformed-input table of the protocol notes, line by line ---------------------------------------------------
MALFORMED = {
    "bad-not-json": b"hello",
    "bad-half": b'{"jsonrpc":"2.0","id":1,"method":"pi',
    "bad-two-values": b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}',
    "bad-number": b"42",
    "bad-string": b'"ping"',
    "bad-null": b"null",
    "bad-empty-list": b"[]",
    "bad-no-version": b'{"id":1,"method":"ping"}',
    "bad-version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "bad-no-method": b'{"jsonrpc":"2.0","id":1}',
    "bad-method-number": b'{"jsonrpc":"2.0","id":1,"method":7}',
    "bad-method-nul": b'{"jsonrpc":"2.0","id":1,"method":"ping\\u0000x"}',
    "bad-id-null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "bad-id-float": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "bad-id-object": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "bad-id-bool": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "bad-id-long": b'{"jsonrpc":"2.0","id":"' + b"i" * 1100 + b'","method":"ping"}',
    "bad-params-list": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}',
    "bad-params-string": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}',
    "bad-response": b'{"jsonrpc":"2.0","id":9,"result":{}}',
    "bad-response-error": b'{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"no"}}',
    "bad-duplicate-key": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    "bad-deep": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}",
    "bad-deep-open": b"[" * 3000,
    "bad-surrogate": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "bad-surrogate-pair": b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00","method":"ping"}',
    "bad-utf8": b'{"jsonrpc":"2.0","id":"\xff\xfe","method":"ping"}',
    "bad-overlong": b'{"jsonrpc":"2.0","id":"\xc0\xaf","method":"ping"}',
    "bad-bom": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
    "bad-nul-id": b'{"jsonrpc":"2.0","id":"a\\u0000b","method":"ping"}',
    "bad-int-2-53": b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
    "bad-int-2-64": b'{"jsonrpc":"2.0","id":18446744073709551617,"method":"ping"}',
    "bad-exponent": b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
    "bad-nul-behind-literal": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null\x00}',
    "bad-nul-byte": b'{"jsonrpc":"2.0",\x00"id":1,"method":"ping"}',
}

TASKS = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
GOOD = {
    "initialize": rpc(
        "initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "c", "version": "1"}
    ),
    "initialize-batches": rpc("initialize", "i", protocolVersion="2025-03-26", capabilities={}),
    "initialized": rpc("notifications/initialized"),
    "ping": rpc("ping", 1),
    "list": rpc("tools/list", 2),
    "list-cursor": rpc("tools/list", 2, cursor=""),
    "call": rpc(
        "tools/call", 3, name="execute_code", arguments={"session_id": "s1", "code": "1"}, _meta={"progressToken": 3}
    ),
    "call-unknown": rpc("tools/call", 3, name="no_such_tool", arguments={}),
    "cancel": rpc("notifications/cancelled", None, requestId=3, reason="timeout"),
    "discover": modern("server/discover", "server-discover-probe-1"),
    "discover-bare": rpc("server/discover", 4),
    "list-modern": modern("tools/list"),
    "call-modern": modern("tools/call", 5, name="create_session", arguments={"language": "python", "network": False}),
    "listen": modern("subscriptions/listen", "listen:0", notifications={"toolsListChanged": True}),
    "task-get": modern("tasks/get", 5, TASKS, taskId="k1"),
    "task-listen": modern("subscriptions/listen", "l", TASKS, notifications={"taskIds": ["k1", "k2"]}),
    "log-level": modern("tools/list", 6, {"io.modelcontextprotocol/logLevel": "debug"}),
    "log-level-unknown": modern("tools/list", 6, {"io.modelcontextprotocol/logLevel": "loud"}),
    "version-unknown": modern("tools/list", 7, {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}),
    "version-number": modern("tools/list", 7, {"io.modelcontextprotocol/protocolVersion": 20260728}),
    "capabilities-missing": rpc("tools/list", 8, _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
    "meta-list": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":[]}}',
    "batch": b"[" + rpc("ping", 1) + b"," + rpc("tools/list", 2) + b"," + rpc("notifications/initialized") + b"]",
    "batch-mixed": b'[1,[],{},null,{"jsonrpc":"2.0","id":1,"method":"ping"}]',
}


def lines():
    stream = b"\n".join([b'{"a":1}', b"", b"  \t", b"x" * 60, b"short", b"y" * 48 + b"\r", b"z" * 49 + b"\r", b"last"])
    return {
        "mixed": WHOLE + stream,
        "mixed-cut": CUT + stream,
        "crlf": CUT + b"one\r\ntwo\r\n\r\n\rthree\r",
        "exact": WHOLE + b"e" * 48 + b"\n" + b"f" * 49 + b"\n" + b"g" * 48,
        "long-no-end": CUT + b"h" * 300,
        "long-then-good": CUT + b"i" * 300 + b"\ngood\n",
        "nuls": CUT + b"\x00\n\x00\x00\n \x00\n",
        "only-newlines": WHOLE + b"\n" * 50,
    }


def args():
    objects = {
        0: [{}, {"language": "python"}, {"language": "PY", "network": "TRUE", "dependencies": {}}, {"network": 1}]
        + [{"language": None}, {"language": "x" * 65}, {"dependencies": {"pip": ["numpy"]}}, {"dependencies": []}],
        1: [{"session_id": "s", "code": "1+1"}, {"session_id": "s", "code": "1", "timeout": "30"}]
        + [{"session_id": "s", "code": "1", "timeout": t} for t in (0, 301, 30.0, 30.5, -1, 1e300, "-0", "x", True, [])]
        + [{"session_id": "s", "code": " \t\n"}, {"session_id": "a\0b", "code": "1"}, {"code": 7, "session_id": []}]
        + [{"session_id": "s" * 129, "code": "1"}, {f"unknown-{i}": i for i in range(30)}, {"n" * 300: "long name"}],
        2: [{"session_id": "s", "command": "ls"}, {"command": {"a": 1}}, {"session_id": "ü", "command": "\u202e\ufeff"}],
        3: [{"session_id": "s"}, {}, {"session_id": ""}, {"session_id": "s", "timeout": 3}],
    }
    return {
        f"tool{tool}-{i:02}": bytes([tool]) + json.dumps(value).encode()
        for tool, values in objects.items()
        for i, value in enumerate(values)
    }


def wire():
    hello = frame(1, 0, {"version": 2, "runtime": "python", "kernel": "ready", "last_call": 0, "lease_seconds": 60})
    end = {"ending": "ok", "duration_ms": 3, "stdout_bytes": 6, "stderr_bytes": 0, "kernel": "kept"}
    good = hello + frame(22, 0, {"event": "kernel_ready"}) + frame(23, 1, {"kind": "execute", "state": "running"})
    good += frame(16, 1, b"hello\n") + frame(19, 1, {"data": {"text/plain": "2"}}) + frame(21, 1, end)
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 2, 2) + b"\0" * 20).decode()
    display = frame(18, 1, {"data": {"image/png": png, "text/plain": "<Figure>"}, "display_id": "d"})
    update = frame(18, 1, {"data": {"text/html": "<b>x</b>"}, "display_id": "d", "update": True})
    error = frame(20, 1, {"type": "ValueError", "message": "bad", "traceback": "\x1b[31mTraceback\x1b[0m\n" * 9})
    ends = [
        {"ending": name, "exit_code": 137, "signal": 9, "kernel": "restarted", "detail": "It died."}
        for name in ("error", "timeout", "interrupted", "oom", "kernel_died", "refused", "no_such_ending")
    ]
    memory = {"memory_peak": 1 << 30, "memory_limit": 1 << 30, "memory_files": 1 << 20, "displays_dropped": 2}
    tails = frame(16, 1, "é".encode() * 30 + b"\xc3") + frame(25, 1, b"\xa9" + "é".encode() * 30)
    return {
        "run": WHOLE + good,
        "run-cut": CUT + good,
        "displays": CUT + display + update + display + frame(21, 1, end),
        "error": WHOLE + error + frame(17, 1, b"warning\n") + frame(21, 1, {**end, "ending": "error"}),
        "endings": WHOLE + b"".join(frame(21, 1, e) + frame(23, 1, b"") for e in ends),
        "memory": WHOLE + frame(21, 1, {**end, **memory, "ending": "oom", "oom_kills": 3}),
        "tails": WHOLE + tails + frame(21, 1, {**end, "stdout_bytes": 100000}),
        "replay": CUT + frame(16, 1, b"first") + frame(23, 1, {"kind": "execute"}) + frame(16, 1, b"again") + frame(21, 1, end),
        "too-much": WHOLE + frame(16, 1, b"x" * 300),
        "after-end": WHOLE + frame(21, 1, end) + frame(16, 1, b"late"),
        "two-ends": WHOLE + frame(21, 1, end) + frame(21, 1, end),
        "escapes": WHOLE + frame(16, 1, b"\x1b[1mb\x1b[0m\0\xff\x1b]0;t\x07\x1b(B\r\x08\x1b]x") + frame(21, 1, end),
        "ping": WHOLE + frame(3, 0, b"p" * 64) + frame(24, 1, {"stdout_bytes": 9, "tail": "x"}),
        "events": WHOLE
        + b"".join(
            frame(22, 0, {"event": e, "detail": "why", "cause": "c"})
            for e in ("kernel_ready", "kernel_died", "kernel_failed", "ending", "fenced", "?")
        ),
        "bad-hello-version": WHOLE + frame(1, 0, {"version": 99, "last_call": 0}),
        "bad-hello-last": WHOLE + frame(1, 0, {"version": 1, "last_call": 1 << 40}),
        "bad-type": WHOLE + frame(4, 1, {"code": "1"}),
        "bad-length": WHOLE + struct.pack(">IBI", 0xFFFFFFFF, 16, 1) + b"x",
        "bad-json": WHOLE + frame(18, 1, b'{"data":'),
        "ask": WHOLE + frame(30, 1, {"state": "waiting", "interactive": True, "inputs": 1, "rows": 5, "cols": -1, "prompt": "\x1b[1mName? "}),
        "bad-list": WHOLE + frame(21, 1, b"[]"),
        "bad-bundle": WHOLE
        + frame(18, 1, {"data": {"no slash": "x", "image/png": "not base64!", "text/x": 7, "a/json": {"x": [1]}, "b/b": None}}),
        "bad-numbers": WHOLE + frame(21, 1, {"ending": 3, "exit_code": -(1 << 62), "signal": 1 << 62, "stdout_bytes": -1}),
        "half": CUT + frame(16, 1, b"0123456789")[:-3],
    }


def frames():
    hello = frame(1, 0, {"version": 2, "min_version": 1, "fence": 1})

    def execute(n, code="1+1", **more):
        return frame(4, n, {"code": code, "timeout_ms": 1000, "stdout_limit": 64, "stderr_limit": 64, **more})

    claim = frame(15, 0, {"session": "abcdefghijklmnopqrstuvwx27", "lease_seconds": 60, "lifetime_seconds": 9, "env": {"A": "b", "C": ""}})
    terminal = frame(5, 3, {"command": "ls -la", "timeout_ms": 1, "stdout_limit": 0, "stderr_limit": 8})
    return {
        "run": WHOLE + hello + frame(2, 0, b"x") + execute(1) + terminal + frame(6, 3) + frame(7, 1) + frame(7, 3) + frame(8),
        "run-cut": CUT + hello + execute(1, "print('é')" * 9) + execute(4, "x") + terminal + hello + frame(7, 4),
        "many": WHOLE + b"".join(execute(n) for n in range(1, 36)),
        "resend": WHOLE + execute(7) + execute(7) + execute(6) + execute(8),
        "limits": WHOLE + execute(4, "a" * 200, stdout_limit=-1, stderr_limit=1 << 60) + execute(9, "b" * 70, timeout_ms=-5),
        "nul": WHOLE + frame(4, 1, b'{"code":"a\\u0000b"}') + frame(4, 2, b'{"code":7}') + frame(5, 3, b"{}"),
        "claim": CUT + hello + claim + claim,
        "claim-install": WHOLE + frame(15, 0, {"session": "", "lease_seconds": 1, "lifetime_seconds": 0}),
        "bad-claim": WHOLE + frame(15, 0, {"session": "A" * 26, "lease_seconds": 0, "lifetime_seconds": -1, "env": {"A=": "x", "": 1}}),
        "input": WHOLE + hello + execute(1, interactive=True) + frame(52, 1, {"number": 1, "text": "yes"}) + frame(52, 1, {"number": 1, "text": "no"})
        + frame(52, 1, {"number": 3, "text": "a\x00\u00e9\x04"}),
        "input-terminal": CUT + frame(5, 2, {"command": "read x", "interactive": True, "rows": 0, "cols": 1 << 40})
        + frame(52, 2, {"number": 1, "text": "x\r"}),
        "bad-input": WHOLE + execute(1, interactive=True) + frame(52, 1, {"number": 0, "text": 1}) + frame(52, 1, b"[]") + frame(52, 9, {}),
        "bad-call-0": WHOLE + execute(0),
        "bad-json": WHOLE + frame(4, 1, b"{") + execute(2),
        "bad-list": WHOLE + frame(4, 1, b"[]"),
        "bad-type": WHOLE + frame(16, 1, b"x"),
        "bad-ping": WHOLE + frame(2, 0, b"p" * 65),
        "bad-length": WHOLE + struct.pack(">IBI", 0x00800001, 4, 1),
        "half": CUT + execute(1)[:20],
    }


def links():
    hello = {"op": "hello", "token": "0" * 32, "version": 1, "language_version": "3.13.5"}
    display = {"op": "display", "id": 1, "data": {"text/plain": "x", "application/json": {"a": [1]}}, "display_id": "d"}
    result = {"op": "result", "id": 1, "data": {"text/plain": "2"}}
    error = {"op": "error", "id": 1, "type": "KeyboardInterrupt", "message": "", "traceback": "Traceback…"}
    done = {"op": "done", "id": 1}
    copied = link({"op": "forked", "id": 1, "cannot": "polars is loaded"}) + link({"op": "forked", "id": 2}) + link({"op": "woken", "id": 3})
    good = link(hello) + link(display) + link({**display, "update": True}) + link(result) + link(error) + link(done)
    bad = {
        "op": {"op": "exec", "id": 1},
        "no-op": {"id": 1},
        "list": [1],
        "hello": {"op": "hello", "version": 1},
        "update": {**display, "update": 1},
        "bundle": {"op": "result", "data": {"no-slash": "x"}},
        "bundle-value": {"op": "result", "data": {"text/plain": 7}},
        "bundle-many": {"op": "result", "data": {f"a/{i}": "" for i in range(33)}},
        "bundle-quote": {"op": "result", "data": {'a/"': ""}},
        "error": {"op": "error", "id": 1, "type": 7},
        "forked": {"op": "forked", "id": 1, "cannot": 7},
        "deep": json.dumps({"op": "done", "x": 0}).replace("0}", "[" * 101 + "]" * 101 + "}").encode(),
        "duplicate": b'{"op":"done","op":"done"}',
        "utf8": b'{"op":"done","x":"\xff"}',
        "nul": b'{"op":"done","x":"\\u0000"}',
        "not-json": b"{op:done}",
    }
    seeds = {f"bad-{name}": WHOLE + link(done) + link(message) + link(done) for name, message in bad.items()}
    seeds |= {
        "run": WHOLE + good,
        "copies": WHOLE + link({**hello, "forks": True, "lost": ["the thread a", 5]}) + copied,
        "run-cut": CUT + good + link({**done, "id": 2}),
        "run-two": b"\x02" + good + good,
        "bad-length-0": WHOLE + link(done) + b"\0\0\0\0",
        "bad-length": CUT + b"\xff\xff\xff\xff{}",
        "half": CUT + link(result)[:-2],
    }
    return seeds


def inspect():
    def event(action, **attributes):
        return json.dumps({"Type": "container", "Action": action, "Actor": {"ID": "0", "Attributes": attributes}}).encode()

    network = b"0123456789abcdef" * 4
    return {
        "no-daemon": b"docker: Cannot connect to the Docker daemon at unix:///run/x.sock. Is the docker daemon running?\n"
        b"See 'docker run --help'.\n",
        "denied": b"permission denied while trying to connect to the Docker daemon socket",
        "no-image": b"Unable to find image 'husk-python:0' locally\ndocker: Error response from daemon: No such image.",
        "no-container": b"Error response from daemon: No such container: husk-x\n",
        "not-running": b"Error response from daemon: Container 0 is not running",
        "removal": b"Error response from daemon: removal of container 0 is already in progress",
        "no-space": b"docker: Error response from daemon: mkdir /x: no space left on device.",
        "escapes": b"\x1b[31mError: \xff\0 \x1b]0;t\x07\r\nError response from daemon: \t\t",
        "long": b"Error: " + "é".encode() * 900,
        "empty": b"",
        "die": event("die", name="husk-a", exitCode="137"),
        "oom": event("oom", name="husk-a"),
        "destroy": event("destroy", name="husk-a"),
        "die-text": event("die", name="husk-a", exitCode="x"),
        "die-huge": event("die", name="husk-a", exitCode="99999999999999999999"),
        "name-long": event("die", name="n" * 128),
        "name-127": event("die", name="n" * 127, exitCode="0"),
        "other": event("start", name="husk-a"),
        "no-actor": b'{"Action":"die"}',
        "actor-list": b'{"Action":"die","Actor":[]}',
        "networks": network[::-1] + b"\n" + network + b"\r\n",
        "network-short": network[:-1] + b"\n" + network + b"0\n",
        "network-upper": network.upper() + b"\n",
    }


def text():
    return {
        "plain": b"hello\nworld\n",
        "utf8": "grüße, 世界 🙂 e\u0301\u200d".encode(),
        "broken": b"\xff\xc3\x28\xe2\x82\xf0\x9f\x99\xed\xa0\x80\xc0\xaf\xf5\x80\x80\x80",
        "nul": b"a\0b\0\0",
        "csi": b"\x1b[31mred\x1b[0m\x1b[2K\x1b[1;31;48;5;200mx\x1b[",
        "osc": b"\x1b]0;title\x07after\x1b]8;;u\x1b\\link\x1b]never ends",
        "osc-many": b"\x1b]" * 400,
        "charset": b"\x1b(B\x1b)0\x1b#8\x1bM\x1b",
        "controls": bytes(range(32)) + b"\x7f\x80\x9b",
        "bar": b"10%\r20%\r30%\rdone\n" * 10,
        "lines": b"\n\n\n  \n\r\n" + b"x\n" * 40,
        "long": b"abc " * 300,
        "cut-in-character": b"\x05" + "é".encode() * 40,
        "cut-in-escape": b"\x03abc\x1b[31mdef",
    }


def shell():
    def state(*parts, end="husk-end"):
        return b"".join(p.encode() + b"\0" for p in (*parts, end))

    return {
        "plain": state("/workspace", "PATH=/usr/bin", "A=b=c", "EMPTY=", "MULTI=a\nb"),
        "not-kept": state("/tmp", "_=x", "SHLVL=2", "PWD=/x", "HUSK_TOKEN=t", "BASH_FUNC_f%%=() { :; }", "1A=x", "=x", "novalue"),
        "no-end": state("/tmp", "A=b", end="A"),
        "no-nul": state("/tmp", "A=b") + b"rest",
        "relative": state("tmp"),
        "long-path": state("/" + "p" * 3000),
        "end-first": state(),
        "twice": state("/tmp") + state("/x", "B=1"),
        "stat": b"42 (a) b (c)) S 1 42 42 0 -1 4194560",
        "stat-zombie": b"42 (z) Z 1 42 42 0",
        "stat-short": b"42 (z",
        "stat-numbers": b"1 (x) R 99999999999 -1 -99999999999",
    }


PICTURES = {  # 3 x 2 pixels
    "whole-png":
        "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAFUlEQVR4nGM8wcXFwMDAwMDAxAADABByAOAp6i43AAAAAElFTkSuQmCC",
    "whole-gif":
        "R0lGODdhAwACAIEAAMgKCgAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7",
    "whole-webp":
        "UklGRjwAAABXRUJQVlA4IDAAAADQAQCdASoDAAIAAUAmJaACdLoB+AADsAD+9hNf/izkYjs83/4E78Cd+BO/8AAAAAA=",
    "whole-webp-lossless":
        "UklGRh4AAABXRUJQVlA4TBEAAAAvAkAAAAdQhSJXof+BiOh/AAA=",
    "whole-jpeg":
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////////////////////////////"
        "2wBDAaq0tPDS8P//////////////////////////////////////////////////////////////////////////////wAARCAACAAMDASIAAhEBAxEB/8QA"
        "HwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkK"
        "FhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXG"
        "x8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAEC"
        "AxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOE"
        "hYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwBlFFFSaH//"
        "2Q==",
}


def image():
    def b64(data):
        return base64.b64encode(data)

    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x02\0\0\0" + b"\0" * 30
    return {
        "png": b64(png),
        "png-lines": base64.encodebytes(png),
        "png-huge": b64(png.replace(struct.pack(">I", 640), struct.pack(">I", 9000))),
        "png-short": b64(png[:20]),
        "jpeg": b64(b"\xff\xd8\xff\xe0\0\x10JFIF\0"),
        "gif": b64(b"GIF89a\x40\x01\xc8\0\0\0\0"),
        "webp": b64(b"RIFF\x10\0\0\0WEBPVP8 "),
        "svg": b64(b"<svg/>"),
        **{name: text.encode() for name, text in PICTURES.items()},
        "padding": b"/9j/====",
        "padding-inside": b"/9j=/9j/",
        "not-base64": b"\xff\xd8\xff\xe0",
        "unpadded": b"/9j/4AAQS",
        "empty": b"",
    }


def server():
    def talk(*messages, cut=WHOLE):
        return cut + b"".join(m + b"\n" for m in messages)

    def call(id, name="execute_code", **arguments):
        return rpc("tools/call", id, name=name, arguments=arguments, _meta={"progressToken": id})

    wait = call(3, session_id="s", code="wait")
    legacy = [GOOD[k] for k in ("initialize", "initialized", "ping", "list", "call", "cancel", "discover-bare")]
    batches = GOOD["initialize-batches"]
    nested = b"[" + wait + b"," + call(4, session_id="s", code="1") + b"," + rpc("ping", 4) + b"," + GOOD["cancel"] + b"]"
    return {
        "legacy": talk(*legacy),
        "legacy-cut": talk(*legacy, cut=CUT),
        "modern": talk(*(GOOD[k] for k in ("discover", "list-modern", "call-modern", "listen", "version-unknown"))),
        "tasks": talk(
            modern("tools/call", 1, TASKS, name="execute_code", arguments={"session_id": "s", "code": "task"}),
            modern("tools/call", 2, TASKS, name="execute_code", arguments={"session_id": "s", "code": "task 0"}), GOOD["task-get"],
            GOOD["task-listen"], modern("tasks/update", 6, TASKS, taskId="k1", inputResponses={"x": {}}),
            modern("tasks/cancel", 7, TASKS, taskId="k1"), modern("tasks/get", 8, taskId="k1"), modern("tasks/get", 9, TASKS, taskId=[])),
        "sessions": talk(call(1, "create_session"), call(2, session_id="s1", code="raise"), call(3, "stop_session", session_id="s1")),
        "batch": talk(batches, GOOD["batch"], GOOD["batch-mixed"], nested, b"[]", cut=CUT),
        "batch-refused": talk(GOOD["batch"]),
        "duplicate-id": talk(wait, wait, GOOD["cancel"], wait),
        "cancel-unknown": talk(GOOD["cancel"], rpc("notifications/cancelled"), rpc("notifications/cancelled", None, requestId=[])),
        "listen-end": talk(GOOD["listen"], GOOD["listen"], rpc("notifications/cancelled", None, requestId="listen:0")),
        "eof-in-flight": talk(wait, call(5, session_id="s", code="after 1"), GOOD["listen"])[:-1],
        "sessions-gone": talk(call(1, session_id="gone", code="1"), call(2, session_id="dead", code="1"), call(3, code="")),
        "fixtures": talk(call(6, "test_tool_with_progress"), call(7, "test_image_content"), call(8, "test_missing_capability"),
                         rpc("notifications/cancelled", None, requestId=6), call(9, "test_tool_with_progress"), cut=CUT),
        "malformed": talk(*(v for k, v in MALFORMED.items() if len(v) < 200)),
    }


def statuses():
    full = {"session": "s", "kernel": "busy", "lease_seconds": 300, "memory": 25165824, "memory_limit": 2147483648, "ptys": 2, "landlock": 7,
            "disks": [{"path": "/workspace", "used": 1, "size": 2}], "fresh": True, "more": 3,
            "variables": [{"name": "a", "type": "numpy.ndarray", "shape": "2 x 3", "bytes": 48}]}
    variants = {
        "full": full,
        "no-variables": {key: value for key, value in full.items() if key != "variables"},
        "no-landlock": {**full, "landlock": 0},
        "negative": {**full, "memory": -1, "more": -(2 ** 63), "ptys": -1, "landlock": -1},
        "huge": {**full, "memory": 2 ** 63 - 1, "disks": [{"path": "/" * 200, "used": 2 ** 63 - 1, "size": 0}] * 9},
        "many": {**full, "variables": [{"name": "v" * 200, "type": "\x1b[31mt"}] * 12},
        "wrong-types": {**full, "variables": {"name": 1}, "disks": "x", "kernel": 7, "fresh": 1},
        "odd-entries": {**full, "variables": [None, 7, [], {"name": None}], "disks": [None, {"path": 3}]},
    }
    seeds = {name: json.dumps(value).encode() for name, value in variants.items()}
    return {**seeds, "twice": b'{"kernel":"ready","kernel":"busy"}', "list": b"[]", "half": b'{"kernel":', "empty": b"", "nul": b'{"a\u0000b":1}'}


def queries():
    full = {"op": "answer", "id": 1, "status": "ok", "matches": ["alpha", "beta"], "start": 2, "end": 5, "more": True, "found": True,
            "data": {"text/plain": "help", "text/html": "<b>help</b>"}, "completeness": "incomplete", "indent": "  "}
    variants = {
        "full": full,
        "outside": {**full, "start": 9, "end": 3},
        "negative": {**full, "start": -1, "end": 2 ** 63 - 1},
        "odd-matches": {**full, "matches": ["", "a\nb", "\x1b[31mred", "\u202e", 5, None, ["x"], "x" * 1500]},
        "many": {**full, "matches": ["m"] * 600},
        "wrong-types": {**full, "matches": {}, "data": [], "found": 1, "indent": 5, "completeness": []},
        "no-text": {**full, "data": {"text/html": "x"}},
        "dirty": {**full, "data": {"text/plain": "\x1b[1mbold\x1b[0m\x07", "text/html": "\u2066x"}, "indent": "\x1b]0;t\x07"},
        **{status: {"status": status} for status in ("busy", "cannot", "timeout", "gone", "too_long", "new")},
        "no-status": {},
    }
    seeds = {name: json.dumps(value).encode() for name, value in variants.items()}
    return {**seeds, "twice": b'{"status":"ok","status":"busy"}', "list": b"[]", "half": b'{"status":', "empty": b""}


def probes():
    good = b"held\tescape\tmount cgroup\tEPERM\nOPEN\thost\tits ssh\tworked\n"
    return {
        "good": good + b"done\t2\t1\t0\n",
        "all-held": b"held\ta\tb\tEPERM\ndone\t1\t0\t0\n",
        "unsure": good + b"cannot tell\ta\tb\tEIO\nno peer\tsessions\tthe next ones\tno-neighbour\ndone\t4\t1\t2\n",
        "hidden-unsure": good + b"cannot tell\ta\tb\tEIO\ndone\t3\t1\t0\n",
        "wrong-count": good + b"done\t3\t1\t0\n",
        "hidden-open": good + b"done\t2\t0\t0\n",
        "old-end": good + b"done\t2\t1\n",
        "no-end": good,
        "end-only": b"done\t0\t0\t0\n",
        "after-end": b"held\ta\tb\tc\ndone\t1\t0\t0\nOPEN\ta\tb\tc\n",
        "too-many-fields": b"held\ta\tb\tc\td\ndone\t1\t0\t0\n",
        "too-few-fields": b"held\ta\tb\ndone\t1\t0\t0\n",
        "empty-name": b"held\t\tb\tc\ndone\t1\t0\t0\n",
        "many": b"held\ta\tb\tc\n" * 300 + b"done\t300\t0\t0\n",
        "many-open": b"OPEN\ta\tb\tc\n" * 30 + b"done\t30\t30\t0\n",
        "junk": b"Segmentation fault\n\xff\xfe\x00held",
        "empty": b"",
    }


def jupyter():
    def message(type, content, kind=0, parent="now", asked="execute_request", buffer=b"", metadata=b"{}"):
        header = json.dumps({"msg_id": "m", "msg_type": type, "version": "5.4"}).encode()
        parent = json.dumps({"msg_id": parent, "msg_type": asked} if parent else {}).encode()
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        parts = (header, parent, metadata, content, buffer)
        return bytes([kind]) + b"".join(struct.pack(">I", len(part)) + part for part in parts)

    def text(text, **more):
        return message("stream", {"name": "stdout", "text": text}, **more)

    def shows(data, type="display_data", **more):
        return message(type, {"data": data, "metadata": {}, "transient": {"display_id": "d"}}, **more)

    idle = message("status", {"execution_state": "idle"})
    error = {"status": "error", "ename": "E", "evalue": "\x1b[31mm", "traceback": ["a", "\x1b[0mb", 5]}
    ok = message("execute_reply", {"status": "ok", "payload": [{"source": "page", "data": {"text/plain": "help"}}]}, kind=1)
    clear = message("clear_output", {"wait": True})
    return {
        "cell": message("status", {"execution_state": "busy"}) + text("hi\n") + shows({"text/plain": "2"}, "execute_result") + idle + ok,
        "error": message("error", error) + message("execute_reply", error, kind=1) + idle,
        "aborted": message("execute_reply", {"status": "aborted"}, kind=1),
        "animation": b"".join(clear + shows({"text/plain": str(i)}) for i in range(4)),
        "update": shows({"text/plain": "a"}) + shows({"text/html": "b"}, "update_display_data"),
        "late": text("mine") + text("late", parent="before") + shows({"text/plain": "x"}, parent="before") + text("nobody", parent=None),
        "results": shows({"text/plain": "1"}, "execute_result") + shows({"text/plain": ""}, "execute_result"),
        "bundle": shows({"image/png": "A\nB", "text/html": ["a", "b"], "text/latex": 5, "no": 1, "application/json": {"a": "\0"}}, buffer=b"\0\xff"),
        "values": bytes([0x80]) + shows({"text/plain": "[1] 2"})[1:],
        "unsigned": text("hi", kind=2),
        "not-json": message("stream", b'{"name":"stdout","text":"\xff\\ud800 \x1b"}') + message("display_data", b'{"data":{"application/json":[NaN,-Infinity,1e999,123456789012345678901]}}'),
        "null": message("status", b"null", metadata=b"null"),
        "deep": message("display_data", b'{"data":{"application/json":' + b"[" * 260),
        "types": message("stream", {"name": 1, "text": []}) + message("error", {"ename": [], "evalue": {}}) + message("display_data", {"data": []}),
    }


def outlines():
    return {
        "bundle": b'{"op":"display","data":{"image/png":"iVBORw0KGgo=","text/plain":"x"}}',
        "escapes": b'["\\n \\u00e9 \\" \\ud83d\\ude00"]',
        "lone": b'["abc \\ud83d def"]',
        "nul": b'["abc \\u0000"]',
        "utf8": "[\"dünn 😀\"]".encode(),
        "not-utf8": b'["abcdefgh\xc3"]',
        "control": b'["abc\ndef"]',
        "names": b'{"a name" : "a value","a name":1}',
        "cut": b'{"a":"bcd',
    }


def emulator():
    """The first byte is the sender: 0 = husk-emulator, 1 = the server."""
    feed, text, state = range(1, 4)
    answers, feeds = b"\x00", b"\x01"
    return {
        "answer": answers + WHOLE + frame(text, 0, b"one\nName?\n") + frame(state, 0, b"Name?"),
        "keys": answers + CUT + frame(text, 0, b"") + frame(state, 1, b""),
        "hidden": answers + WHOLE + frame(text, 0, "\u202e⟦note⟧\x1b[1m\0".encode() + b"\xff") + frame(state, 7, b"\xf0\x9f"),
        "two": answers + WHOLE + frame(text, 0, b"a") + frame(text, 0, b"b") + frame(state, 0, b""),
        "more": answers + WHOLE + frame(text, 0, b"a") + frame(state, 0, b"") + frame(text, 0, b""),
        "large": answers + WHOLE + b"\xff\xff\xff\xff\x02\0\0\0\0",
        "feeds": feeds + CUT + frame(feed, 0, b"one\r\nName? ") + frame(feed, 0, b"Bob\x1b[?1h"),
        "dropped": feeds + WHOLE + frame(feed, 4_000_000_000, b"\x1b#8\x1b[2J\x1b[?1049hx"),
        "repeat": feeds + WHOLE + frame(feed, 0, b"\x1b[b") + frame(feed, 0, b"x\x1b[99b"),
        "unknown": feeds + WHOLE + frame(text, 0, b"x"),
    }


def attach():
    info = {"id": "s" * 26, "language": "python", "status": "running", "age_seconds": 5, "limits": {"memory": 1 << 31, "cpu_quota": 200000}}
    result = {"ending": "ok", "run": 3, "stdout": "a", "stderr": "", "result": {"text/plain": "2"}, "displays": [{"image/png": "iVBORw0KGgo="}],
              "exit_code": -1, "error": {"type": "E", "message": "m", "traceback": "t"},
              "parts": [{"kind": "stdout", "text": "a"}, {"kind": "display"}, {"kind": "gap", "bytes": 7}, {"kind": "result"}, {"kind": "error"}]}
    details = {**info, "left_seconds": 7200, "runs": [{"number": 1, "kind": "command", "state": "queued", "age_ms": 5}],
               "usage": {"answered": True, "disks": [{"path": "/tmp", "used": 1, "size": 2}],
                         "variables": [{"name": "x", "type": "int", "shape": "", "bytes": 28}]}}
    problem = {"type": "urn:husk:problem:queue_full", "status": 429, "kind": "busy", "cause": "queue_full", "detail": "m", "hint": "h"}
    copies = {"files": [{"success": True, "path": "/workspace/a", "size": 3, "notices": ["left out"], "export": {"id": "i", "name": "a", "size": 3}},
                        {"success": False, "path": "b", "problem": problem}]}
    asked = {"kind": "complete", "matches": ["alpha"], "start": 2, "end": 2, "found": True, "text": "help", "completeness": "incomplete"}
    display = {"event": "run.display", "display": {"data": {"text/html": "x"}, "id": "d", "update": True}}
    texts = {"result": result, "details": details, "problem": problem, "copies": copies, "asked": asked, "display": display,
             "cleared": {"display": {"clear": True}}, "prompt": {**result, "ending": "waiting", "prompt": "who? ", "password": True},
             "no-display": {**result, "parts": [{"kind": "display", "display": 9}]},
             "no-result": {**result, "result": {}, "parts": [{"kind": "result"}]}, "no-match": {**asked, "end": 1, "matches": [5]}}
    return {name: json.dumps(value).encode() for name, value in texts.items()}


def kubernetes():
    pod = {"metadata": {"name": "husk-a", "uid": "u", "resourceVersion": "12", "labels": {"husk.store": "s"},
                        "creationTimestamp": "2026-01-02T03:04:05Z"}, "spec": {"nodeName": "n1"}}
    states = {"running": {"running": {}}, "oom": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
              "image": {"waiting": {"reason": "ErrImagePull", "message": "manifest unknown"}}}
    statuses = {name: {"phase": "Running", "containerStatuses": [{"name": "main", "state": state}]} for name, state in states.items()}
    statuses["evicted"] = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}
    statuses["full"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    events = {name: {"type": "MODIFIED", "object": {**pod, "status": status}} for name, status in statuses.items()}
    events["bookmark"] = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "14"}}}
    events["outdated"] = {"type": "ERROR", "object": {"code": 410}}
    seeds = {name: b"\0" + json.dumps(event).encode() for name, event in events.items()}
    for name, message in {"quota": "exceeded quota: a", "rights": "pods is forbidden", "namespace": 'namespaces "a" not found'}.items():
        seeds["status-" + name] = b"\1" + json.dumps({"message": message}).encode()
    return seeds | {"out": b"\2\0\1hello", "words": b"\2\5\2refused\n\3{}", "empty": b"\2\0\1"}


TARGETS = {
    **seeds_texts.TARGETS,
    "args": args,
    "query": queries,
    "attach": attach,
    "emulator": emulator,
    "file-requests": seeds_files.requests,
    "files": seeds_files.files,
    "frames": frames,
    "image": image,
    "inspect": inspect,
    "jupyter": jupyter,
    "kubernetes": kubernetes,
    "lines": lines,
    "link": links,
    "status": statuses,
    "outline": outlines,
    "probe": probes,
    "rpc": lambda: MALFORMED | GOOD,
    "server": server,
    "shell": shell,
    "text": text,
    "wire": wire,
}

if __name__ == "__main__":
    for target, make in TARGETS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        seeds = make()
        for old in folder.iterdir():
            if old.name not in seeds and not old.name.startswith("found-"):
                old.unlink()
        for name, data in seeds.items():
            assert len(data) < 4096, (target, name, len(data))
            (folder / name).write_bytes(data)
        print(f"{target:8} {len(seeds):3} seeds, {sum(map(len, seeds.values()))} bytes")
