"""Writes the results as a table, as JSON, as a plot, and as docs/bench.md."""

import json
import math

NAMES = {"husk": "Husk", "rest": "Husk, REST", "rest-unix": "Husk, REST, unix socket", "mcp-http": "Husk, MCP over HTTP",
         "husk-exec": "Husk over docker exec", "kernel": "the kernel alone", "no-checkpoints": "Husk without checkpoints", "jupyter": "jupyter_client, host",
         "jupyter-tcp": "jupyter_client inside, tcp", "jupyter-ipc": "jupyter_client inside, ipc", "mcp-repl": "mcp-repl (no container)",
         "llm-sandbox": "llm-sandbox", "per-call": "one process per call", "docker": "docker run, rm, cp", "husk-direct": "within the session", "husk-exec-direct": "within the session, docker exec",
         "plain": "without a secret", "quiet": "without a flood"}
COLORS = {"husk": "#1f4e79", "rest": "#2e75b6", "rest-unix": "#9dc3e6", "mcp-http": "#41719c",
          "husk-exec": "#5b9bd5", "kernel": "#70ad47", "jupyter": "#d9a441", "jupyter-tcp": "#d9a441", "jupyter-ipc": "#e8c98a",
          "mcp-repl": "#c0504d", "llm-sandbox": "#9e6bb5", "per-call": "#b0b0b0", "docker": "#808080", "husk-direct": "#70ad47", "husk-exec-direct": "#a9d18e", "plain": "#70ad47", "quiet": "#70ad47",
          "no-checkpoints": "#a9d18e"}
# Other programs that a user could choose. The kernel alone is a lower bound for Husk itself.
PEERS = ("jupyter", "jupyter-tcp", "jupyter-ipc", "mcp-repl", "llm-sandbox", "per-call", "docker")
HOW = """All programs of a measure run in one go and take turns in each round, so that load on the machine
affects all of them. The time of a call includes the conversion of its arguments from Python values
and of the answer to Python values, for Husk and for jupyter_client alike.

Every answer is checked: the ending of the run, its value or the length of its text, the picture,
the copied files. A wrong answer ends the benchmark with status 1. So does a budget that is missed
or could not be measured.

- **back to back**: twenty calls of one program in a row, then the turn of the next program. **after
  a pause**: the calling process sleeps for 20 ms before each call, as between the calls of an
  agent; meanwhile caches and CPUs become cold.
- **1 MB of text**: 999,000 characters, all of which reach the client. **a 505 KB picture**: a PNG
  of noise.
- **the kernel alone**: our kernel in a container's namespaces with the benchmark at the other end
  of its link, without PID 1 and the server.
- **one process per call**: `docker exec` and a fresh client of the language for each call, as in
  the system that Husk replaces.
- **mcp-repl** (Posit's) runs its interpreter on the host, without a container; its first call
  starts it. **llm-sandbox** starts a process for each call, in a container of the same image.
  **jupyter_client inside** talks to an ipykernel in the same container.
- **create, no network**: time until a session in a new container is ready, against `docker run` of
  a `sleep` with the same flags and mounts plus the kernel's own start. **create, network**: the
  same, with the engine's default network for `docker run`. **create, network of Husk**: `docker
  run` with the network of sessions, on which sessions cannot reach each other. The engine starts a
  resolver of names for each container of such a network.
- **first call after create**: `1+1` right after the answer of the create. It may wait until the
  interpreter has loaded what its first message did not need.
- **create, warm**: the same with a warm container. **burst**: five creates in a row, three seconds
  after a container has become ready.
- **first create of a server**: a fresh server with default settings creates a session with the
  network, one second after a client asked for the list of tools. Husk was used on the machine
  before.
- **stop**: time until the container is removed, against `docker rm --force`.
- **idle session**: five sessions after one call each, for thirty seconds; memory is that of
  the container's control group plus the private memory of its containerd shim.
- **calls per second**: one call is always under way in each session, for two seconds, five times.
  The client is one Python process. The CPU time of every process is read before and after.
- **HTTP**: `husk serve` beside `husk mcp` over stdio (Husk in these lines). REST is a POST to /v1
  with `Prefer: wait=30`, over TCP or over the unix socket. MCP over HTTP is the newest revision.
  Each client keeps its connection and parses all answers. The client of HTTP sends the same fields
  each time and reads the status and the length from the head.
  The private protocol that attached programs used before took 0.91 times stdio, back to back.
- **HTTP: calls per second**: like the above, with a connection for each session.
- **HTTP: 100 MB**: a file is written with PUT and read with GET, over TCP and without TLS.
- **output to 50 readers**: a cell prints a thousand lines of 100 bytes one by one, while 50 clients
  read the session's events. The time ends when all have the end of the run. Each reader must have
  received all of the output.
- **idle reader**: private memory that 210 open streams of events add to a fresh server, for each.
- **50 pages**: fifty sessions print ten lines of 88 bytes a second. The figures are taken without
  pages, then with a client for each session that follows its events, and reads the list of sessions
  and the session's usage as often as the page does. Each client must have received all lines.
- **start of the server**: `husk mcp` until its first answer, `husk serve` until it has printed how
  to connect. The lines show that HTTP costs `husk mcp` nothing.
- **100 MB**, **10,000 files**: import_files and export_files, which also hash and sync, against
  `docker cp`, which does neither.
- **gate**: a session connects to servers on the host that `CONTAINER_NETWORK_ALLOW` names, and, in
  turns, to the same servers in the session itself. A connect includes the DNS query and the answer
  to one byte. Over `docker exec` all bytes go through frames.
- **gate: HTTPS request**: one of fifty on a connection, with a secret and without one. **gate:
  memory of PID 1**: of 128 connections whose clients do not read. **gate: 1+1 of another
  session**: beside four connections that transfer without end.
- **CPU of a call**: time on a CPU of each process over 500 calls, from /proc; `perf` where it is
  installed.
"""


