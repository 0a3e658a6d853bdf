#!/usr/bin/env python3
"""Prints the costs of each kernel in its image: time to ready, time to the first result (and its CPU time, which
other load changes little), one small cell, and private memory when idle.

    tests/kernel/measure.py [RUNTIME …]

Reference figures from a quiet machine are printed beside them: trust `min`, and compare ratios. Cells go
through `docker exec` here, which is most of the time of a small cell.
"""

import statistics
import sys
import time

from container import Container, frames, images

STARTS = 7
CELLS = 200
CELL = "1+1"  # valid in every language so far
# start to first result ms, `1+1` ms, private MB
FIGURES = {"python": (276, 0.46, 25), "node": (153, 0.17, 15), "r": (250, 0.26, 56)}
LABELS = ("start to ready, ms", "start to first result, ms", "  of that on a CPU, ms", "small cell, ms", "private memory, MB")
# The kernel and the shell of this command are the only children of PID 1.
FIND_KERNEL = "for p in $(cat /proc/1/task/1/children); do [ $p = $$ ] || kernel=$p; done; "


def milliseconds(since):
    return 1000 * (time.perf_counter() - since)


def restart(client):
    """Kills the kernel between two cells. Returns the milliseconds until the next kernel was ready and until it had a
    result.
    """
    killed = client.terminal(FIND_KERNEL + "kill -9 $kernel")
    assert killed.ending == "ok", killed.detail
    client.event("kernel_died")
    start = time.perf_counter()
    number = client.start(frames.EXECUTE, CELL)
    client.event("kernel_ready")
    ready = milliseconds(start)
    client.finish(number)
    return ready, milliseconds(start)


def usage(container):
    """CPU time since the start in milliseconds, and the megabytes that only the kernel holds, without libraries that
    it shares with others. Read from outside, because a command of the session may not read the kernel's /proc
    files.
    """
    said = container.inside("sh", "-c", FIND_KERNEL + "cat /proc/$kernel/smaps_rollup; cat /proc/$kernel/task/*/schedstat")
    lines = [line.split() for line in said.splitlines()]
    memory = sum(int(words[1]) for words in lines if words[0] == "Private_Dirty:")
    return sum(int(words[0]) for words in lines if words[0].isdigit()) / 1e6, memory / 1024


def small_cells(client):
    for _ in range(CELLS):
        start = time.perf_counter()
        client.finish(client.start(frames.EXECUTE, CELL))
        yield milliseconds(start)


def measure(runtime):
    """Lists of values for LABELS."""
    starts = []
    with Container(runtime) as container:
        for _ in range(STARTS):
            starts.append((*restart(container.client), *usage(container)))
        ready, first, cpu, memory = zip(*starts, strict=True)
        return ready, first, cpu, list(small_cells(container.client)), memory


def main():
    print(f"{'':34}{'min':>8}{'median':>8}{'figure':>8}")
    for runtime in sys.argv[1:] or images():
        first, cell, memory = FIGURES.get(runtime, ("", "", ""))
        for label, values, figure in zip(LABELS, measure(runtime), ("", first, first, cell, memory), strict=True):
            print(f"{runtime + ' ' + label:34}{min(values):8.1f}{statistics.median(values):8.1f}{figure:>8}", flush=True)


if __name__ == "__main__":
    main()
