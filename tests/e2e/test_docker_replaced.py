"""The `docker` program is replaced while servers have sessions: calls that need it fail with the cause, all others
work, and everything works again once it is repaired.
"""

import concurrent.futures

import harness
import pytest

pytestmark = pytest.mark.timeout(300)
# The time limit of calls that the fault does not concern: far less than the time in which the fault is noticed.
UNDISTURBED = 15

IMPOSTORS = {
    "garbage": "head -c 100000 /dev/urandom; head -c 100000 /dev/urandom >&2; exit 0",
    "endless garbage": "while head -c 100000 /dev/urandom; do sleep 0.05; done",
    "nonsense status": "echo '{\"Action\":\"die\"}'; exit 77",
    "killed": "kill -9 $$",
    "hangs": "exec sleep 1000",
    "deaf": "trap '' TERM INT HUP; while :; do sleep 1; done",
    "closes its output and stays": "exec >&- 2>&-; exec sleep 1000",
}


class Replaced:
    """A server with a session, whose docker is replaced once `broken` exists."""

    def __init__(self, start, folder, script):
        folder.mkdir()
        self.broken = folder / "broken"
        self.program = folder / "docker"
        self.program.write_text(f"#!/bin/sh\n[ -e {self.broken} ] || exec docker \"$@\"\n{script}\n")
        self.program.chmod(0o755)
        self.server = start(HUSK_DOCKER=self.program)
        self.session = self.server.session(network=False)

    def put_right(self):
        """Repairs docker; Husk is not restarted."""
        self.broken.unlink()
        fresh = self.server.session(network=False)
        for session in (fresh, self.session):
            assert session.code("6 * 7").ok().value == "42"
            assert session.stop().success is True
        self.server.stop()
        harness.wait_until(lambda: not self.clients(), what=f"the end of all that ran {self.program}")

    def clients(self):
        return [command for _, command in harness.processes().values() if str(self.program) in command]


def test_a_replaced_docker_client_is_survived(start, tmp_path):
    """A failed package update can replace the client, for example. Later the client is repaired."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        boxes = list(pool.map(lambda n: Replaced(start, tmp_path / f"docker-{n}", list(IMPOSTORS.values())[n]), range(len(IMPOSTORS))))
        for box in boxes:
            box.broken.touch()
            box.creating = box.server.start_call("create_session", {"network": False})
        for n in range(10):
            for box in boxes:
                assert box.session.code(f"{n}").ok().took < UNDISTURBED  # its stream was open before
        for name, box in zip(IMPOSTORS, boxes):
            failed = box.creating.tool(100)
            assert failed.is_error and box.creating.took < 90, name
            assert len(failed.text) < 3000 and "docker" in failed.text.lower(), (name, failed.text)
        list(pool.map(Replaced.put_right, boxes))
