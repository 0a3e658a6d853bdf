"""Seeds of the HTTP targets."""

import struct

WHOLE, CUT = b"\x00", b"\x07"
HOST = b"Host: h\r\n"
UPGRADE = (b"GET /socket HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


def masked(opcode, payload, final=True):
    """A frame of a client; the mask is zero, so the payload stays readable."""
    head = bytes([(0x80 if final else 0) | opcode])
    if len(payload) < 126:
        head += bytes([0x80 | len(payload)])
    else:
        head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
    return head + b"\0\0\0\0" + payload


def http():
    get = b"GET /v1/a%20b?x=1&y HTTP/1.1\r\n" + HOST
    chunked = b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    return {
        "get": CUT + get + b"Accept: a/b;q=1, text/event-stream\r\nRange: bytes=5-\r\nIf-None-Match: W/\"tag\", \"x\"\r\n\r\n",
        "pipeline": CUT + (get + b"\r\n") * 3,
        "length": WHOLE + b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhelloGET",
        "chunked": CUT + chunked + b"5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
        "both-lengths": CUT + b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "folded": CUT + get + b"A: b\r\n c\r\n\r\n",
        "bare-lf": CUT + b"GET / HTTP/1.1\nHost: h\n\n",
        "old": WHOLE + b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "upgrade": CUT + UPGRADE + b"\x81",
        "response": CUT + b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\n\r\nab",
        "response-chunked": WHOLE + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        "response-to-the-end": WHOLE + b"HTTP/1.1 200 OK\r\n\r\nrest",
        "switching": WHOLE + b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x01x",
        "form": WHOLE + b"--a\r\nContent-Disposition: form-data; name=\"files\"; filename=\"x\\\"y\"\r\n\r\n1,2\r\n--a\r\n\r\n\r\n--a--\r\n",
        "events": CUT + b"\xef\xbb\xbfid: 7\nevent: end\ndata: a\ndata: b\r\n\r\n: c\rretry: 5\r\rdata: x\n\n",
    }


def websocket():
    return {
        "text": WHOLE + UPGRADE + masked(1, "hé".encode()) + masked(8, b"\x03\xe8bye"),
        "cut": CUT + UPGRADE + masked(2, b"x" * 200) + masked(9, b"ping") + masked(10, b"pong"),
        "pieces": CUT + UPGRADE + masked(1, b"he", final=False) + masked(9, b"") + masked(0, b"llo"),
        "too-long": CUT + UPGRADE + masked(2, b"x" * 1001),
        "unmasked": WHOLE + UPGRADE + b"\x81\x02hi",
        "not-utf8": WHOLE + UPGRADE + masked(1, b"\xff"),
        "reserved": WHOLE + UPGRADE + b"\xf1\x80\0\0\0\0",
        "declined": CUT + UPGRADE.replace(b"websocket", b"h2c", 1) + b"GET / HTTP/1.1\r\n" + HOST + b"\r\n",
        "body": CUT + b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nbodyGET / HTTP/1.1\r\n" + HOST + b"\r\n",
        "continue": CUT + b"POST /a HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        "too-large": CUT + b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 2000\r\n\r\nxxx",
    }


META = b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}'


def post(body, *fields):
    """A request to MCP."""
    head = b"POST /mcp HTTP/1.1\r\n" + HOST + b"Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
    return head + b"".join(field + b"\r\n" for field in fields) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def modern(method, name, params=b""):
    body = b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{%s%s}}}' % (method, params, META)
    return post(body, b"MCP-Protocol-Version: 2026-07-28", b"Mcp-Method: " + method, *([b"Mcp-Name: " + name] if name else []))


