"""One session that attacks its server through every kind of output, while another session of that server runs `1+1`
(hostile_probe.py).

A kind is a function that takes a Rig and a random number generator. Everything that a kind does comes from the
generator, so a seed repeats it. The expensive texts themselves are made inside the session (hostile_inside.py). A
kind may get any answer. The test measures the delay of the other session and the server's memory.
"""

import contextlib
import pathlib
import random
import subprocess
import sys
import time

import attach_client
import harness

HERE = pathlib.Path(__file__).resolve().parent
# Settings of the server: calls become tasks at once for a client that knows them, and code and outputs are kept.
SETTINGS = {"CONTAINER_MAX_SESSIONS": 20, "CONTAINER_MAX_SESSIONS_PER_THREAD": 20, "MCP_TASK_AFTER_SECONDS": 0, "HISTORY_KEEPS_CODE": "true",
            "RECORD_MAX_SIZE": "8m"}
KNOWS_TASKS = {harness.META + "clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
TYPES = ("text/plain", "text/html", "text/markdown", "text/latex", "application/json", "application/javascript", "application/xml",
         "image/svg+xml", "application/pdf", "audio/wav", "application/vnd.vega.v5+json", "application/vnd.husk.figure+json",
         "application/vnd.husk.frame+json", "image/png", "image/jpeg", "image/gif", "image/webp")
TEXTS = ("moves", "erasures", "cursor", "repeats", "returns", "progress_bars", "unended", "lines", "line", "wide", "combining", "hidden",
         "brackets", "controls", "tabs", "colours")
# Size of one text. The smaller size is enough to show quadratic costs.
SIZE = 1_000_000 if harness.LONG else 300_000
KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


def memory_peak(pid):
    """The peak of a process's memory since the last forget_peak(), in bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


class Rig:
    """A server, the attacking session and the measured one."""

    def __init__(self, server):
        self.server = server
        self.watched = server.session(network=False)
        self.session = None
        self.renew()

    def renew(self):
        """Creates a new session for the attacks if they ended the last one."""
        if self.session:
            self.session.stop()
        self.session = self.server.session(network=False)
        self.teach()

    def teach(self):
        self.session.code((HERE / "hostile_inside.py").read_text()).ok()

    def code(self, code=None, timeout=30, **more):
        """Runs a cell. After a restart of the interpreter its helpers are loaded again."""
        done = self.session.code(code, None if "run" in more else timeout, **more)
        if done.is_error:
            self.renew()
        elif done.fields["ending"] not in ("ok", "error", "waiting", "running") and not self.session.code("text").fields["success"]:
            self.teach()
        error = done.fields.get("error")
        kind_of_error = error["type"] if isinstance(error, dict) else None
        assert kind_of_error not in ("NameError", "SyntaxError", "TypeError", "AttributeError", "StopIteration") or "(((" in code, done.text
        return done

    def shell(self, command=None, timeout=30, **more):
        return self.session.shell(command, None if "run" in more else timeout, **more)

    def attached(self):
        return attach_client.Attached(attach_client.sockets(self.server.home)[0])

    def forget_messages(self):
        """Forgets all received messages. Otherwise the test itself would grow, and conftest would check each line
        against the schemas.
        """
        for kept in (self.server.lines, self.server.messages, self.server.notifications, self.server.methods):
            kept.clear()


@contextlib.contextmanager
def watching(rig):
    """Yields a list that is filled at the end of the block: (due, seconds) of each `1+1` of the other session."""
    rig.watched.code("1+1").ok()
    path = attach_client.sockets(rig.server.home)[0]
    probe = subprocess.Popen([sys.executable, str(HERE / "hostile_probe.py"), str(path), rig.watched.id], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    taken = []
    try:
        yield taken
        out, _ = probe.communicate(timeout=harness.PATIENCE)
        assert probe.returncode == 0
        taken += [tuple(map(float, line.split())) for line in out.splitlines()]
    finally:
        probe.kill()
        probe.wait()


def run(rig, names, seed):
    """Yields (kind, began, ended, peak of the server's memory) for each of these kinds."""
    pid = rig.server.process.pid
    for name in names:
        forget_peak(pid)
        began = time.monotonic()
        KINDS[name](rig, random.Random(f"{seed} {name}"))
        yield name, began, time.monotonic(), memory_peak(pid)
        rig.forget_messages()


# --- displays


def each_text(r, per_call=4):
    """All texts in random order, a few for each cell: (name, seed) pairs."""
    names = [(name, r.randrange(1 << 30)) for name in r.sample(TEXTS, len(TEXTS))]
    return [names[i:i + per_call] for i in range(0, len(names), per_call)]


@kind
def plain_displays(rig, r):
    """Each text as a display of plain text."""
    for some in each_text(r):
        rig.code(f"for name, seed in {some}: display({{'text/plain': text(name, seed, {SIZE})}}, raw=True)")


@kind
def displays_of_each_type(rig, r):
    for some in range(0, len(TYPES), 4):
        rig.code(f"for kind in {TYPES[some:some + 4]}: display(bundle({r.choice(TEXTS)!r}, {r.random()}, {SIZE}, [kind]), raw=True)")


@kind
def one_display_of_all_types(rig, r):
    rig.code(f"display(bundle('moves', 1, {SIZE // 2}, {TYPES[:12]}), raw=True)")
    rig.code(f"display(bundle({r.choice(TEXTS)!r}, {r.random()}, {SIZE // 2}, {TYPES}), raw=True)")


@kind
def many_small_displays(rig, r):
    rig.code("for i in range(1000): display({'text/plain': '\\x1b[999Gx\\n' * 9}, raw=True)")
    rig.code(f"for i in range(200): display(Shown({{'text/html': text('wide', i, 2000), 'text/plain': '<{r.random()}>'}}))")


@kind
def updates(rig, r):
    rig.code("h = display({'text/plain': 'x'}, raw=True, display_id=True)\n"
             f"for i in range(100): h.update({{'text/plain': text({r.choice(TEXTS)!r}, i, 30_000)}}, raw=True)")
    rig.code("for i in range(100): display({'text/plain': 'x'}, raw=True, display_id=str(i))\n"
             "for i in range(300): display({'text/plain': text('moves', i, 5_000)}, raw=True, display_id=str(i % 100), update=True)")


@kind
def cleared_displays(rig, r):
    rig.code("from IPython.display import clear_output\n"
             f"for i in range(40): display({{'text/plain': text({r.choice(TEXTS)!r}, i, 100_000)}}, raw=True); clear_output(wait=i % 2 == 0)")


@kind
def live_displays(rig, r):
    """Displays of a run whose client gets them live."""
    with rig.attached() as attached:
        attached.run(rig.session.id, f"for i in range(20): display({{'text/plain': text({r.choice(TEXTS)!r}, i, 200_000)}}, raw=True)")


@kind
def results(rig, r):
    for name in r.sample(TEXTS, 3):
        rig.code(f"Shown({{'text/plain': text({name!r}, {r.random()}, {SIZE}), 'text/html': text({name!r}, 1, {SIZE})}})")
    rig.code("[list(range(100)) for _ in range(1000)]")
    rig.code("10 ** 4000")


@kind
def deep_json(rig, r):
    rig.code("display({'application/json': deep(200)}, raw=True)")
    rig.code("display({'application/json': [[] for _ in range(99_000)]}, raw=True)")
    rig.code("display({'application/json': {str(i): [i] * 4 for i in range(40_000)}}, raw=True)")
    rig.code("display({'application/json': [1e308] * 300_000}, raw=True)")
    rig.code("display({'text/plain': deep_text(100_000), 'application/vnd.vega.v5+json': deep_text(100_000)}, raw=True)")


@kind
def pictures(rig, r):
    for kind_of_picture in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        rig.code(f"for seed in range(3): display({{{kind_of_picture!r}: picture({kind_of_picture!r}, {r.randrange(99)} + seed)}}, raw=True)")


@kind
def giant_base64(rig, r):
    rig.code("display({'image/png': 'A' * 8_000_000}, raw=True)")
    rig.code("display({'audio/wav': '=' * 8_000_000, 'image/jpeg': 'not base64 ' * 100_000}, raw=True)")


# --- the kernel's link


@kind
def straight_to_the_link(rig, r):
    """A display of 11 MB that bypasses the kernel's checks, then texts, depth and numbers of values at PID 1's
    limits.
    """
    rig.code("send_display(dumps({'text/plain': 'x' * 5_000_000 + '\\x1b[1K' * 600_000}))")
    rig.code("send_display(dumps({'text/plain': text('moves', 1, 7_000_000)}))")
    rig.code(f"send_display(dumps(bundle({r.choice(TEXTS)!r}, 2, 300_000, {TYPES})))")


@kind
def structures_on_the_link(rig, r):
    rig.code("send_display(b'{\"application/json\":' + b'[' * 250 + b']' * 250 + b'}')")
    rig.code("send_display(b'{\"application/json\":[' + b','.join([b'[]'] * 99_000) + b']}')")
    rig.code("send_display(b'{\"application/json\":[' + b','.join([b'1'] * 700_000) + b']}')")
    rig.code("send_display(b'{\"application/json\":{' + b','.join(b'\"%d\":1' % i for i in range(200_000)) + b'}}')")
    rig.code("send_display(b'{\"text/plain\":\"' + b'\\\\u001b[1K' * 1_000_000 + b'\"}')")


@kind
def many_messages_on_the_link(rig, r):
    rig.code("for i in range(5_000): send_display(b'{\"text/plain\":\"x\"}', ',\"display_id\":\"%d\"' % (i % 300))")
    rig.code("for i in range(1_000): send_display(b'{}', ',\"clear\":true')")
    rig.code("send(b'{\"op\":\"error\",\"id\":@ID@,\"type\":\"' + b'T' * 3_000_000 + b'\",\"message\":\"' + b'\\\\u001b[999Gx\\\\n' * 300_000"
             " + b'\",\"traceback\":\"' + b'\\\\u001b[1K' * 300_000 + b'\"}')")


@kind
def objects_with_a_million_members(rig, r):
    """Such objects wherever a message may have one: as data, beside the data, in an error, in a result, and with
    escaped names.
    """
    op = r.choice(("result", "error", "stream"))
    rig.code("send_display(b'{\"application/json\":' + million() + b'}')")
    rig.code(f"send_display(million(n={SIZE}))")
    rig.code(f"send_display(b'{{\"text/plain\":\"x\"}}', ',\"metadata\":' + million(n={SIZE}).decode())")
    rig.code(f"send_display(b'{{\"application/json\":' + million(b'\\\\ud83d\\\\ude00', {SIZE // 2}) + b'}}')")
    rig.code(f"send(b'{{\"op\":\"{op}\",\"id\":@ID@,\"data\":' + million(n={SIZE // 2}) + b',\"type\":' + million(n={SIZE // 2}) + b'}}')")
    rig.renew()


@kind
def breaches_of_the_link(rig, r):
    """Violations of the protocol, each of which ends the session's interpreter or loses its variables."""
    breach = r.choice(("send(b'[' * 5_000_000)", "send(b'{\"op\":' + b'9' * 5_000_000 + b'}')", "send(b'{' + b'\"a\":1,' * 900_000 + b'\"b\":1}')"))
    rig.code(breach)
    rig.renew()


# --- streams


@kind
def streams(rig, r):
    for some in each_text(r):
        rig.code(f"import sys\nfor name, seed in {some}: sys.stdout.write(text(name, seed, {SIZE})); sys.stderr.write(text(name, seed, {SIZE}))",
                 progress=f"streams-{r.random()}")


@kind
def short_streams(rig, r):
    """Texts below every limit, so that nothing is cut before it is drawn."""
    for some in each_text(r):
        rig.code(f"import sys\nfor name, seed in {some}: sys.stdout.write(text(name, seed, 9_000)); sys.stderr.write(text(name, seed, 9_000))")


@kind
def many_parts(rig, r):
    rig.code("import os\nos.write(1, b'x' * 19_000)\npairs('line', 1, 20_000)")
    rig.code(f"pairs({r.choice(TEXTS)!r}, {r.randrange(99)}, 20_000)")
    rig.code("for i in range(5_000): os.write(1 + i % 2, b'\\r' + b'y' * 20)")


@kind
def invalid_bytes(rig, r):
    rig.code(f"os.write(1, bytes({r.randrange(128, 256)} for _ in range(100_000)))\nos.write(2, random.Random({r.random()}).randbytes(100_000))")
    rig.code("os.write(1, b'\\xf0\\x9f' * 50_000); os.write(1, b'\\xe2' * 50_000)")


@kind
def live_streams(rig, r):
    with rig.attached() as attached:
        attached.run(rig.session.id, f"import sys\nfor i in range(20): sys.stdout.write(text({r.choice(TEXTS)!r}, i, 200_000))")


@kind
def earlier_runs(rig, r):
    """Runs that no call waits for; later answers report them."""
    for i in range(4):
        rig.shell(f"python3 -c \"print('\\x1b[999Gx\\n' * 30_000)\"; sleep 0.{i}", wait=0)
    rig.code("1+1")
    rig.shell("sleep 0.5")


@kind
def kept_text_of_a_run(rig, r):
    done = rig.code("import sys\nfor i in range(8): sys.stdout.write(text('moves', i, 2_000_000))")
    if done.is_error:
        return
    rig.server.request("resources/read", {"uri": f"husk://run/{rig.session.id}/{done.run}"}).wait()


@kind
def kept_outputs(rig, r):
    """Up to 1 MiB of each run's code and output is sealed into the store."""
    for name in r.sample(TEXTS, 6):
        rig.code(f"import sys\nfor i in range(4): display({{'text/plain': text({name!r}, i, 250_000)}}, raw=True); sys.stderr.write(text({name!r}, i, 9_000))\n"
                 f"display({{'image/png': picture('image/png', {r.randrange(99)})}}, raw=True)\nShown({{'application/json': deep_text(20_000)}})")
    rig.code(f"{'x = 1; ' * 60_000}\n{'#' * 500_000}")
    rig.shell(f": {'y' * 100_000}; head -c 900000 /dev/urandom")


@kind
def tails_for_an_attached_program(rig, r):
    """Runs that end with more output than was shown live: their last 4 MiB are cleaned for attached clients."""
    with rig.attached() as attached:
        for name in r.sample(TEXTS, 4):
            attached.run(rig.session.id, f"import sys\nsys.stdout.write(text({name!r}, 1, 4_000_000)); sys.stderr.write(text('combining', 1, 1_000_000))")
        attached.run(rig.session.id, "yes $'\\r\\b\\e[1K' | head -c 4000000; head -c 4000000 /dev/urandom >&2", "command")


def task_of(rig, task):
    return rig.server.request("tasks/get", {"taskId": task}, meta=KNOWS_TASKS)


@kind
def answers_of_tasks(rig, r):
    """Results of tasks are kept, and a client asks for each again and again."""
    cells = ("import sys\nsys.stdout.write('🎈' * 1_000_000); sys.stderr.write('🎈' * 1_000_000)",
             "display({'image/png': base64.b64encode(png(64, 64, random.Random(1).randbytes(780_000))).decode()}, raw=True)",
             f"for i in range(9): display(bundle({r.choice(TEXTS)!r}, i, 900_000, {TYPES}), raw=True)\nprint(text('controls', 1, 2_000_000))")
    for code in cells:
        begun = rig.server.request("tools/call", {"name": "execute_code", "arguments": {"session_id": rig.session.id, "code": code}}, meta=KNOWS_TASKS)
        task = begun.result().get("taskId")
        if task:
            harness.wait_until(lambda task=task: task_of(rig, task).result()["status"] != "working")
            for _ in range(10):
                task_of(rig, task).result()


# --- terminals and prompts


@kind
def commands(rig, r):
    rig.shell("printf '\\033[b'; yes $'\\e[999Gx' | head -c 1000000; yes $'\\r\\b\\e[1K' | head -c 1000000 >&2")
    rig.shell(f"head -c 1000000 /dev/urandom; exit {r.randrange(256)}")


@kind
def terminals(rig, r):
    rig.shell("printf '\\033[b'", interactive=True, wait=2)
    rig.shell("printf '\\033c\\033#8%.0s' $(seq 3000)", interactive=True, rows=200, cols=500, wait=3)
    rig.shell("yes $'\\e[200;500H\\e[99999b\\e[2J\\e#8' | head -c 300000", interactive=True, rows=200, cols=500, wait=3)


@kind
def terminals_with_texts(rig, r):
    rig.code("\n".join(f"open('/tmp/{name}', 'w').write(text({name!r}, {r.random()}, 200_000))" for name in r.sample(TEXTS, 4)) +
             "\nopen('/tmp/random', 'wb').write(random.randbytes(200_000))")
    rows, cols = r.choice(((24, 80), (200, 500), (1, 1), (200, 2), (2, 500)))
    rig.shell("cat /tmp/*", interactive=True, rows=rows, cols=cols, wait=3)


@kind
def terminals_with_input(rig, r):
    asked = rig.shell("stty raw; cat", interactive=True, rows=200, cols=500, wait=2)
    if not asked.is_error and asked.fields.get("ending") in ("running", "waiting"):
        rig.shell(run=asked.run, input="\x1b[b\x1b#8\x1b[99999b" * 2_000, wait=1)
        rig.shell(run=asked.run, interrupt=True, wait=5)


@kind
def lost_screens(rig, r):
    """Terminals whose emulator dies or is given up while more output is waiting for it."""
    for ends in ("\\033[b", "\\033[99999b\\033[b", "\\033c\\033#8\\033[2147483647b"):
        rig.shell(f"printf '{ends}'; head -c 4000000 /dev/urandom; yes $'\\e[200;500H\\e#8\\e[b' | head -c 4000000; printf '{ends}'",
                  interactive=True, rows=200, cols=500, wait=2)
    for _ in range(r.randrange(2, 5)):
        rig.shell("while printf '\\033[b'; do sleep 0.01; done", interactive=True, rows=200, cols=500, wait=0, timeout=1)
    rig.shell("sleep 1")


@kind
def prompts(rig, r):
    asks = f"for name in {r.sample(TEXTS, 4)}: input(text(name, 1, 100_000))"
    asked = rig.code(asks, interactive=True, wait=2)
    for _ in range(4):
        if not asked.is_error and asked.fields.get("ending") == "waiting":
            asked = rig.code(run=asked.run, input="x", wait=2)
    asked = rig.code(f"import getpass; getpass.getpass(text({r.choice(TEXTS)!r}, 1, 3_000_000))", interactive=True, wait=2)
    if not asked.is_error and asked.fields.get("ending") == "waiting":
        rig.code(run=asked.run, interrupt=True)


# --- errors


@kind
def errors(rig, r):
    for name in r.sample(TEXTS, 2):
        rig.code(f"raise Exception(text({name!r}, {r.random()}, 100_000))")
    rig.code("raise type('E' * 1_000_000, (Exception,), {})('x')")
    rig.code("class Bad(Exception):\n    def __str__(self): return text('moves', 1, 3_000_000)\n"
             "    _render_traceback_ = lambda self: [text('erasures', 1, 500_000)] * 9\nraise Bad")
    rig.code("raise ExceptionGroup('g', [ValueError(str(i)) for i in range(100)])")
    rig.code("(" * 150)


# --- names and variables


@kind
def variables(rig, r):
    rig.code("for i in range(100_000): globals()[f'v{i}'] = i")
    rig.server.call("session_info", {"session_id": rig.session.id})
    rig.code(f"for i in range(1000): globals()[text({r.choice(TEXTS)!r}, i, 200) + str(i)] = "
             "type(text('hidden', i, 400).replace(chr(0), ''), (), {})()")
    rig.server.call("session_info", {"session_id": rig.session.id})
    rig.code("huge = [bytearray(1)] * 1_000_000; many = {str(i): i for i in range(300_000)}; own = huge\nown.append(own)")
    rig.server.call("session_info", {"session_id": rig.session.id})
    rig.code("1", restart=True)
    rig.renew()


@kind
def completions(rig, r):
    rig.code("class Wide:\n    def __dir__(self): return [f'a{i}' + 'é' * 50 for i in range(20_000)]\nwide = Wide()\n"
             f"def helped(): pass\nhelped.__doc__ = text({r.choice(TEXTS)!r}, 1, 200_000)")
    with rig.attached() as attached:
        for kind, question in (("complete", {"code": "wide.", "cursor": 5}), ("complete", {"code": "", "cursor": 0}),
                               ("inspect", {"code": "helped", "cursor": 6, "detail": True}), ("inspect", {"code": "wide", "cursor": 4}),
                               ("is_complete", {"code": "(" * 1000}), ("complete", {"code": "x." * 1000, "cursor": 2000})):
            with contextlib.suppress(attach_client.Refused):
                attached.call("POST", f"/v1/sessions/{rig.session.id}/{kind}", question)


# --- files


FILES = """
import os
os.makedirs('/workspace/odd', exist_ok=True)
r = random.Random({seed})
for i in range(1500):
    odd = bytes(b for b in r.randbytes(r.randrange(1, 60)) if b not in (0, 47))
    name = odd + text(r.choice(list(TEXTS)), i, 90).replace('/', '')[:40].encode()
    name = name.replace(bytes(1), b'')[:200]
    if name not in (b'.', b'..', b''):
        open(b'/workspace/odd/' + name, 'w').close()
path = '/workspace/odd/deep'
for i in range(60):
    path += '/d'
    os.makedirs(path, exist_ok=True)
with open('/workspace/hole', 'wb') as file:
    for i in range(2000):
        file.seek(i << 20)
        file.write(b'x')
os.link('/workspace/hole', '/workspace/odd/hole') if not os.path.exists('/workspace/odd/hole') else None
for i in range(200):
    os.path.lexists(f'/workspace/odd/link{{i}}') or os.symlink('/' * 4000, f'/workspace/odd/link{{i}}')
    os.path.exists(f'/workspace/odd/pipe{{i}}') or os.mkfifo(f'/workspace/odd/pipe{{i}}')
"""


@kind
def files(rig, r):
    rig.code(FILES.format(seed=r.random()))
    names = ["/workspace/odd", "/workspace/\x1b[999Gx\u202e⟦note⟧", "/workspace/" + "é" * 2000, "/proc/self/environ", "/dev/zero", "odd/pipe1"]
    rig.server.call("export_files", {"session_id": rig.session.id, "files": [{"source": name} for name in names]})
    rig.shell("cd /workspace/odd/deep; ls -la ..; find /workspace -newer /nothing")
    rig.server.request("resources/list").wait()


@kind
def exports(rig, r):
    """Files whose content is expensive to send on as text, and names that are expensive to show."""
    name = f"\u202e\u2066{'⟦note⟧' * 20}{r.random()}"
    rig.code(f"open({name!r}, 'w').write(text({r.choice(TEXTS)!r}, 1, 3_000_000))\nopen('/workspace/a.json', 'w').write(deep_text(300_000))\n"
             f"open('/workspace/p.png', 'wb').write(png(7999, 7999))")
    done = rig.server.call("export_files", {"session_id": rig.session.id, "files": [{"source": n} for n in (name, "a.json", "p.png")]})
    for file in done.fields.get("files", []):
        if file.get("uri"):
            rig.server.request("resources/read", {"uri": file["uri"]}).wait()
    rig.server.request("resources/list").wait()


@kind
def imports(rig, r):
    """Imports into a session that has put an obstacle at each destination."""
    rig.shell("rm -rf t; mkdir -p t; ln -s /etc t/link; mkfifo t/pipe; mkdir t/file; for i in $(seq 300); do mkdir -p t/d/$i; done")
    entries = [{"file_content": "x", "destination": f"/workspace/t/{name}"} for name in ("link/a", "pipe", "file", "d", "\u202e" * 80, "new/a")]
    rig.server.call("import_files", {"session_id": rig.session.id, "files": entries})


@kind
def planted_runs(rig, r):
    """Replaces the kept texts of runs by links to endless files."""
    rig.shell("cd; rm -rf .husk/runs; mkdir -p .husk/runs; for i in $(seq 50); do ln -sf /dev/zero .husk/runs/$i.txt; done; ls -la .husk")
    rig.code("print('x' * 100_000)")
    rig.server.request("resources/read", {"uri": f"husk://run/{rig.session.id}/{r.randrange(1, 50)}"}).wait()
