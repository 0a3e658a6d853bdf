"""Programs of a session see its memory and CPUs instead of the host's, and installers give up soon."""

import json

import pytest
from container import Container, frames

MIB = 1 << 20
# Counts the requests for packages and refuses each, on port 8123.
REFUSE = """
import http.server
class Refuse(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, file=open("/tmp/asked", "a"))
        self.send_error(503)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 8123), Refuse).serve_forever()
"""


@pytest.fixture(scope="module", params=["python", "node", "r"])
def box(request):
    with Container(request.param, "--env", "OMP_NUM_THREADS=1", "--env", "PYTHON_CPU_COUNT=1") as box:
        box.runtime = request.param
        yield box


def shown(box, code):
    reply = box.client.execute(code, timeout_ms=60000)
    assert reply.ending == "ok", reply.frames
    return json.loads(reply.out)


def test_free_shows_the_sessions_memory(box):
    # The kernel's counts of a control group may be two seconds old.
    settled = "until free -m | awk 'NR == 2 { exit $5 < 50 }'; do :; done"
    lines = box.client.terminal(f"head -c 50M /dev/zero >/tmp/x; {settled}; free -m; free -ht; nproc").out.decode().splitlines()
    total, used, free, shared, cached, available = map(int, lines[1].split()[1:])
    assert lines[0].split() == "total used free shared buff/cache available".split() and total == 1024
    assert 50 <= shared <= cached and 50 <= used < 1000 and free + used <= total and abs(available - (total - used)) <= 1, lines
    assert lines[4].split()[:2] == ["Mem:", "1.0Gi"] and lines[6].startswith("Total:") and lines[-1] == "1", lines
    assert all(len(line) == len(lines[0]) for line in lines[1:5:3]), lines


def test_language_functions_report_the_sessions_memory_and_cpus(box):
    if box.runtime == "python":
        code = "import json, os, psutil\nm = psutil.virtual_memory()\n" \
               "print(json.dumps([m.total, m.available, m.used, os.cpu_count(), psutil.cpu_count()]))"
        total, available, used, *cpus = shown(box, code)
        assert total == 1024 * MIB and available + used == total and 20 * MIB < used < 500 * MIB
    elif box.runtime == "node":
        code = "console.log(JSON.stringify([os.totalmem(), os.freemem(), os.availableParallelism(), os.cpus().length]))"
        total, free, *cpus = shown(box, f"const os = require('os'); {code}")
        assert total == 1024 * MIB and 0 < free < total
        reply = box.client.terminal(f"cat >a.mjs <<'E'\nimport * as os from 'node:os'; {code}\nE\nnode a.mjs")
        assert json.loads(reply.out)[0] == total
    else:
        cpus = shown(box, 'library(parallel); cat(sprintf("[%d, %d]", detectCores(), parallel::detectCores(logical = FALSE)))')
    assert set(cpus) == {1}


INSTALLS = {  # R's installer never retries
    "node": ("npm install nope --registry http://127.0.0.1:{}/", "503", "ECONNREFUSED"),
    "python": ("pip install nope --index-url http://127.0.0.1:{}/simple/", "No matching distribution", "Connection refused"),
}


def test_installers_retry_once(box):
    """An index that refuses and one that is missing are both reported with the cause."""
    if box.runtime not in INSTALLS:
        return
    box.client.terminal(f"cat >refuse.py <<'E'{REFUSE}E\npython3 refuse.py & until (: >/dev/tcp/127.0.0.1/8123) 2>/dev/null; do :; done")
    install, *words = INSTALLS[box.runtime]
    for port, cause in zip((8123, 1), words, strict=True):
        command = install.format(port)
        reply = box.client.finish(box.client.start(frames.TERMINAL, command, timeout_ms=60000), timeout=60)
        text = (reply.out + reply.err).decode()
        assert reply.end["exit_code"] == 1 and cause in text and len(text) < 1200, text
    assert len(box.client.terminal("cat /tmp/asked").out.splitlines()) == 2
