"""What was measured as a table, as JSON, as a plot, and as a page that holds it against the budgets."""

import json
import os
import pathlib
import platform
import statistics

# Why a budget is missed, by its name: written by hand, and kept while it is.
REASONS = pathlib.Path(__file__).resolve().parent / "reasons.json"
NAMES = {"a": "one process per call", "b": "jupyter_client, host", "c0": "Husk before, docker exec", "c": "Husk, docker exec", "d": "Husk, socket",
         "e": "the kernel alone", "f": "Husk and husk-jupyter", "g": "jupyter_client inside, tcp", "h": "jupyter_client inside, ipc"}
COLORS = {"a": "#b0b0b0", "b": "#d9a441", "c0": "#9ec3e6", "c": "#5b9bd5", "d": "#1f4e79", "e": "#70ad47", "f": "#1f4e79",
          "g": "#d9a441", "h": "#e8c98a"}


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def summarize(results, quick, seconds):
    measures = {}
    for measure, contenders in results.values.items():
        measures[measure] = {"unit": results.units[measure], "values": {
            name: {"n": len(values), "min": min(values), "p50": statistics.median(values), "p95": percentile(values, 0.95)}
            for name, values in contenders.items()}}
    load = {"min": min(results.load, default=0), "max": max(results.load, default=0)}
    return {"machine": {"cpus": os.cpu_count(), "kernel": platform.release()}, "quick": quick, "seconds": round(seconds), "load": load,
            "measures": measures, "budgets": budgets(measures), "profile": results.profile}


def p50(measures, measure, name):
    return measures.get(measure, {}).get("values", {}).get(name, {}).get("p50")


def budgets(m):
    """(what, found, at most or at least, whether it is kept); only what was measured."""
    found = []

    def hold(what, value, limit, at_least=False):
        if value is not None:
            found.append({"what": what, "found": round(value, 3), "limit": limit, "at_least": at_least,
                          "kept": value >= limit if at_least else value <= limit})

    def ratio(one, other):
        return one / other if one is not None and other else None

    one = {name: p50(m, "python: 1+1", name) for name in NAMES}
    hold("Python 1+1 over the socket, share of docker exec before", ratio(one["d"], one["c0"]), 0.35)
    row = {name: p50(m, "python: 1+1, twenty in a row", name) for name in NAMES}
    hold("Python 1+1 over the socket, twenty in a row, share of docker exec before", ratio(row["d"], row["c0"]), 0.35)
    hold("Python 1+1, times faster than one process per call", ratio(one["a"], one["d"]), 130, at_least=True)
    hold("Python 1+1, times faster than jupyter_client", ratio(one["b"], one["d"]), 8, at_least=True)
    hold("Python 1+1, times the kernel alone", ratio(one["d"], one["e"]), 2.5)
    for language in ("python", "node", "r"):
        own = p50(m, f"{language}: the kernel's own start", "e")
        run = p50(m, f"{language}: create, no network", "docker run")
        hold(f"{language}: cold create without network, times docker run and the kernel's start",
             ratio(p50(m, f"{language}: create, no network", "d"), run + own if run and own else None), 1.5)
        hold(f"{language}: warm create over the socket, ms", p50(m, f"{language}: create, warm", "d"), 20)
    for network in ("no network", "network"):
        measure = f"python: stop, {network}"
        hold(f"stop of a session with {network}, times docker rm -f", ratio(p50(m, measure, "d"), p50(m, measure, "docker rm -f")), 1.5)
    hold("calls per second with 8 sessions", p50(m, "calls per second, 8 sessions", "d"), 2500, at_least=True)
    hold("a 505 KB picture, share of jupyter_client", ratio(p50(m, "python: a 505 KB picture", "d"), p50(m, "python: a 505 KB picture", "b")), 1)
    hold("1 MB of output, share of jupyter_client", ratio(p50(m, "python: 1 MB of output", "d"), p50(m, "python: 1 MB of output", "b")), 1)
    hold("ipykernel behind husk-jupyter, 1+1, share of jupyter_client to the same kernel",
         ratio(p50(m, "ipykernel: 1+1", "f"), p50(m, "ipykernel: 1+1", "g")), 1)
    for what, times in (("100 MB in", 3), ("100 MB out", 3), ("10,000 files in", 5), ("10,000 files out", 5)):
        hold(f"{what}, times faster than docker cp", ratio(p50(m, what, "docker cp"), p50(m, what, "d")), times, at_least=True)
    memory = {n: p50(m, f"beside {n} idle sessions: server and helpers", "d") for n in (1, 5, 10, 50, 100, 200)}
    known = {n: value for n, value in memory.items() if value is not None}
    if len(known) > 1:
        few, many = min(known), max(known)
        each = (known[many] - known[few]) / (many - few)
        hold("server and helpers with 5 sessions, MB", known.get(5, known[few] + (5 - few) * each), 16)
        hold("for each further session, MB", each, 0.3)
    return found


