"""Prints what a kernel costs: start to ready, start to first result, one small cell, private memory.

    python tests/kernel/measure.py [runtimes/python/runtime.json …]

The figures beside them were measured on another machine (2 cores, quiet): compare ratios, not milliseconds.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from link_harness import Kernel

STARTS = 7
CELLS = 200
# start to first result ms, `1+1` ms, private MB
FIGURES = {"python": (276, 0.46, 25), "node": (153, 0.17, 15), "r": (250, 0.26, 56)}
SMALL_CELL = {"python": "1+1", "node": "1+1", "r": "1+1"}


def private_megabytes(pid):
    """Memory that only this process holds; what it shares with its like (libraries) is not its cost."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024


def measure(runtime):
    name = json.loads(Path(runtime).read_text())["name"]
    ready, first, cells, memory = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(STARTS):
            start = time.perf_counter()
            with Kernel(runtime, cwd=folder, env={"HOME": folder}) as kernel:
                ready.append(time.perf_counter() - start)
                kernel.run(SMALL_CELL.get(name, "1"))
                first.append(time.perf_counter() - start)
                memory.append(private_megabytes(kernel.process.pid))
                for _ in range(CELLS):
                    before = time.perf_counter()
                    kernel.run(SMALL_CELL.get(name, "1"))
                    cells.append(time.perf_counter() - before)
    return name, [[1000 * t for t in ready], [1000 * t for t in first], [1000 * t for t in cells], memory]


def main():
    runtimes = sys.argv[1:] or sorted(Path(__file__).resolve().parents[2].glob("runtimes/*/runtime.json"))
    print(f"{'':28}{'min':>10}{'median':>10}{'figure':>10}")
    for runtime in runtimes:
        name, columns = measure(runtime)
        result, cell, memory = FIGURES.get(name, ("", "", ""))
        labels = ["ready, ms", "first result, ms", "small cell, ms", "private memory, MB"]
        for label, figure, values in zip(labels, ["", result, cell, memory], columns, strict=True):
            print(f"{name + ' ' + label:28}{min(values):10.2f}{statistics.median(values):10.2f}{figure:>10}")


if __name__ == "__main__":
    main()