def number(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def limit(budget):
    return f"{'≥' if budget['at_least'] else '≤'} {budget['limit']}"


def verdict(budget):
    if budget["found"] is None:
        return "not measured"
    if budget["kept"]:
        return "kept"
    factor = budget["limit"] / budget["found"] if budget["at_least"] and budget["found"] else budget["found"] / budget["limit"]
    return f"missed by a factor of {factor:.2f}"


def table(found):
    lines = [f"load {found['load']['min']:.1f} to {found['load']['max']:.1f} on {found['machine']['cpus']} CPUs, {found['seconds']} s", "",
             f"{'':56}{'':26}{'n':>5}{'min':>10}{'p50':>10}{'p95':>10}  ratio to Husk"]
    for measure, entry in found["measures"].items():
        ours = entry["values"].get("husk", {}).get("p50")
        for i, (name, v) in enumerate(sorted(entry["values"].items())):
            ratio = f"{v['p50'] / ours:8.2f}" if ours else ""
            lines.append(f"{measure + ', ' + entry['unit'] if i == 0 else '':56}{NAMES[name]:26}{v['n']:5}{number(v['min']):>10}"
                         f"{number(v['p50']):>10}{number(v['p95']):>10}  {ratio}")
    lines += ["", "budgets"]
    for b in found["budgets"]:
        shown = "" if b["found"] is None else f": {number(b['found'])}"
        lines.append(f"  {'kept  ' if b['kept'] else 'MISSED'} {b['what']}{shown}, {limit(b)}, {verdict(b)}")
    return "\n".join(lines)


def rows(found, measures):
    return [f"| {measure}, {entry['unit']} | {NAMES[name]} | {v['n']} | {number(v['min'])} | {number(v['p50'])} | {number(v['p95'])} |"
            for measure in measures for entry in [found["measures"].get(measure)] if entry for name, v in sorted(entry["values"].items())]


HEAD = ["| measure | program | n | min | p50 | p95 |", "|---|---|---|---|---|---|"]


def rival(found, measure, name, p50):
    """The name and the time of another program. docker run starts no interpreter, so the kernel's start is added to its time."""
    if name != "docker" or ": create" not in measure:
        return NAMES[name], p50
    start = found["measures"].get(f"{measure.split(':')[0]}: the kernel's own start")
    return "docker run and the kernel's start", p50 + start["values"]["kernel"]["p50"] if start else math.inf


def ahead(found):
    """Lines for the measures in which another program is faster than Husk. Only times are compared, not rates."""
    lines = []
    for measure, entry in found["measures"].items():
        ours = entry["values"].get("husk", {}).get("p50")
        for name, v in sorted(entry["values"].items()):
            program, theirs = rival(found, measure, name, v["p50"])
            if ours and name in PEERS and entry["unit"] == "ms" and theirs < ours:
                lines.append(f"| {measure} | {program} | {number(theirs)} | {number(ours)} | {ours / theirs:.2f} |")
    if not lines:
        return ["In this run no other program was faster in any line."]
    return ["| measure, ms p50 | program | its time | Husk | ratio |", "|---|---|---|---|---|", *lines]


def missed(found):
    """Each budget that was missed, with the figures that it is computed from."""
    lines = []
    for b in found["budgets"]:
        if not b["kept"]:
            lines += ["", f"**{b['what']}**: {'not measured' if b['found'] is None else number(b['found'])} ({limit(b)})", ""]
            lines += [*HEAD, *rows(found, b["measures"])] if b["found"] is not None else []
    return ["", "## Missed budgets", *lines] if lines else []


def page(found):
    quick = ", a quick run" if found["quick"] else ""
    lines = ["# Benchmarks", "",
             "Written by `make bench SAVE=1`. Trust ratios and `min`: absolute times are those of this machine.", "",
             f"This run: {found['machine']['cpus']} CPUs, Linux {found['machine']['kernel']}, load {found['load']['min']:.1f} to {found['load']['max']:.1f}, "
             f"{found['seconds']} s{quick}.", "",
             "## Where another program is faster", "", *ahead(found), "", "## How the figures are taken", "", HOW.rstrip(), "",
             "![p50 of the calls](bench.svg)", "", "## Budgets", "", "| what | found | budget | |", "|---|---|---|---|"]
    for b in found["budgets"]:
        lines.append(f"| {b['what']} | {'' if b['found'] is None else number(b['found'])} | {limit(b)} | {verdict(b)} |")
    lines += missed(found)
    lines += ["", "## Measures", "", *HEAD, *rows(found, found["measures"])]
    return "\n".join(lines + hot_path(found)) + "\n"


def hot_path(found):
    lines = []
    for part, entries in found.get("profile", {}).items():
        lines += ["", f"CPU time by function, {part} (perf, largest first; an empty function is a symbol without a name):", "", "| us | library | function |",
                  "|---|---|---|", *(f"| {us} | {library} | {function} |" for us, library, function in entries)]
    return lines


def plot(found):
    """The calls as bars on a logarithmic scale."""
    bars = [(measure, name, v["p50"]) for measure, entry in found["measures"].items() if entry["unit"] == "ms" and not measure.startswith("beside")
            for name, v in sorted(entry["values"].items())]
    low, high = 0.05, max((value for _, _, value in bars), default=1000) * 1.5
    left, width, step = 250, 620, 13

    def x(value):
        return left + width * math.log(max(value, low) / low) / math.log(high / low)

    out, y, last = [], 40, None
    for measure, name, value in bars:
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


def save(found, folder):
    (folder / "bench.json").write_text(json.dumps(found, indent=1) + "\n")
    (folder / "bench.svg").write_text(plot(found))
    (folder / "bench.md").write_text(page(found))
