"""The other session's client: hostile_probe.py SOCKET SESSION runs `1+1` through the attach socket, on a fixed schedule, until its standard input
closes. It is a process of its own, so that nothing the test does delays it. For each due time it prints `DUE SECONDS`, and a run that
takes longer than the period counts for every due time that it has covered: a stall is as bad as it is long."""

import select
import sys
import time

import attach_client

PERIOD = 0.01


def main():
    path, session = sys.argv[1:]
    taken = []
    with attach_client.Attached(path) as attached:
        due = time.monotonic()
        while not select.select([sys.stdin], [], [], max(0, due - time.monotonic()))[0]:
            assert attached.run(session, "1+1")["result"]
            now = time.monotonic()
            while due <= now:
                taken.append((due, now - due))
                due += PERIOD
    print("\n".join(f"{due:.6f} {seconds:.6f}" for due, seconds in taken))


main()