def number(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def table(found):
    lines = [f"load {found['load']['min']:.1f} to {found['load']['max']:.1f} on {found['machine']['cpus']} CPUs, {found['seconds']} s", "",
             f"{'':46}{'':26}{'n':>5}{'min':>10}{'p50':>10}{'p95':>10}  ratio to Husk"]
    for measure, entry in found["measures"].items():
        ours = entry["values"].get("d", entry["values"].get("f", {})).get("p50")
        for i, (name, v) in enumerate(sorted(entry["values"].items())):
            ratio = f"{v['p50'] / ours:8.2f}" if ours else ""
            lines.append(f"{measure + ', ' + entry['unit'] if i == 0 else '':46}{NAMES.get(name, name):26}{v['n']:5}{number(v['min']):>10}"
                         f"{number(v['p50']):>10}{number(v['p95']):>10}  {ratio}")
    lines += ["", "budgets"]
    for b in found["budgets"]:
        lines.append(f"  {'kept  ' if b['kept'] else 'MISSED'} {b['what']}: {number(b['found'])}, at {'least' if b['at_least'] else 'most'} {b['limit']}")
    return "\n".join(lines)


def plot(found):
    """The calls as bars on a logarithmic scale."""
    import math
    rows = [(measure, name, v["p50"]) for measure, entry in found["measures"].items() if entry["unit"] == "ms" and not measure.startswith("beside")
            for name, v in sorted(entry["values"].items()) if name in NAMES]
    low, high = 0.05, max((value for _, _, value in rows), default=1000) * 1.5
    left, width, step = 250, 620, 13

    def x(value):
        return left + width * math.log(max(value, low) / low) / math.log(high / low)

    out, y, last = [], 40, None
    for measure, name, value in rows:
        if measure != last:
            y += 8
            out.append(f'<text x="{left - 8}" y="{y + 9}" text-anchor="end" font-weight="bold">{measure}</text>')
            last = measure
        out.append(f'<rect x="{left}" y="{y}" width="{x(value) - left:.1f}" height="{step - 3}" fill="{COLORS[name]}"/>'
                   f'<text x="{x(value) + 4:.1f}" y="{y + 9}">{number(value)} ms, {NAMES[name]}</text>')
        y += step
    marks = "".join(f'<line x1="{x(v):.1f}" y1="30" x2="{x(v):.1f}" y2="{y}" stroke="#e0e0e0"/><text x="{x(v):.1f}" y="24" text-anchor="middle">{v:g}</text>'
                    for v in (0.1, 1, 10, 100, 1000) if low <= v <= high)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 220}" height="{y + 20}" font-family="sans-serif" font-size="10">'
            f'<rect width="100%" height="100%" fill="white"/>'
            f'<text x="{left}" y="12" font-size="12">p50 in milliseconds, logarithmic</text>{marks}{"".join(out)}</svg>\n')


def page(found):
    quick = ", a quick run" if found["quick"] else ""
    lines = ["# What Husk costs", "",
             "Written by `make bench SAVE=1`, which measures everything in one run, taking turns, on the same images; `bench/run --help` says what is compared.",
             f"This run: {found['machine']['cpus']} CPUs, Linux {found['machine']['kernel']}, load {found['load']['min']:.1f} to {found['load']['max']:.1f}, "
             f"{found['seconds']} s{quick}. Trust ratios, and `min`; absolute times are this machine's.", "", "![p50 of the calls](bench.svg)", "", "## Budgets", "",
             "| what | found | budget | |", "|---|---|---|---|"]
    for b in found["budgets"]:
        limit = f"{'≥' if b['at_least'] else '≤'} {b['limit']}"
        factor = b["limit"] / b["found"] if b["at_least"] else b["found"] / b["limit"]
        lines.append(f"| {b['what']} | {number(b['found'])} | {limit} | {'kept' if b['kept'] else f'missed by a factor of {factor:.2f}'} |")
    lines += ["", "## Measures", "", "| measure | who | n | min | p50 | p95 |", "|---|---|---|---|---|---|"]
    for measure, entry in found["measures"].items():
        for name, v in sorted(entry["values"].items()):
            lines.append(f"| {measure}, {entry['unit']} | {NAMES.get(name, name)} | {v['n']} | {number(v['min'])} | {number(v['p50'])} | {number(v['p95'])} |")
    lines += ["", "## Who spends the time of a call", "", "Python `1+1`, microseconds on a CPU for each call:", "", "| | " + " | ".join(
        NAMES[name] for name in ("c0", "c", "d")) + " |", "|---|---|---|---|"]
    for part in ("server", "docker clients", "PID 1", "kernel"):
        values = [p50(found["measures"], f"python: CPU of a call, {part}", name) for name in ("c0", "c", "d")]
        lines.append(f"| {part} | " + " | ".join("" if value is None else number(value) for value in values) + " |")
    return "\n".join(lines + wakeups(found) + hot_path(found) + missed(found)) + "\n"


def wakeups(found):
    lines = ["", "How often a process waits and is woken, for each call over the socket: "]
    values = {part: p50(found["measures"], f"python: wake-ups of a call, {part}", "d") for part in ("server", "PID 1", "kernel")}
    lines[-1] += ", ".join(f"{part} {value:.1f}" for part, value in values.items() if value is not None) + "."
    return lines if any(value is not None for value in values.values()) else []


def hot_path(found):
    lines = []
    for part, entries in found.get("profile", {}).items():
        lines += ["", f"In which code, {part} over the socket (perf, most first; without a function: what has no name there):", "", "| us | library | function |",
                  "|---|---|---|", *(f"| {us} | {library} | {function} |" for us, library, function in entries)]
    return lines


def missed(found):
    reasons = json.loads(REASONS.read_text())
    lines = [f"- {b['what']}: {number(b['found'])} instead of {b['limit']}. {reasons.get(b['what'], 'No reason is known yet.')}"
             for b in found["budgets"] if not b["kept"]]
    return ["", "## Budgets that were missed, and why", "", *lines] if lines else []


def save(found, folder):
    (folder / "bench.json").write_text(json.dumps(found, indent=1) + "\n")
    (folder / "bench.svg").write_text(plot(found))
    (folder / "bench.md").write_text(page(found))
