"""`husk serve` is killed again and again while clients work. Nothing that was answered with 2xx is lost, a request that is
repeated with its Idempotency-Key gets the first answer and has one effect, and readers see each event once.
"""

import contextlib
import http.client
import itertools
import json
import random
import threading
import time

import harness
import pytest
from postgres import Postgres
from serving import Events, Serving

pytestmark = pytest.mark.timeout(1200)
KILLS = 40


class Place:
    """The present server, and clients that continue with the next one."""

    def __init__(self, home, settings):
        self.home, self.settings = home, settings
        self.changed = threading.Condition()
        self.ended = threading.Event()
        self.serving = Serving(home, **settings)
        self.failures = []
        self.lost = 0

    def restart(self):
        self.serving.kill()
        following = Serving(self.home, **self.settings)
        with self.changed:
            self.serving.process.stdout.close()
            self.serving.stderr.close()
            self.serving = following
            self.changed.notify_all()

    def _wait_for_another(self, than):
        with self.changed:
            assert self.changed.wait_for(lambda: self.serving is not than, 60)

    def send(self, method, path, body=None, **fields):
        """The answer with a status of 2xx, after as many tries as it takes. None: the server was killed before it had
        answered, so that nobody knows whether the request had an effect.
        """
        until = time.monotonic() + 120
        while time.monotonic() < until:
            serving = self.serving
            try:
                reply = serving.call(method, path, body, fields={name.replace("_", "-"): value for name, value in fields.items()})
            except (OSError, http.client.HTTPException):
                self._wait_for_another(serving)
                continue
            if reply.status == 409 and "killed" in reply.json["hint"]:
                with self.changed:
                    self.lost += 1
                return None
            # The session is being taken over, or the server is being killed.
            if reply.status not in (503, 504):
                return reply.ok()
        raise AssertionError(f"{method} {path} was not answered")

    def start(self, work):
        def run():
            try:
                work()
            except BaseException as error:  # pylint: disable=broad-exception-caught
                self.failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class Runs:
    """Each cell counts itself, so a cell that ran twice would be noticed."""

    def __init__(self, place, session):
        self.place, self.path = place, f"/v1/sessions/{session}/runs"
        self.values, self.numbers, self.lost = [], [], 0

    def work(self):
        for i in itertools.count():
            if self.place.ended.is_set():
                return
            key = {"Idempotency_Key": f"run-{i}", "Prefer": "wait=60"}
            first = self.place.send("POST", self.path, {"text": "n += 1; n"}, **key)
            if not first:
                self.lost += 1
                continue
            again = self.place.send("POST", self.path, {"text": "n += 1; n"}, **key)
            assert again and (again.status, again.json["run"]) == (first.status, first.json["run"])
            self.numbers.append(first.json["run"])
            run = first.json
            while run["state"] != "ended":
                run = self.place.send("GET", f"{self.path}/{run['run']}").json
            assert run["ending"] == "ok", run
            self.values.append(int(run["result"]["text/plain"]))

    def check(self):
        total = int(self.place.send("POST", self.path, {"text": "n"}, Prefer="wait=60").json["result"]["text/plain"])
        assert len(set(self.values)) == len(self.values), "two answers are of the same cell"
        assert len(self.values) <= total <= len(self.values) + self.lost, (self.values, total, self.lost)
        assert sorted(set(self.numbers)) == self.numbers


class Exports:
    def __init__(self, place, session):
        self.place, self.path, self.kept = place, f"/v1/sessions/{session}", {}

    def work(self):
        for i in itertools.count():
            if self.place.ended.is_set():
                return
            content = f"content {i}\n" * 1000
            self.place.send("PUT", f"{self.path}/files/workspace/e{i}.txt", content.encode())
            made = self.place.send("POST", f"{self.path}/exports", {"files": [{"path": f"e{i}.txt"}]}, Idempotency_Key=f"export-{i}")
            if made:
                assert made.json["success"], made
                self.kept[made.json["files"][0]["export"]["id"]] = content

    def check(self):
        for name, content in self.kept.items():
            assert self.place.send("GET", f"/v1/exports/{name}/content").body.decode() == content


