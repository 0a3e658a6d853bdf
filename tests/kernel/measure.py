#!/usr/bin/env python3
"""Prints what each kernel costs in its image: start to ready, start to first result, one small cell, private memory when idle.

    tests/kernel/measure.py [RUNTIME …]

Beside them stand the figures that small kernels of the kind had on a quiet machine: trust `min`, and compare ratios. Cells go by way of
`docker exec` here, which is most of a small one's time.
"""

import statistics
import sys
import time

from container import Container, frames, images

STARTS = 7
CELLS = 200
CELL = "1+1"  # in any language so far
# start to first result ms, `1+1` ms, private MB
FIGURES = {"python": (276, 0.46, 25), "node": (153, 0.17, 15), "r": (250, 0.26, 56)}
LABELS = ("start to ready, ms", "start to first result, ms", "small cell, ms", "private memory, MB")
# The kernel is the only child of PID 1 but for the shell that this runs in.
FIND_KERNEL = "for p in $(cat /proc/1/task/1/children); do [ $p = $$ ] || kernel=$p; done; "


def milliseconds(since):
    return 1000 * (time.perf_counter() - since)


def restart(client):
    """Kills the kernel between two cells; returns the milliseconds until the next one was ready and until it had a result."""
    killed = client.terminal(FIND_KERNEL + "kill -9 $kernel")
    assert killed.ending == "ok", killed.detail
    client.event("kernel_died")
    start = time.perf_counter()
    number = client.start(frames.EXECUTE, CELL)
    client.event("kernel_ready")
    ready = milliseconds(start)
    client.finish(number)
    return ready, milliseconds(start)


def private_megabytes(client):
    """Memory that only the kernel holds; what it shares with its like (libraries) is not its cost."""
    rollup = client.terminal(FIND_KERNEL + "cat /proc/$kernel/smaps_rollup").out.decode()
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_Dirty")) / 1024


def small_cells(client):
    for _ in range(CELLS):
        start = time.perf_counter()
        client.finish(client.start(frames.EXECUTE, CELL))
        yield milliseconds(start)


def measure(runtime):
    """What LABELS says, as lists."""
    ready, first, memory = [], [], []
    with Container(runtime) as container:
        for _ in range(STARTS):
            for values, value in zip((ready, first), restart(container.client), strict=True):
                values.append(value)
            memory.append(private_megabytes(container.client))
        return ready, first, list(small_cells(container.client)), memory


def main():
    print(f"{'':36}{'min':>8}{'median':>8}{'figure':>8}")
    for runtime in sys.argv[1:] or images():
        figures = ("", *FIGURES.get(runtime, ("", "", "")))
        for label, values, figure in zip(LABELS, measure(runtime), figures, strict=True):
            print(f"{runtime + ' ' + label:36}{min(values):8.1f}{statistics.median(values):8.1f}{figure:>8}", flush=True)


if __name__ == "__main__":
    main()
