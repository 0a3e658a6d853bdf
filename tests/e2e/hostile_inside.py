"""The hostile side of tests/e2e/hostile.py: this text runs as a cell of the session that attacks. text() makes inputs that are small to send and
expensive to parse, to expand or to draw; whatever is random comes from the seed."""

import base64
import functools
import itertools
import json
import os
import random
import struct
import sys
import zlib

ESC = "\x1b"
HIDDEN = "\u200b\u200d\u2060\ufeff\u00ad\u034f\u115f\u3164\u2800\u202e\u2066\ufe0f\U000e0041\U000e0001\U0001d173"


def _moves(r, n):
    return (ESC + f"[{r.randrange(500, 1500)}Gx\n") * (n // 9)


def _erasures(r, n):
    return "x" * (n // 2) + (ESC + f"[{r.randrange(3)}K") * (n // 8)


def _cursor(r, n):
    """Cursor sequences of every kind, with arguments from none to far too many."""
    ends, numbers = "ABCDEFGHJKLMPSTXZ@bdfhlmnrsu", ("", "0", "1", "2", "7", "80", "999", "99999", "4294967297", "1;1", "200;500", "?25", ";;;;")
    some = [f"{ESC}[{r.choice(numbers)}{r.choice(ends)}{r.choice(('', 'x', 'word', chr(10), chr(13), chr(8), chr(9)))}" for _ in range(997)]
    return "".join(itertools.islice(itertools.cycle(some), n // 6))


def _repeats(r, n):
    return ESC + "[b" + f"x{ESC}[99999b{ESC}c{ESC}#8" * (n // 14)


def _returns(r, n):
    return "y" * (n // 3) + "\r" * (n // 3) + "\b" * (n // 3)


def _progress_bars(r, n):
    return "".join(f"\r{i:>7} {'#' * (i % 60)}" for i in range(n // 40))


def _unended(r, n):
    """Sequences that begin and never end."""
    return (ESC + "]" + ESC + "P" + ESC + "[") * (n // 6)


def _lines(r, n):
    return "\n" * n


def _line(r, n):
    return "z" * n


def _wide(r, n):
    return "".join(r.choices("🎈漢→é\u1f3f4", k=64)) * (n // 160)


def _combining(r, n):
    return "a" + "\u0301\u20dd" * (n // 5)


def _hidden(r, n):
    return "".join(r.choices(HIDDEN, k=64)) * (n // 200)


def _brackets(r, n):
    return "⟦note⟧⟦picture 1⟧〚" * (n // 42)


def _controls(r, n):
    return "\x00\x01\x07\x0b\x0c\x0e\x7f\x85\x9b" * (n // 11)


def _tabs(r, n):
    return "\t" * n


def _colours(r, n):
    return f"{ESC}[38;2;1;2;3m.{ESC}[0m" * (n // 19)


TEXTS = {f.__name__[1:]: f for f in (_moves, _erasures, _cursor, _repeats, _returns, _progress_bars, _unended, _lines, _line, _wide,
                                     _combining, _hidden, _brackets, _controls, _tabs, _colours)}


def text(name, seed, n):
    return TEXTS[name](random.Random(seed), n)


def pairs(name, seed, n):
    """Many small parts that alternate between stdout and stderr. Each part overwrites the line that the other stream
    left open.
    """
    r, piece = random.Random(seed), text(name, seed, 64)
    for i in range(n):
        os.write(1 + i % 2, (r.choice(("\r", "\b", "x", "\n", ESC + "[A")) + piece[: r.randrange(1, 40)]).encode())


# --- values


def deep(n):
    value = []
    for _ in range(n):
        value = [value]
    return value


def deep_text(n):
    return '{"a":[' * n + "1" + "]}" * n


@functools.cache
def million(prefix=b"", n=1_000_000):
    """JSON of an object with n members."""
    return b"{" + b",".join(b'"%s%d":1' % (prefix, i) for i in range(n)) + b"}"


# --- pictures


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, data=None, chunks=0):
    """A PNG of a few bytes that claims or holds an enormous number of pixels. `chunks` is the number of useless small
    chunks in it.
    """
    pixels = zlib.compress(b"\0" * min((width + 1) * height, 16_000_000)) if data is None else data
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))]
    parts += [_chunk(b"tEXt", b"a\0b")] * chunks
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def gif(frames):
    return b"GIF89a" + struct.pack("<HH", 7999, 7999) + b"\0\0\0" + (b"\x21\xff\x01a\x00" + b"\x2c" + b"\0" * 4 + b"\xff\x1f\xff\x1f\0\x02\x01\0\0") * frames + b";"


def jpeg(segments):
    return b"\xff\xd8" + b"\xff\xfe\x00\x04ab" * segments + b"\xff\xc0\x00\x0b\x08\x1f\x3f\x1f\x3f\x01\x01\x11\x00" + b"\xff\xd9"


def webp(chunks):
    body = b"WEBP" + b"ABCD\x02\0\0\0ab" * chunks + b"VP8L\x05\0\0\0\x2f\xff\xff\xff\xff\0"
    return b"RIFF" + struct.pack("<I", len(body)) + body


PICTURES = {
    "image/png": (lambda: png(7999, 7999), lambda: png(1 << 31, 1 << 31, b"x"), lambda: png(64, 64, None, 100_000), lambda: b"\x89PNG" * 500_000),
    "image/jpeg": (lambda: jpeg(400_000), lambda: b"\xff" * 3_000_000, lambda: b"\xff\xd8" + b"\xff\xd8" * 1_000_000),
    "image/gif": (lambda: gif(150_000), lambda: b"GIF89a" + b"\0" * 2_000_000),
    "image/webp": (lambda: webp(200_000), lambda: b"RIFF" + b"\xff" * 1_000_000),
}


@functools.cache
def _picture(make):
    return base64.b64encode(make()).decode()


def picture(kind, seed):
    return _picture(random.Random(seed).choice(PICTURES[kind]))


# --- displays


class Shown:
    """A value with a MIME bundle of the attacker's own."""

    def __init__(self, bundle):
        self.bundle = bundle

    def __repr__(self):
        return "Shown"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.bundle


@functools.cache
def link():
    """The kernel's link object, found in the stack frames below this cell."""
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            for found in (value, getattr(value, "link", None), getattr(value, "_link", None)):
                if type(found).__name__ == "Link":
                    return found
        frame = frame.f_back


def send(message):
    """Sends a message straight to PID 1, without the kernel's checks."""
    fd, call = link().fd, link()._call
    body = message.replace(b"@ID@", str(call).encode())
    data = memoryview(len(body).to_bytes(4) + body)
    os.set_blocking(fd, True)
    while data:
        data = data[os.write(fd, data):]


def send_display(data, more=""):
    send(b'{"op":"display","id":@ID@,"data":' + data + more.encode() + b"}")


def bundle(name, seed, n, types):
    return {kind: picture(kind, seed) if kind in PICTURES else text(name, seed, n) for kind in types}


def dumps(value):
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
