"""Several `husk serve` processes as they run on several machines: each has a state folder of its own, so they meet only
over TCP, and all share a Postgres, an ENCRYPTION_KEY and a STORAGE_DIR.
"""

import contextlib
import itertools
import socket

from postgres import Postgres
from serving import Api, Serving


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Fleet(Api):
    """A client of all servers: each request goes to the next of them, as through a load balancer."""

    def __init__(self, folder, n=3, **settings):
        self.folder = folder
        self.postgres = Postgres()
        self.numbers = itertools.count()
        self.settings = {"DATABASE_URL": self.postgres.url, "ENCRYPTION_KEY": "k" * 40, "STORAGE_DIR": str(folder / "storage"),
                         "CONTAINER_MAX_SESSIONS": 30, "CONTAINER_MAX_SESSIONS_PER_THREAD": 30, **settings}
        (folder / "storage").mkdir(parents=True)
        self.servers = []
        self.turns = itertools.count()
        for _ in range(n):
            self.add()
        self.key = self.make_key("fleet")

    def make_key(self, name, *args, tenant="acme"):
        return self.servers[0].husk("keys", "add", name, "--tenant", tenant, *args).stdout.strip()

    def add(self, home=None, port=0, **settings):
        """Starts one more server, or the next process of a home."""
        port = port or free_port()
        one = Serving(home or self.folder / f"server{next(self.numbers)}", port=port,
                      **{**self.settings, "HUSK_ADVERTISE": f"127.0.0.1:{port}", **settings})
        one.advertised = port
        self.servers.append(one)
        return one

    def restart(self, one):
        """The next process of a server that has ended."""
        self.servers.remove(one)
        one.process.stdout.close()
        one.stderr.close()
        return self.add(home=one.home, port=one.port)

    def connect(self, timeout=60):
        return self.servers[next(self.turns) % len(self.servers)].connect(timeout)

    def owner(self, session):
        """The server that has the session."""
        place = self.postgres.sql(f"SELECT owner_host FROM sessions WHERE id = '{session}'")[0][0]
        return next(one for one in self.servers if place.endswith(f":{one.port}"))

    def others(self, session):
        return [one for one in self.servers if one is not self.owner(session)]

    def close(self):
        for one in self.servers:
            with contextlib.suppress(OSError, AssertionError):
                one.stop()
        self.postgres.close()
