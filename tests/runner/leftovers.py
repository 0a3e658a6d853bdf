"""Finds what a run left behind: its processes, containers, volumes and files, never those of another run on the same
machine or engine.
"""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

# Every process of a run has this in its environment. Containers of a run that are not sessions have it as the label
# husk.test.
MARK = "HUSK_TEST_RUN"
# The engine outlives the tests, even if a test had to start it.
ENGINE = ("dockerd", "containerd", "containerd-shim", "docker-proxy")
# The last requests of a server to the engine may take some seconds.
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
    """Ids of the stores that servers of this run used. Containers of their sessions have it as a label."""
    found = set((folder / "stores").read_text().split()) if (folder / "stores").exists() else set()  # harness.py records them
    for path in folder.rglob("husk.db"):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as database:
            found.update(row[0] for row in database.execute("SELECT id FROM store"))
    return found


def ask_engine(*args):
    """Returns the lines of the engine's answer; none if there is no engine."""
    if not shutil.which("docker"):
        return []
    done = subprocess.run(["docker", *args], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def is_ours(labels, ours):
    return labels.get("husk.test") == os.environ[MARK] or labels.get("husk.store") in ours


def containers(folder):
    ours, found = stores(folder), []
    for line in ask_engine("ps", "--all", "--format", "{{json .}}"):
        container = json.loads(line)
        if is_ours(dict(label.split("=", 1) for label in container["Labels"].split(",") if "=" in label), ours):
            found.append(f"{container['Names']} {container['Status']}")
    return found


def watch(folder):
    """Records which containers are created and their volumes, because after a container is removed, nothing shows which
    volumes were its own.
    """
    env = {name: value for name, value in os.environ.items() if name != MARK}  # otherwise this process would count as left behind
    filters = [word for one in ("type=container", "event=create", "type=volume", "event=mount") for word in ("--filter", one)]
    with open(folder / "events", "wb") as events, contextlib.suppress(OSError):
        return subprocess.Popen(["docker", "events", *filters, "--format", "{{json .}}"], stdin=subprocess.DEVNULL, stdout=events,
                                stderr=subprocess.DEVNULL, env=env, start_new_session=True)
    return None


def volumes(folder):
    ours, made, mounted = stores(folder), set(), {}
    for line in (folder / "events").read_text().splitlines():
        with contextlib.suppress(ValueError):  # the last line is still being written
            event = json.loads(line)
            actor, about = event["Actor"]["ID"], event["Actor"]["Attributes"]
            if event["Type"] == "volume":
                mounted[actor] = about.get("container")
            elif is_ours(about, ours):
                made.add(actor)
    return [name for name in ask_engine("volume", "ls", "--quiet") if mounted.get(name) in made]


def files(folder):
    """Files left in the folder for temporary files. pytest's own files are beside it and are removed with the run."""
    return sorted(str(path) for path in (folder / "tmp").iterdir())


def find(folder):
    """Returns (kind, [leftovers of this kind]) for each kind."""
    for name, search in (("processes", processes), ("containers", containers), ("volumes", volumes), ("files", files)):
        deadline = time.monotonic() + PATIENCE
        while (found := search(folder)) and time.monotonic() < deadline:
            time.sleep(0.2)
        yield name, found
