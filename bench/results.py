"""The measured values, and how contenders take turns."""

import collections
import os
import statistics
import time


class Failed(Exception):
    """A call did not do what it should. Its time means nothing, so the whole run ends."""


def milliseconds(began):
    return 1000 * (time.perf_counter() - began)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


class Results:
    def __init__(self):
        self.values = collections.defaultdict(lambda: collections.defaultdict(list))  # measure -> contender -> values
        self.units = {}
        self.load = []
        self.profile = {}

    def add(self, measure, contender, value, unit="ms"):
        self.values[measure][contender].append(value)
        self.units[measure] = unit

    def note_load(self):
        self.load.append(os.getloadavg()[0])

    def turns(self, measure, rounds, contenders, warm=1, in_a_row=1):
        """Calls each contender in turn, `rounds` times, once or several times in a row. A contender is a function that returns milliseconds,
        or (function, every) to take part in each every-th round only."""
        contenders = {name: entry if isinstance(entry, tuple) else (entry, 1) for name, entry in contenders.items()}
        began = time.monotonic()
        for function, _ in contenders.values():
            for _ in range(warm):
                function()
        names = list(contenders)
        for i in range(rounds):
            for name in names[i % len(names):] + names[:i % len(names)]:
                function, every = contenders[name]
                for _ in range(in_a_row if i % every == 0 else 0):
                    self.add(measure, name, function())
        self.note_load()
        print(f"  {measure}: {time.monotonic() - began:.0f} s", flush=True)

    def measures(self):
        return {measure: {"unit": self.units[measure], "values": {
            name: {"n": len(values), "min": min(values), "p50": statistics.median(values), "p95": percentile(values, 0.95)}
            for name, values in contenders.items()}} for measure, contenders in self.values.items()}