class Keys:
    def __init__(self, place):
        self.place, self.kept = place, {}

    def work(self):
        for i in range(900):  # a tenant has at most 1,000
            if self.place.ended.is_set():
                return
            made = self.place.send("POST", "/v1/keys", {"name": f"key-{i}"}, Idempotency_Key=f"key-{i}")
            if made:
                self.kept[f"key-{i}"] = made.json["key"]

    def check(self):
        names = [key["name"] for key in self.place.send("GET", "/v1/keys").json["keys"]]
        assert len(set(names)) == len(names) and set(self.kept) <= set(names)
        for name, key in self.kept.items():
            assert self.place.serving.call("GET", "/v1/me", key=key).status == 200, name


class Reader:
    """Reads all events of the session through all servers. A gap has the state of the session: a run that is active there
    ends once after it, even if the end of the run was seen before.
    """

    def __init__(self, place, session):
        self.place, self.path = place, f"/v1/sessions/{session}/events"
        self.numbers, self.ended, self.gaps, self.tries = [], [], 0, 0
        self.since_gap = set()

    def work(self):
        last = "0"
        while not self.place.ended.is_set():
            serving = self.place.serving
            try:
                with contextlib.closing(Events(serving, self.path, fields={"Last-Event-ID": last})) as stream:
                    with stream.changed:
                        stream.changed.wait_for(lambda: stream.ended or self.place.ended.is_set() or self.place.serving is not serving, 60)
            except (OSError, http.client.HTTPException):
                continue
            self.tries += 1
            gaps = self.gaps
            for event in stream.got:
                last = event["id"]
                self.numbers.append(int(last))
                self._take(event)
            assert self.gaps - gaps <= 1, "a reader that connects again gets one gap"

    def _take(self, event):
        if event["event"] == "gap":
            self.gaps += 1
            self.since_gap = set()
        elif event["event"] == "run.ended":
            run = json.loads(event["data"])["run"]
            assert run not in self.since_gap, "an end was seen twice"
            self.since_gap.add(run)
            self.ended.append(run)

    def check(self, runs):
        assert self.numbers == sorted(set(self.numbers)), "an event was seen twice"
        assert 0 < self.gaps <= self.tries
        assert set(runs) & set(self.ended), "other ends may be in a gap"


def wait_for_another_run(place, runs):
    before = len(runs.values)
    harness.wait_until(lambda: place.failures or len(runs.values) > before, what="another run")


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_answers_survive_kills(store, tmp_path, capsys):
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    with contextlib.ExitStack() as stack:
        settings = {"DATABASE_URL": stack.enter_context(contextlib.closing(Postgres())).url} if store == "postgres" else {}
        place = Place(tmp_path / "home", settings)
        stack.callback(lambda: place.serving.stop())
        stack.callback(place.ended.set)
        session = place.serving.create()
        place.send("POST", f"/v1/sessions/{session}/runs", {"text": "n = 0"}, Prefer="wait=60")
        runs, exports, keys, reader = Runs(place, session), Exports(place, session), Keys(place), Reader(place, session)
        threads = [place.start(one.work) for one in (runs, exports, keys, reader)]
        for i in range(KILLS):
            # On a busy machine, most servers would be killed before they have answered anything.
            if i % 2:
                wait_for_another_run(place, runs)
            # Anywhere in a request, which takes some milliseconds, or in the take-over of the session before.
            place.ended.wait(chance.uniform(0, 0.6))
            place.restart()
            assert not place.failures, (seed, place.failures)
        harness.wait_until(lambda: place.failures or place.serving.call("GET", f"/v1/sessions/{session}").status == 200, what="the session")
        place.ended.set()
        with place.changed:
            place.changed.notify_all()
        for thread in threads:
            thread.join(150)
            assert not thread.is_alive()
        assert not place.failures, (seed, place.failures)
        runs.check()
        exports.check()
        keys.check()
        reader.check(runs.numbers)
        assert len(runs.values) >= KILLS / 2 and exports.kept and keys.kept
        with capsys.disabled():
            print(f"\nfigure: {store}: {KILLS} kills; {len(runs.values)} runs, {len(exports.kept)} exports and {len(keys.kept)} keys answered, "
                  f"{place.lost} requests without an answer; {len(reader.numbers)} events, {reader.gaps} gaps")
