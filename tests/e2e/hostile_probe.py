"""The other session's client: hostile_probe.py SOCKET SESSION runs `1+1` through the attach socket, on a fixed
schedule, until its standard input closes. It is a separate process, so that the test does not delay it. For each
due time it prints `DUE SECONDS`. A run that takes longer than the period counts for every due time that it covers,
so long stalls weigh more.
"""

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
