"""What a run left behind: processes, containers and files of its own, never those of another run on the same machine or engine."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

# All that a run starts has this in its environment, and its containers that are no session's have it as the label husk.test.
MARK = "HUSK_TEST_RUN"
# The engine outlives the tests, also if one of them had to start it.
ENGINE = ("dockerd", "containerd", "containerd-shim", "docker-proxy")
# What a server asked of the engine as it ended may take some seconds.
PATIENCE = 20


def processes(_folder):
    mark = f"{MARK}={os.environ[MARK]}\0".encode()
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(entry) == os.getpid() or mark not in pathlib.Path("/proc", entry, "environ").read_bytes():
                continue
            name = pathlib.Path("/proc", entry, "comm").read_text().strip()
            command = pathlib.Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if not name.startswith(ENGINE):
            found.append(f"{entry} {command.strip()}")
    return found


def stores(folder):
    """Ids of the stores that servers of this run used: their sessions' containers are labelled with it."""
    found = set((folder / "stores").read_text().split()) if (folder / "stores").exists() else set()  # harness.py notes them
    for path in folder.rglob("husk.db"):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as database:
            found.update(row[0] for row in database.execute("SELECT id FROM store"))
    return found


def containers(folder):
    if not shutil.which("docker"):
        return []
    listed = subprocess.run(["docker", "ps", "--all", "--format", "{{json .}}"], capture_output=True, text=True, check=False)
    ours, found = stores(folder), []
    for line in listed.stdout.splitlines() if listed.returncode == 0 else []:
        container = json.loads(line)
        labels = dict(label.split("=", 1) for label in container["Labels"].split(",") if "=" in label)
        if labels.get("husk.test") == os.environ[MARK] or labels.get("husk.store") in ours:
            found.append(f"{container['Names']} {container['Status']}")
    return found


def files(folder):
    """In the place for temporary files; what pytest keeps of each test is beside it and goes with the run."""
    return sorted(str(path) for path in (folder / "tmp").iterdir())


def look(folder):
    """(what, [what is left of it]) of each kind."""
    for name, search in (("processes", processes), ("containers", containers), ("files", files)):
        deadline = time.monotonic() + PATIENCE
        while (found := search(folder)) and time.monotonic() < deadline:
            time.sleep(0.2)
        yield name, found
