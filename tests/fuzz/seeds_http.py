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


TARGETS = {function.__name__: function for function in (http, websocket)}
