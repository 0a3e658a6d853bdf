"""The budgets, each with the measures that it is computed from. A budget that could not be measured counts as missed."""

LANGUAGES = ("python", "node", "r")


class Budget:
    """`of(p50)` computes the figure, or raises KeyError if something was not measured; `part` is the part that
    measures it.
    """

    def __init__(self, part, what, limit, of, measures, at_least=False):
        self.part, self.what, self.limit, self.of, self.measures, self.at_least = part, what, limit, of, measures, at_least

    def hold(self, measured):
        def p50(measure, name="husk"):
            return measured[measure]["values"][name]["p50"]

        found = {"what": self.what, "limit": self.limit, "at_least": self.at_least, "measures": self.measures, "found": None, "kept": False}
        try:
            value = self.of(p50)
        except KeyError:
            return found
        return {**found, "found": round(value, 3), "kept": value >= self.limit if self.at_least else value <= self.limit}


def faster(part, measure, peer, times, what=None):
    """A budget for the peer's time as a multiple of Husk's."""
    return Budget(part, f"{what or measure}: times faster than {peer[1]}", times, lambda p50: p50(measure, peer[0]) / p50(measure), [measure],
                  at_least=True)


def share(part, measure, peer, limit, what=None):
    return Budget(part, f"{what or measure}: times {peer[1]}", limit, lambda p50: p50(measure) / p50(measure, peer[0]), [measure])


def plain(part, measure, limit, at_least=False, what=None):
    return Budget(part, what or measure, limit, lambda p50: p50(measure), [measure], at_least)


def cold(language):
    create, own = f"{language}: create, no network", f"{language}: the kernel's own start"
    return Budget("create-cold", f"{create}: times docker run and the kernel's start", 1.1,
                  lambda p50: p50(create) / (p50(create, "docker") + p50(own, "kernel")), [create, own, f"{language}: first call after create, no network"])


def of_call(language):
    return [f"{language}: {what} of a call, {part}" for part in ("client", "server", "PID 1", "kernel") for what in ("CPU", "wake-ups")]


def times_stdio(name, words, limit):
    return [Budget("http", f"{words}, {how}: times stdio", limit, lambda p50, measure=f"HTTP: {how}": p50(measure, name) / p50(measure),
                   [f"HTTP: {how}", "HTTP: CPU of a call, server"]) for how in ("1+1, back to back", "1+1, after a pause of 20 ms")]


def over_http(name, words):
    """Budgets for calls over HTTP: their time beside stdio, and how many fit into a second."""
    rate = "HTTP: calls per second, 8 sessions"
    return [*times_stdio(name, words, 1.2),
            Budget("http", f"{words}, calls per second, 8 sessions", 6000, lambda p50: p50(rate, name), [rate, f"{rate}: CPU of a call, server"],
                   at_least=True)]


def with_parts(budget, measures):
    budget.measures = budget.measures + measures
    return budget


JUPYTER, PER_CALL, DOCKER = ("jupyter", "jupyter_client"), ("per-call", "one process per call"), ("docker", "docker cp")
RATE = "calls per second, 8 sessions"
IDLE_READER = "HTTP: memory of the server for an idle reader"
ROW, PAUSE = "python: 1+1, back to back", "python: 1+1, after a pause of 20 ms"

CONNECT, THROUGH, REQUEST = "gate: connect, and one byte back", "gate: 200 MB", "gate: HTTPS request"
HELD, BESIDE = "gate: memory of PID 1 for 128 connections", "gate: 1+1 of another session"
GATE = [
    Budget("gate", "connecting through the gate: ms more than within the session", 1, lambda p50: p50(CONNECT) - p50(CONNECT, "husk-direct"), [CONNECT]),
    Budget("gate", "throughput of the gate: times that within the session", 0.8, lambda p50: p50(THROUGH) / p50(THROUGH, "husk-direct"), [THROUGH],
           at_least=True),
    Budget("gate", "throughput of the gate in frames, MB/s", 300, lambda p50: p50(THROUGH, "husk-exec"), [THROUGH], at_least=True),
    Budget("gate", "a request with a secret: ms more than without", 1, lambda p50: p50(REQUEST) - p50(REQUEST, "plain"), [REQUEST]),
    plain("gate", HELD, 10, what="memory of PID 1 for 128 connections, MB"),
    Budget("gate", "1+1 beside a flood through the gate of another session: times without", 1.5, lambda p50: p50(BESIDE) / p50(BESIDE, "quiet"), [BESIDE]),
]