def mcp_http():
    """Byte 1 begins another connection, byte 2 closes the current one, and $S is a session's id."""
    other, close, session, get = b"\x01", b"\x02", b"Mcp-Session-Id: $S", b"GET /mcp HTTP/1.1\r\n" + HOST + b"Accept: text/event-stream\r\n"
    call = b'"name":"execute_code","arguments":{"session_id":"s","code":"%s"},'
    legacy = b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s}}'
    run = legacy % (5, b"tools/call", (call % b"wait").rstrip(b","))
    return {
        "modern": CUT + modern(b"server/discover", None) + modern(b"tools/list", None),
        "call": CUT + modern(b"tools/call", b"execute_code", call % b"1"),
        "encoded-name": WHOLE + modern(b"tools/call", b"=?base64?ZXhlY3V0ZV9jb2Rl?=", call % b"1"),
        "wrong-name": WHOLE + modern(b"tools/call", b"other", call % b"1"),
        "disconnect": CUT + modern(b"tools/call", b"execute_code", call % b"wait") + close + other + modern(b"tools/list", None),
        "progress": WHOLE + modern(b"tools/call", b"test_tool_with_progress", b'"name":"test_tool_with_progress",'),
        "listen": CUT + modern(b"subscriptions/listen", None, b'"notifications":{"resourcesListChanged":true},') + other
        + modern(b"tools/call", b"export_files", b'"name":"export_files","arguments":{"session_id":"s","files":[{"source":"a"}]},'),
        "session": CUT + post(legacy % (1, b"ping", b""), session) + post(legacy % (2, b"tools/list", b""), session),
        "initialize": CUT + post(legacy % (1, b"initialize", b'"protocolVersion":"2025-03-26"')),
        "batch": WHOLE + post(b"[" + legacy % (1, b"ping", b"") + b"]", session),
        "stream": CUT + get + session + b"\r\n\r\n" + other + post(run, session) + other
        + post(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}', session),
        "resume": CUT + post(legacy % (3, b"tools/call", b'"name":"test_reconnection"'), session) + close + other + get + session
        + b"\r\nLast-Event-ID: 1-0\r\n\r\n",
        "input": WHOLE + post(b'{"jsonrpc":"2.0","id":"husk-1","result":{"action":"accept"}}', session),
        "delete": CUT + post(run, session) + other + b"DELETE /mcp HTTP/1.1\r\n" + HOST + session + b"\r\n\r\n",
        "types": CUT + post(b"{}", b"Accept: text/html") + b"PUT /mcp HTTP/1.1\r\n" + HOST + b"\r\n",
    }


def bodies():
    """The first byte picks a route with a JSON body."""
    found = {
        "session": b'{"language": "python", "dependencies": {"pandas": "2.2.3", "numpy": null}, "memory": "4g", "cpus": 1.5, "env": {"A": ""}}',
        "run": b'{"kind": "cell", "text": "1 + 1", "timeout": "30", "cwd": "/tmp", "interactive": true, "rows": 24, "cols": 80}',
        "imports": b'{"files": [{"content": "YQ==", "encoding": "base64", "destination": "a"}, {"session": "s", "path": "a"}]}',
        "key": b'{"name": "a", "scopes": ["run", 3, "a\\u0000b"], "max_memory": "16g", "max_streams": 1e3}',
        "labels": b'{"labels": {"a": "\\ud800", "b": []}, "keep_alive": "true"}',
        "packages": b'{"packages": {"pandas": ""}, "unknown": {}}',
        "query": b'{"code": "\xc3\xbc", "cursor": -1, "detail": 1}',
    }
    made = {name: bytes([i]) + body for i, (name, body) in enumerate(found.items())}
    broken = {"empty": b"", "list": b"[]", "deep": b'{"a":' * 65 + b"1" + b"}" * 65, "twice": b'{"name": "a", "name": "b"}',
              "not-utf8": b'{"name": "\xff"}', "open": b'{"name": "a'}
    return {**made, **{name: b"\0" + body for name, body in broken.items()}}


TARGETS = {"bodies": bodies, "http": http, "mcp-http": mcp_http, "websocket": websocket}
