"""A manager for the tests: speaks frames (docs/protocol.md, section 1) over a pair of descriptors."""
import collections
import json
import os
import select
import socket
import stat
import struct
import time

HELLO, PING, PONG, EXECUTE, TERMINAL, INTERRUPT, ACK, STOP = range(1, 9)
IMPORT, EXPORT, DONE, ENTRY, DATA, CREDIT, CLAIM = range(9, 16)
OUT, ERR, DISPLAY, RESULT, ERROR, END, EVENT, CALL, PROGRESS, OUT_TAIL, ERR_TAIL, MAP, MARK, INFO, PROMPT, FILE_ITSELF = range(16, 32)
TAKE, STATUS, INPUT = 50, 51, 52
CONSOLE, CONSOLE_SIZE, CONSOLE_DATA, CONSOLE_ERR, CONSOLE_SIGNAL = 60, 61, 62, 63, 64
QUERY, ANSWER, CHECKPOINT = 70, 71, 72
STREAM_OPEN, STREAM_ACCEPT, STREAM_REFUSE, STREAM_DATA, STREAM_CREDIT, STREAM_END = range(90, 96)
GATE, GATE_DENIED = 97, 98
FILES_LIST, FILES_STAT, FILES_DELETE, FILES_MAKE, FILES_READ, FILES_FETCH, FILES_WRITE, ITEM = range(80, 88)
RAW = {PING, PONG, OUT, ERR, OUT_TAIL, ERR_TAIL, ENTRY, DATA, CREDIT, MAP, FILE_ITSELF, CONSOLE_DATA, CONSOLE_ERR, ITEM, STREAM_ACCEPT,
       STREAM_DATA, STREAM_CREDIT, STREAM_END}
FILE, DIRECTORY, SYMLINK, LINK, OTHER = 1, 2, 3, 4, 5
LINKED = 0x8000  # flag in a file's mode: hard links to the file may follow
WINDOW = 1 << 20

Frame = collections.namedtuple("Frame", "type call payload")
Entry = collections.namedtuple("Entry", "type mode mtime size path target data")
Item = collections.namedtuple("Item", "type mode mtime size tag name target")


def pack_entry(type, path, mode=0o755, mtime=1_700_000_000.5, size=0, target=b""):
    seconds, fraction = divmod(mtime, 1)
    return struct.pack(">BHqIQHH", type, mode, int(seconds), int(fraction * 1e9), size, len(path), len(target)) + path + target


def unpack_entry(payload):
    type, mode, seconds, nanoseconds, size, path_len, target_len = struct.unpack_from(">BHqIQHH", payload)
    path, target = payload[27:27 + path_len], payload[27 + path_len:]
    assert len(target) == target_len
    return Entry(type, mode, seconds + nanoseconds / 1e9, size, path, target, {})


def unpack_item(payload):
    type, mode, seconds, nanoseconds, size, tag_len, name_len, target_len = struct.unpack_from(">BHqIQBHH", payload)
    tag, name, target = payload[28:28 + tag_len], payload[28 + tag_len:28 + tag_len + name_len], payload[28 + tag_len + name_len:]
    assert len(target) == target_len
    return Item(type, mode, seconds + nanoseconds / 1e9, size, tag.decode(), name, target)


def pack_request(path, after=b"", **options):
    path = path if isinstance(path, bytes) else path.encode()
    return struct.pack(">HH", len(path), len(after)) + path + after + json.dumps(options).encode()


class Closed(Exception):
    pass


class Reply:
    """The output of one run, from its first frame to its END."""

    def __init__(self, frames):
        self.frames = frames
        self.out = b"".join(f.payload for f in frames if f.type == OUT)
        self.err = b"".join(f.payload for f in frames if f.type == ERR)
        self.out_tail = b"".join(f.payload for f in frames if f.type == OUT_TAIL)
        self.err_tail = b"".join(f.payload for f in frames if f.type == ERR_TAIL)
        self.displays = [f.payload for f in frames if f.type == DISPLAY]
        self.results = [f.payload for f in frames if f.type == RESULT]
        self.errors = [f.payload for f in frames if f.type == ERROR]
        self.progress = [f.payload for f in frames if f.type == PROGRESS]
        ends = [f.payload for f in frames if f.type == END]
        assert len(ends) == 1 and frames[-1].type == END
        self.end = ends[0]
        self.ending = self.end["ending"]
        self.detail = self.end.get("detail", "")


