"""A container of a runtime's image and a stream to its PID 1: a session without the server.

For runtimes whose interpreter is not on the host. The image is the one that build/images.json names;
HUSK_IMAGE_<NAME> overrides.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import uuid

# tests/run finds containers that were left behind by this label.
LABEL = f"husk.test={os.environ.get('HUSK_TEST_RUN', '')}"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "pid1"))

import frames  # noqa: E402


def images():
    """Name -> image of each runtime of the build."""
    listed = json.loads((ROOT / os.environ.get("BUILD", "build") / "images.json").read_text())
    return {entry["name"]: os.environ.get(f"HUSK_IMAGE_{entry['name'].upper()}") or entry["tag"] for entry in listed}


class Container:
    def __init__(self, runtime, *options):
        """`options` are for the engine."""
        self.name = f"husk-test-{runtime}-{uuid.uuid4().hex[:12]}"
        command = ["docker", "run", "--detach", "--rm", "--pull", "never", "--name", self.name, "--label", LABEL, "--network", "none",
                   "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true",
                   "--memory", "1g", "--memory-swap", "1g", "--pids-limit", "256", "--env", "OPENBLAS_NUM_THREADS=2"]
        for folder in ("/workspace", "/tmp", "/home/sandbox"):
            command += ["--tmpfs", f"{folder}:rw,exec,nosuid,nodev,size=200m,mode=0755,uid=65532,gid=65532"]
        subprocess.run([*command, *options, images()[runtime]], check=True, capture_output=True, text=True)
        self.process = subprocess.Popen(
            ["docker", "exec", "--interactive", "--user", "65531:65532", self.name, "/opt/husk/husk-client", "attach"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.client = frames.Client(self.process.stdout.fileno(), self.process.stdin.fileno())
        self.client.hello()
        self.client.ready()

    def inside(self, *command):
        """Runs a command as root with `docker exec`, beside the session."""
        return subprocess.run(["docker", "exec", self.name, *command], check=True, capture_output=True, text=True).stdout

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        subprocess.run(["docker", "rm", "--force", "--volumes", self.name], check=False, capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()


# For tests of checkpoints.


def forget_checkpoints(client):
    """Starts a new interpreter, without checkpoints, and returns the client."""
    for kept in client.status()["checkpoints"]:
        client.checkpoint("drop", **({"name": kept["name"]} if "name" in kept else {"run": kept["run"]}))
    client.execute("", restart=True)
    return client


def text(reply):
    assert reply.ending == "ok", reply.end | {"errors": reply.errors}
    return reply.results[0]["data"]["text/plain"] if reply.results else reply.out.decode()


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError


def save(client, name="a"):
    answer = client.checkpoint("save", name=name)
    assert answer["status"] == "ok", answer
    return answer
