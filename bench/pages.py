"""Fifty open pages (page/live.mjs, page/runs.mjs) on fifty sessions that print all the time: what they cost the server.

A page is two connections here: the stream of its session's events, and one for the requests that it repeats. They are
sent as often as the page sends them.
"""

import select
import time

import serve
from husk import cpu_us, memory_kb
from results import Failed

PAGES = 50
STREAMS_OF_A_KEY = 30
SECONDS = 20
LINES_A_SECOND = 10
LIST_SECONDS, USAGE_SECONDS = 5, 4  # LIST_MS and USAGE_MS of page/live.mjs
LINE = "step {} " + "." * 80


class Page:
    """An open page on one session."""

    def __init__(self, server, key, session, n):
        self.session = session
        # Pages are not opened at the same moment.
        self.next_list, self.next_usage = LIST_SECONDS * n / PAGES, USAGE_SECONDS * n / PAGES
        self.stream = serve.Events(server.address, key, f"/v1/sessions/{session}/events?after=now")
        self.requests = serve.Connection(server.address, key)

    def get(self, path):
        self.requests.send("GET", path)
        status, _ = self.requests.read()
        if status != 200:
            raise Failed(f"GET {path}: {status}")

    def tick(self, at):
        """Sends the requests that are due, `at` seconds after the start."""
        if at >= self.next_list:
            self.next_list += LIST_SECONDS
            self.get("/v1/sessions?all=true&brief=true")
        if at >= self.next_usage:
            self.next_usage += USAGE_SECONDS
            self.get(f"/v1/sessions/{self.session}/usage")

    def close(self):
        self.stream.close()
        self.requests.close()


def follow(pages, seconds):
    """Reads the streams while the pages send their requests."""
    poll, by_number = select.poll(), {page.stream.fileno(): page for page in pages}
    for number in by_number:
        poll.register(number, select.POLLIN)
    began = time.perf_counter()
    while (at := time.perf_counter() - began) < seconds:
        for number, _ in poll.poll(100):
            if by_number[number].stream.take():
                raise Failed("a cell ended while its page was measured")
        for page in pages:
            page.tick(at)
    return time.perf_counter() - began


def cost(server, work):
    """Milliseconds of CPU in each second of the work."""
    pids = [server.pid, *server.helpers()]
    before = sum(map(cpu_us, pids))
    seconds = work()
    return (sum(map(cpu_us, pids)) - before) / 1000 / seconds


def check(page):
    """All lines from the first to the newest complete one are there, once."""
    lines = page.stream.output().splitlines()[1:-1]
    first = int(lines[0].split()[1]) if lines else 0
    if len(lines) < LINES_A_SECOND or lines != [LINE.format(i) for i in range(first, first + len(lines))]:
        raise Failed("a page did not get all output of its session")


def wait(seconds):
    time.sleep(seconds)
    return seconds


def measure(bench, results):
    seconds = SECONDS if bench.n == 1 else SECONDS / 4
    code = f"import time\nfor i in range(10**6):\n    print({LINE!r}.format(i), flush=True)\n    time.sleep({1 / LINES_A_SECOND})"
    limits = {"CONTAINER_MAX_SESSIONS": str(PAGES), "CONTAINER_MAX_SESSIONS_PER_THREAD": str(PAGES)}
    with serve.Serve(bench.husk, bench.folder / "pages", HUSK_TRANSPORT="socket", **limits) as server:
        keys = [server.add_key(f"pages-{i}") for i in range(-(-PAGES // STREAMS_OF_A_KEY))]
        sessions = [server.session(memory="512m") for _ in range(PAGES)]
        for session in sessions:
            server.call("POST", f"/v1/sessions/{session}/runs", {"text": code, "timeout": 0})
        name = f"{PAGES} sessions that print {LINES_A_SECOND} lines a second"
        results.add(f"{name}: CPU of the server", "rest", cost(server, lambda: wait(seconds)), "ms a second")
        before = memory_kb(server.pid)[1]
        results.add(f"{name}: memory of the server", "rest", before / 1024, "MB")
        pages = [Page(server, keys[i // STREAMS_OF_A_KEY], session, i) for i, session in enumerate(sessions)]
        results.add(f"{name}, {PAGES} pages: CPU of the server", "rest", cost(server, lambda: follow(pages, seconds)), "ms a second")
        results.add(f"{name}, {PAGES} pages: memory of the server", "rest", memory_kb(server.pid)[1] / 1024, "MB")
        for page in pages:
            check(page)
            page.close()
    results.note_load()