class Client:
    def __init__(self, read_fd, write_fd):
        self.read_fd, self.write_fd = read_fd, write_fd
        self.buffer = bytearray()
        self.waiting = []  # frames that no test has waited for yet
        self.number = 0
        self.queries = 1 << 20
        self.greeting = None
        self.descriptors = []  # descriptors that came with frames
        self.carries = stat.S_ISSOCK(os.fstat(read_fd).st_mode)

    def read_some(self):
        if not self.carries:
            return os.read(self.read_fd, 1 << 20)
        with socket.socket(fileno=os.dup(self.read_fd)) as end:
            data, descriptors, _, _ = socket.recv_fds(end, 1 << 20, 8)
        self.descriptors += descriptors
        return data

    def send_bytes(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.write_fd, view):]

    def send(self, type, call=0, payload=b""):
        if not isinstance(payload, bytes):
            payload = json.dumps(payload).encode()
        self.send_bytes(struct.pack(">IBI", len(payload), type, call) + payload)

    def read_frame(self, timeout=20):
        deadline = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 9:
                length, type, call = struct.unpack_from(">IBI", self.buffer)
                if len(self.buffer) >= 9 + length:
                    payload = bytes(self.buffer[9:9 + length])
                    del self.buffer[:9 + length]
                    return Frame(type, call, payload if type in RAW else json.loads(payload or b"{}"))
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                raise TimeoutError("no frame came")
            data = self.read_some()
            if not data:
                raise Closed()
            self.buffer += data

    def expect(self, match, timeout=20):
        """The first frame that matches, in order of arrival. The others are kept for later calls."""
        for i, frame in enumerate(self.waiting):
            if match(frame):
                return self.waiting.pop(i)
        deadline = time.monotonic() + timeout
        while True:
            frame = self.read_frame(deadline - time.monotonic())
            if match(frame):
                return frame
            self.waiting.append(frame)

    def hello(self, fence=1, version=4, min_version=3):
        self.send(HELLO, 0, {"version": version, "min_version": min_version, "fence": fence})
        frame = self.read_frame()
        assert frame.type == HELLO, frame
        self.greeting = frame.payload
        self.number = frame.payload["last_call"]
        return frame.payload

    def claim(self, session, lease_seconds=300, lifetime_seconds=0, env=None, **more):
        self.send(CLAIM, 0, {"session": session, "lease_seconds": lease_seconds, "lifetime_seconds": lifetime_seconds, "env": env or {},
                             **more})
        return self.event("claimed")

    def event(self, name, timeout=20):
        return self.expect(lambda f: f.type == EVENT and f.payload["event"] == name, timeout).payload

    def ready(self):
        if self.greeting["kernel"] == "starting":
            self.event("kernel_ready")

    def start(self, type, text, timeout_ms=20000, limit=1 << 20, **more):
        self.number += 1
        field = "code" if type == EXECUTE else "command"
        self.send(type, self.number, {field: text, "timeout_ms": timeout_ms, "stdout_limit": limit,
                                      "stderr_limit": limit, **more})
        return self.number

    def finish(self, number, timeout=30, ack=True):
        frames = []
        deadline = time.monotonic() + timeout
        while not frames or frames[-1].type != END:
            frames.append(self.expect(lambda f: f.call == number and f.type != PONG, deadline - time.monotonic()))
        if ack:
            self.send(ACK, number)
        return Reply(frames)

    def take(self, number, aside=False):
        """The output of a run so far: its frames up to the MARK."""
        self.send(TAKE, number, {"aside": aside})
        frames = []
        while not frames or frames[-1].type not in (MARK, END):
            frames.append(self.expect(lambda f: f.call == number and f.type != PONG))
        return frames

    def wait_prompt(self, number):
        """Waits for the prompt of a run and returns it."""
        return self.expect(lambda f: f.call == number and f.type == PROMPT).payload

    def type(self, number, nth, text):
        self.send(INPUT, number, {"number": nth, "text": text})

    def query(self, kind="complete", code="x", **more):
        """Sends a query to the kernel and returns its number, which is not a run's number."""
        self.queries += 1
        self.send(QUERY, self.queries, {"kind": kind, "code": code, "cursor": 0, **more})
        return self.queries

    def answer(self, number):
        return self.expect(lambda f: f.type == ANSWER and f.call == number).payload

    def query_answer(self, *query, **more):
        return self.answer(self.query(*query, **more))

    def checkpoint(self, action, **more):
        """Requests a checkpoint and returns the answer."""
        self.queries += 1
        self.send(CHECKPOINT, self.queries, {"action": action, **more})
        return self.answer(self.queries)

    def status(self):
        self.send(STATUS, 1)
        return self.expect(lambda f: f.type == INFO).payload

    def execute(self, code, **more):
        return self.finish(self.start(EXECUTE, code, **more))

    def terminal(self, command, **more):
        return self.finish(self.start(TERMINAL, command, **more))

    def start_files(self, type, fields):
        self.number += 1
        self.send(type, self.number, fields)
        return self.number

    def import_files(self, destination, entries, bytes=0, done=True, **more):
        """entries: (payload of ENTRY, {offset: data}). Sends within the credit of PID 1 and returns its END."""
        number = self.start_files(IMPORT, {"destination": destination, "bytes": bytes, "entries": len(entries), **more})
        credit = WINDOW
        for payload, data in entries:
            pieces = [(ENTRY, payload)]
            for offset, content in data.items():
                pieces += [(DATA, struct.pack(">Q", offset + at) + content[at:at + 32768])
                           for at in range(0, len(content), 32768)]
            for type, piece in pieces:
                while credit < len(piece) + 9:
                    frame = self.expect(lambda f: f.call == number)
                    if frame.type == END:
                        return frame.payload
                    credit += struct.unpack(">I", frame.payload)[0]
                credit -= len(piece) + 9
                self.send(type, number, piece)
        if not done:
            return number
        self.send(DONE, number)
        return self.expect(lambda f: f.call == number and f.type == END, timeout=60).payload

    def export_files(self, path, on_frame=None, **more):
        """Returns (END, {path: Entry}) and gives credit for all data."""
        number = self.start_files(EXPORT, {"path": path, **more})
        entries = {}
        while True:
            frame = self.expect(lambda f: f.call == number, timeout=60)
            if on_frame:
                on_frame(frame)
            if frame.type == END:
                return frame.payload, entries
            if frame.type == FILE_ITSELF:
                continue
            if frame.type == ENTRY:
                entry = unpack_entry(frame.payload)
                entries[entry.path] = entry
            elif frame.type == DATA:
                entry.data[struct.unpack_from(">Q", frame.payload)[0]] = frame.payload[8:]
            self.send(CREDIT, number, struct.pack(">I", len(frame.payload) + 9))

    def start_request(self, type, path, after=b"", **options):
        """Starts a request about files in place and returns its number."""
        return self.start_files(type, pack_request(path, after, **options))

    def request(self, type, path, after=b"", **options):
        """Returns (END, [Item])."""
        return self.collect_items(self.start_request(type, path, after, **options))

    def collect_items(self, number):
        items = []
        while True:
            frame = self.expect(lambda f: f.call == number, timeout=60)
            if frame.type == END:
                return frame.payload, items
            assert frame.type == ITEM, frame
            items.append(unpack_item(frame.payload))

    def open_file(self, path, **options):
        """Opens a file and returns (number, its Item or END)."""
        number = self.start_request(FILES_READ, path, **options)
        frame = self.expect(lambda f: f.call == number and f.type in (ITEM, END))
        return number, unpack_item(frame.payload) if frame.type == ITEM else frame.payload

    def fetch(self, number, offset, length):
        """Reads a part of an open file and returns (END, data)."""
        self.send(FILES_FETCH, number, struct.pack(">QQ", offset, length))
        data = bytearray()
        while True:
            frame = self.expect(lambda f: f.call == number, timeout=60)
            if frame.type == END:
                return frame.payload, bytes(data)
            assert frame.type == DATA and struct.unpack_from(">Q", frame.payload)[0] == offset + len(data), frame
            data += frame.payload[8:]
            self.send(CREDIT, number, struct.pack(">I", len(frame.payload) + 9))

    def write_file(self, path, content, done=True, **options):
        """Writes a file and returns (END, [Item]), or the number of the request if it is not done."""
        number = self.start_request(FILES_WRITE, path, **options)
        credit = WINDOW
        for at in range(0, len(content), 32768):
            piece = struct.pack(">Q", at) + content[at:at + 32768]
            while credit < len(piece) + 9:
                frame = self.expect(lambda f: f.call == number)
                if frame.type == END:
                    return frame.payload, []
                credit += struct.unpack(">I", frame.payload)[0]
            credit -= len(piece) + 9
            self.send(DATA, number, piece)
        if not done:
            return number
        self.send(DONE, number)
        while True:
            frame = self.expect(lambda f: f.call == number and f.type != CREDIT)
            if frame.type == END:
                return frame.payload, []
            item = unpack_item(frame.payload)
            return self.expect(lambda f: f.call == number and f.type == END).payload, [item]

    def ping(self, payload=b"ping"):
        self.send(PING, 0, payload)
        return self.expect(lambda f: f.type == PONG).payload

    def wait_closed(self, timeout=10):
        deadline = time.monotonic() + timeout
        try:
            while True:
                self.waiting.append(self.read_frame(deadline - time.monotonic()))
        except Closed:
            return
