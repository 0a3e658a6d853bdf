"""Where the time of a call is spent: CPU time and wake-ups of each process, and, where perf is installed, in which
code.
"""

import pathlib
import shutil
import signal
import subprocess
import time

from husk import children, cpu_us

TOP = 12
SAMPLES_A_SECOND = "5000"


def wakeups(pid):
    """How often the threads of a process have waited for something."""
    total = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            total += sum(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("voluntary_ctxt_switches"))
        except OSError:
            pass
    return total


def processes(server, session):
    pid_1 = server.pid_1(session)
    return {"server": [server.pid], "docker clients": server.helpers(), "PID 1": [pid_1], "kernel": children(pid_1)}


def cost(parts, call, n):
    """Microseconds on a CPU, and wake-ups, for each of n calls: {part: (us, wake-ups)}."""
    before = {part: (sum(map(cpu_us, pids)), sum(map(wakeups, pids))) for part, pids in parts.items()}
    for _ in range(n):
        call()
    return {part: ((sum(map(cpu_us, pids)) - before[part][0]) / n, (sum(map(wakeups, pids)) - before[part][1]) / n)
            for part, pids in parts.items()}


def shares(data):
    """[(share, library, function)] of a perf file, the largest first."""
    done = subprocess.run(["perf", "report", "--input", str(data), "--no-children", "--stdio", "--percent-limit", "0.5", "--sort", "dso,sym",
                           "--field-separator", "|"], capture_output=True, text=True)
    found = []
    for line in done.stdout.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 3 and not line.startswith("#"):
            function = fields[2].split("] ", 1)[-1]
            found.append((float(fields[0].rstrip("%")) / 100, fields[1].strip("[]"), "" if function.startswith("0x") else function))
    return found


def profile(parts, call, n, folder):
    """{part: [[us for each call, library, function], …]}; {} without perf. Code without a name is summed up by its
    library.
    """
    found = {}
    if not shutil.which("perf"):
        return found
    for part in ("server", "PID 1", "kernel"):
        data = folder / "perf.data"
        perf = subprocess.Popen(["perf", "record", "--quiet", "--freq", SAMPLES_A_SECOND, "--event", "cpu-clock", "--output", str(data), "--pid",
                                 ",".join(map(str, parts[part]))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        us = cost({part: parts[part]}, call, n)[part][0]
        perf.send_signal(signal.SIGINT)
        perf.wait()
        sums = {}
        for share, library, function in shares(data):
            sums[library, function] = sums.get((library, function), 0) + share * us
        found[part] = [[round(value, 1), *where] for where, value in sorted(sums.items(), key=lambda entry: -entry[1])[:TOP]]
        data.unlink(missing_ok=True)
    return found