BUDGETS = [
    with_parts(plain("calls", ROW, 0.2, what=f"{ROW}, ms"), of_call("python")),
    with_parts(plain("calls", PAUSE, 0.35, what=f"{PAUSE}, ms"), of_call("python")),
    with_parts(faster("calls", ROW, JUPYTER, 12), of_call("python")),
    with_parts(faster("calls", PAUSE, JUPYTER, 8), of_call("python")),
    with_parts(faster("calls", PAUSE, PER_CALL, 60), of_call("python")),
    with_parts(share("calls", PAUSE, ("kernel", "the kernel alone"), 2.5), of_call("python")),
    share("calls", "python: 1 MB of text", JUPYTER, 1),
    share("calls", "python: a 505 KB picture", JUPYTER, 1),
    plain("calls", "python: answer with 1 MB of text, for each byte of it", 1.1),
    *(faster("calls", f"{language}: terminal true", PER_CALL, 20) for language in LANGUAGES),
    with_parts(plain("rates", RATE, 6000, at_least=True), [f"{RATE}: CPU of a call, {part}" for part in ("client", "server", "PID 1", "kernel")]),
    *over_http("rest", "REST"),
    *over_http("mcp-http", "MCP over HTTP"),
    # The private wire of attached programs, which this replaced, took 0.91 times stdio at its last commit (e5deaa44).
    *times_stdio("rest-unix", "REST over the unix socket", 1.1),
    Budget("http", "memory of the server for an idle reader of events, KB", 8, lambda p50: p50(IDLE_READER, "rest"), [IDLE_READER]),
    Budget("http-files", "100 MB out over HTTP, MB/s", 1000, lambda p50: p50("HTTP: 100 MB out", "rest"), ["HTTP: 100 MB out"], at_least=True),
    plain("http", "HTTP: start of the server", 5, what="husk mcp: start to first answer, ms"),
    *(cold(language) for language in LANGUAGES),
    *(share("create-cold", f"{language}: stop, {network}", ("docker", "docker rm -f"), 1.2)
      for language in LANGUAGES for network in ("no network", "network")),
    *(plain("create-warm", f"{language}: create, warm", 2, what=f"{language}: create, warm, ms") for language in LANGUAGES),
    with_parts(share("first", "first create of a server", ("llm-sandbox", "llm-sandbox"), 1), [f"python: create, network{more}" for more in ("", " of Husk")] + ["python: the kernel's own start"]),
    *(plain("first", f"burst: create {k} of 5", 5, what=f"burst: create {k} of 5, ms") for k in (1, 2, 3)),
    plain("start", "server: start to first answer", 4, what="server: start to first answer, ms"),
    share("adapter", "ipykernel: 1+1, back to back", ("jupyter-tcp", "jupyter_client inside"), 1),
    *(with_parts(faster("files", f"{what} {way}", DOCKER, times), [f"{what} {way}: CPU, {part}" for part in ("server", "PID 1")])
      for what, times in (("100 MB", 3), ("10,000 files", 5)) for way in ("in", "out")),
    *GATE,
    plain("idle", "idle session: CPU of PID 1", 0.05, what="idle session: CPU of PID 1, ms a second"),
    plain("idle", "idle session: wake-ups of PID 1", 0.2, what="idle session: wake-ups of PID 1 a second"),
    with_parts(plain("idle", "idle session: all in", 24, what="idle session: all in, MB"),
               ["idle session: control group", "idle session: containerd shim"]),
    *(share("undo", f"undo: 1+1, {how}", ("no-checkpoints", "Husk without checkpoints"), 1.1) for how in ("back to back", "after a pause of 20 ms")),
    *(plain("undo", f"undo: {what}", limit, what=f"{what}, ms")
      for what, limit in (("first call after a checkpoint", 3), ("crash and recovery", 30), ("checkpoint of 1 GB of numpy", 10),
                          ("three branches of a frame of 488 MB", 100))),
    plain("growth", "beside 5 idle sessions: server and helpers", 9, what="server and helpers with 5 sessions, MB"),
    plain("growth", "5 sessions after 2,000 calls each: server and helpers", 16, what="server and helpers with 5 sessions after 2,000 calls each, MB"),
]


def growth(last):
    """Budgets that compare one session with the largest number measured."""
    one, many = "beside 1 idle sessions", f"beside {last} idle sessions"
    return [
        Budget("growth", f"1+1 beside {last} idle sessions: times beside one", 1.3, lambda p50: p50(f"{many}: 1+1") / p50(f"{one}: 1+1"),
               [f"{one}: 1+1", f"{many}: 1+1"]),
        Budget("growth", "memory of the server for each further session, MB", 0.05,
               lambda p50: (p50(f"{many}: server and helpers") - p50(f"{one}: server and helpers")) / (last - 1),
               [f"{one}: server and helpers", f"{many}: server and helpers"]),
    ]


def hold(measured, parts, quick):
    """Results of the budgets of these parts."""
    return [budget.hold(measured) for budget in BUDGETS + growth(10 if quick else 80) if budget.part in parts]
