#!/usr/bin/env python3
"""Checks that no acknowledged export is ever lost when the server or Postgres is killed at any moment of the call.

    build/venv/bin/python tests/e2e/kills.py --kills 200 [--seed N] [--store sqlite|postgres]     (make test-long PARTS=kills)

A session writes files and exports them in two calls at once. After a random part of the time that such a call
takes, the server, Postgres or both are killed with SIGKILL and started again. Each export that an answer called a
success must then always be in the store, with its content on disk. Unanswered exports may be there or not.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import PATIENCE, Gone, Server, Session, clean_env, husk_binary, wait_until  # noqa: E402
from postgres import Postgres  # noqa: E402

FILES_A_CALL = 3
CHECK_EVERY = 10


class Kills:
    def __init__(self, home, seed, postgres=None, say=print):
        self.home = pathlib.Path(home)
        self.random = random.Random(seed)
        self.postgres = postgres
        self.say = say
        # A short lease, so that a session that is not taken over ends soon.
        self.settings = {"SESSION_LEASE_SECONDS": 30, **({"DATABASE_URL": postgres.url} if postgres else {})}
        self.kept = {}  # id -> (hash, content, host path) of each acknowledged export
        self.counts = collections.Counter()
        self.took = [0.1]
        self.rounds = 0
        self.server = self.session = None
        self.begin()

    def begin(self):
        """Starts a server and takes over the session of the previous one, or creates a new session if that fails."""
        self.server = Server(self.home, **self.settings)
        if self.session:
            self.session = Session(self.server, self.session.id)
            if not self.session.code("1").is_error:
                return
            self.counts["sessions lost"] += 1
        created = wait_until(self._created, timeout=2 * PATIENCE, what="a session")
        self.session = Session(self.server, created.session_id)

    def _created(self):
        """A new session, or None while a store that was just killed is still starting."""
        created = self.server.call("create_session", {"network": False})
        return None if created.is_error else created

    def start_round(self):
        """Starts two export calls at once and returns (answer, {path: content}) of each."""
        self.rounds += 1
        calls = []
        for half in range(2):
            files = {f"/workspace/r{self.rounds}-{half}-{n}": f"{self.rounds} {half} {n} {self.random.random()}\n" * 100
                     for n in range(FILES_A_CALL)}
            self.session.code("".join(f"_ = open({path!r}, 'w').write({text!r})\n" for path, text in files.items())).ok()
            calls.append(files)
        return [(self.server.start_call("export_files", {"session_id": self.session.id, "files": [{"source": p} for p in files]}), files)
                for files in calls]

    def take_answers(self, calls):
        """Records acknowledged exports and returns their number."""
        before = len(self.kept)
        for answer, files in calls:
            try:
                result = answer.tool()
            except (Gone, AssertionError):
                self.counts["calls without an answer"] += 1
                continue
            for file in result.fields.get("files", []):
                if file["success"]:
                    export = file["uri"].split("/")[3]
                    self.kept[export] = (file["hash"], files[file["path"]].encode(), file["host_path"])
                else:
                    self.counts["exports that failed"] += 1
        return len(self.kept) - before

    def undisturbed_round(self):
        began = time.monotonic()
        calls = self.start_round()
        sent = time.monotonic()
        assert self.take_answers(calls) == 2 * FILES_A_CALL, [a.message for a, _ in calls]
        self.took = [*self.took[-9:], time.monotonic() - sent]
        return sent - began

    def kill_round(self):
        victims = self.random.choice([("server",), ("postgres",), ("server", "postgres")]) if self.postgres else ("server",)
        delay = self.random.uniform(0, 1.2) * statistics.median(self.took)
        calls = self.start_round()
        time.sleep(delay)
        answered = sum(answer.done for answer, _ in calls)
        if "postgres" in victims:
            self.postgres.kill()
        if "server" in victims:
            self.server.process.send_signal(signal.SIGKILL)
            self.server.process.wait()
            self.server.reader.join()
        acknowledged = self.take_answers(calls)
        self.counts[f"kills of {' and '.join(victims)}"] += 1
        self.counts[f"kills when {answered} of 2 calls were answered"] += 1
        if "postgres" in victims:
            self.postgres.start()
        if "server" in victims:
            self.begin()
        return acknowledged

    def listed(self):
        done = subprocess.run([husk_binary(), "exports", "--all", "--json"], env=clean_env(self.home, **self.settings),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return {e["id"]: e for e in json.loads(done.stdout)["exports"]}

    def check(self):
        """Every acknowledged export is there; one of them is read through the server too."""
        there = self.listed()
        lost = [export for export in self.kept if export not in there]
        assert not lost, f"acknowledged and lost: {lost}"
        for export, (digest, content, path) in self.kept.items():
            assert there[export]["hash"] == digest, (there[export], digest)
            stored = pathlib.Path(path).read_bytes()
            assert stored == content and hashlib.blake2b(stored, digest_size=32).hexdigest() == digest, path
        export = self.random.choice(list(self.kept))
        name = there[export]["name"]
        read = self.server.request("resources/read", {"uri": f"husk://exports/{export}/{name}"}).result()
        assert read["contents"][0]["text"].encode() == self.kept[export][1]
        self.counts["exports never acknowledged, yet there"] = len(there) - len(self.kept)

    def run(self, kills):
        for _ in range(3):
            self.undisturbed_round()
        for number in range(1, kills + 1):
            self.kill_round()
            # Also shows that exports work again.
            wait_until(self._works, timeout=2 * PATIENCE, what="an export after the kill")
            if number % CHECK_EVERY == 0 or number == kills:
                self.check()
                self.say(f"  {number} kills, {len(self.kept)} exports acknowledged, none lost; a call takes "
                         f"{statistics.median(self.took) * 1000:.0f} ms")
        return self.counts

    def _works(self):
        try:
            return self.undisturbed_round() >= 0
        except AssertionError:
            self.counts["calls that failed right after a kill"] += 1
            return False

    def end(self):
        if self.server.process.poll() is None:
            self.server.call("stop_session", {"session_id": self.session.id})
        self.server.stop()


def campaign(store, kills, seed, say=print):
    """Runs the campaign on one of the databases and returns the counts."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="husk-kills-"))
    postgres = Postgres() if store == "postgres" else None
    say(f"{store}: {kills} kills, seed {seed}")
    run = Kills(home, seed, postgres, say)
    try:
        counts = run.run(kills)
        counts["exports acknowledged"] = len(run.kept)
        return counts
    finally:
        run.end()
        if postgres:
            postgres.close()
        shutil.rmtree(home)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--store", choices=["sqlite", "postgres"], action="append")
    options = parser.parse_args()
    for store in options.store or ["sqlite", "postgres"]:
        counts = campaign(store, options.kills, options.seed)
        for name in sorted(counts):
            print(f"  {name}: {counts[name]}")


if __name__ == "__main__":
    main()
