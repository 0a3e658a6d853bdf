"""Seeds of file transfers and of requests about files in place."""

import json
import struct

from seeds_texts import CUT, WHOLE

ENTRY, DATA, CREDIT, END, MAP, FILE_ITSELF, ITEM = 12, 13, 14, 21, 27, 31, 87
FILE, DIRECTORY, SYMLINK, OTHER = 1, 2, 3, 5


def frame(type, payload=b""):
    return struct.pack(">IBI", len(payload), type, 1) + payload


def item(type, name, size=0, target=b"", tag=b"1-2", mode=0o644, nanoseconds=5):
    fixed = struct.pack(">BHqIQBHH", type, mode, 1_600_000_000, nanoseconds, size, len(tag), len(name), len(target))
    return frame(ITEM, fixed + tag + name + target)


def end(**fields):
    return frame(END, json.dumps(fields).encode())


def request(path, after=b"", **options):
    return struct.pack(">HH", len(path), len(after)) + path + after + json.dumps(options).encode()


def requests():
    top, ok = item(DIRECTORY, b""), end(ending="ok", total=3)
    read = item(FILE, b"", 9) + frame(DATA, struct.pack(">Q", 2) + b"12345") + frame(DATA, struct.pack(">Q", 7) + b"67") + end(ending="ok")
    return {
        "request-list": request(b"/workspace/d", b"name", limit=100),
        "request-delete": request(b"/workspace/\xff", recursive=True, tag="1-2"),
        "request-nul": request(b"/workspace/a\0b"),
        "request-short": struct.pack(">HH", 9, 9) + b"/a{}",
        "request-list-json": struct.pack(">HH", 2, 0) + b"/a[]",
        "page": top + item(FILE, b"b", 5) + item(SYMLINK, b"c", target=b"../x") + item(OTHER, b"d\xff") + ok,
        "page-more": top + item(FILE, b"b") + end(ending="ok", total=-5, more=True),
        "page-unsorted": top + item(FILE, b"c") + item(FILE, b"b") + ok,
        "page-repeats": top + item(FILE, b"a") + ok,
        "page-long": top + b"".join(item(FILE, bytes([n])) for n in b"bcdefg") + ok,
        "no-directory": item(FILE, b"b") + ok,
        "no-item": ok,
        "not-found": end(ending="error", cause="no_file", detail="not \u001b[31m there"),
        "foreign-cause": end(ending="error", cause="no_engine"),
        "refused": end(ending="refused", cause="queue_full"),
        "end-list": frame(END, b"[]"),
        "data": top + frame(DATA, bytes(8) + b"x"),
        "file": frame(FILE_ITSELF) + top + ok,
        **{f"bad-name-{i}": top + item(FILE, n) for i, n in enumerate((b"b/c", b"..", b".", b"b\0", b"b" * 256, b"/"))},
        "read": read,
        "read-more": read + end(ending="ok"),
        "read-short": item(FILE, b"", 9) + frame(DATA, struct.pack(">Q", 2) + b"1") + end(ending="ok"),
        "read-elsewhere": item(FILE, b"", 9) + frame(DATA, struct.pack(">Q", 0) + b"1"),
        "read-too-much": item(FILE, b"", 4) + frame(DATA, struct.pack(">Q", 2) + b"123"),
        "read-changed": item(FILE, b"", 9) + end(ending="error", cause="file_changed"),
        "read-empty": item(FILE, b"") + end(ending="ok"),
        "written": item(FILE, b"", 9) + end(ending="ok", created=True),
        "write-credit": frame(CREDIT, struct.pack(">I", 40)) + frame(CREDIT, struct.pack(">I", 2 ** 32 - 1)),
        "bad-type": top + item(4, b"b"),
        "bad-size": top + item(DIRECTORY, b"b", 1),
        "bad-tag": top + item(FILE, b"b", tag=b"A\n"),
        "no-tag": top + item(FILE, b"b", tag=b""),
        "bad-time": top + item(FILE, b"b", nanoseconds=1_000_000_000),
        "bad-mode": top + item(FILE, b"b", mode=0o10000),
        "bad-target": top + item(FILE, b"b", target=b"x"),
        "no-target": top + item(SYMLINK, b"b"),
    }


def files():
    def entry(type, path, size=0, target=b"", mode=0o755):
        return frame(ENTRY, struct.pack(">BHqIQHH", type, mode, 1_600_000_000, 5, size, len(path), len(target)) + path + target)

    def data(offset, content):
        return frame(DATA, struct.pack(">Q", offset) + content)

    def pieces(*pairs):
        return frame(MAP, b"".join(struct.pack(">QQ", *p) for p in pairs))

    done = end(ending="ok", notices=["'x' was left out"], notices_dropped=3)
    tree = [entry(DIRECTORY, b"", mode=0o500), entry(DIRECTORY, b"d", mode=0o555), entry(FILE, b"d/f", 5), data(0, b"hello"),
            entry(FILE, b"d/e"), entry(SYMLINK, b"l", target=b"/etc/passwd"), entry(FILE, b"x/y/z\n", 3), data(0, b"abc"), done]
    hostile = (b"..", b"../x", b"a/../b", b"/abs", b"a//b", b"a/", b".", b"x" * 256, b"/".join([b"d"] * 65), b"n\0l")
    return {
        "file": WHOLE + entry(FILE, b"", 11) + data(0, b"hello ") + data(6, b"world") + done,
        "file-cut": CUT + entry(FILE, b"", 3) + data(0, b"abc") + done,
        "empty": WHOLE + entry(FILE, b""),
        "tree": WHOLE + b"".join(tree),
        "tree-cut": CUT + b"".join(tree),
        "sparse": WHOLE + entry(FILE, b"", 100000) + pieces((5, 3), (99999, 1)) + data(5, b"mid") + data(99999, b"!") + done,
        "sparse-in-tree": WHOLE + entry(DIRECTORY, b"") + entry(FILE, b"s", 50000) + pieces((8192, 4)) + data(8192, b"data") + done,
        "hole": WHOLE + entry(DIRECTORY, b"") + entry(FILE, b"s", 5000) + pieces() + entry(FILE, b"t", 1) + data(0, b"t"),
        "map-backwards": WHOLE + entry(FILE, b"", 100) + pieces((50, 5), (10, 5)),
        "data-outside": WHOLE + entry(FILE, b"", 3) + data(2, b"xyz"),
        "data-back": WHOLE + entry(FILE, b"", 9) + data(5, b"x") + data(0, b"y"),
        "twice": WHOLE + entry(DIRECTORY, b"") + entry(FILE, b"f", 1) + data(0, b"1") + entry(FILE, b"f", 1) + data(0, b"2"),
        "file-then-directory": WHOLE + entry(DIRECTORY, b"") + entry(FILE, b"f") + entry(FILE, b"f/g"),
        "link-then-through": WHOLE + entry(DIRECTORY, b"") + entry(SYMLINK, b"l", target=b"/tmp") + entry(FILE, b"l/evil", 1) + data(0, b"x"),
        "no-root": WHOLE + entry(FILE, b"a/b", 1) + data(0, b"x"),
        "link-as-root": WHOLE + entry(SYMLINK, b"", target=b"/etc"),
        "end-error": WHOLE + entry(FILE, b"") + end(ending="error", detail="no \u001b[31m room"),
        **{f"hostile-{i}": WHOLE + entry(DIRECTORY, b"") + entry(FILE, path, 1) + data(0, b"x") for i, path in enumerate(hostile)},
    }
