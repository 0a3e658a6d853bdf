"""A Kubernetes cluster of two nodes on this machine (tests/cluster), for tests of CONTAINER_ENGINE=kubernetes.

There is one cluster at a time. It is ended even if the tests are killed.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import harness

SCRIPTS = harness.ROOT / "tests" / "cluster"
NODES = ("n1", "n2")
NAMESPACE = "husk"
PID_1 = b"/opt/husk/husk-client\0init\0"
# The first start after a change builds the programs.
START_SECONDS = 5400


def is_ended(pod):
    """True if nothing runs in it any more and it is being removed; its object is gone a moment later."""
    states = [status["state"] for status in pod["status"].get("containerStatuses", [])]
    return "deletionTimestamp" in pod["metadata"] and states and all("terminated" in state for state in states)


class Cluster(harness.Engine):
    """Use it as a context manager: leaving it ends everything."""

    def __init__(self, languages=("python",)):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="husk-cluster-"))
        self.log = open(self.folder / "cluster.log", "ab")
        began = time.monotonic()
        self.bin = pathlib.Path(self._script("build.sh"))
        self.built = time.monotonic() - began
        self.lock = open(self.bin.parent / "running", "w", encoding="ascii")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        # Ends the cluster when this process has closed the pipe, or was killed.
        guard = ["bash", "-c", 'read -r _; exec "$0" down "$1"', SCRIPTS / "cluster.sh", self.folder]
        # It holds the lock until then.
        self.guard = subprocess.Popen(guard, stdin=subprocess.PIPE, stdout=self.log, stderr=self.log, start_new_session=True,
                                      pass_fds=[self.lock.fileno()])
        self.registry = None
        try:
            began = time.monotonic()
            self.cluster("up")
            self.registry = (self.folder / "registry").read_text().strip() + "/husk"
            self.kubectl("apply", "-k", str(harness.ROOT / "deploy" / "kubernetes"), namespace=None)
            self.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
            self.push(languages)
            self.pull()
            self.took = time.monotonic() - began
        except BaseException:
            self.close()
            raise

    def _script(self, name, *args):
        done = subprocess.run([SCRIPTS / name, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
                              text=True, timeout=START_SECONDS)
        assert done.returncode == 0, f"{name} failed: {self.last_words()}"
        return done.stdout.strip()

    def cluster(self, command, *args):
        return self._script("cluster.sh", command, self.folder, *args)

    def last_words(self):
        return (self.folder / "cluster.log").read_text(errors="replace")[-3000:]

    # --- images

    def push(self, languages):
        """As `husk setup` does, for these languages."""
        self.images = {image["name"]: image["tag"] for image in json.loads((harness.build_dir() / "images.json").read_text())
                       if image["name"] in languages}
        for tag in self.images.values():
            harness.docker("tag", tag, f"{self.registry}/{tag}")
            harness.docker("push", "--quiet", f"{self.registry}/{tag}", timeout=900)

    def pull(self):
        """Puts the images on the nodes, because pulling one for the first time can take longer than a session may."""
        pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pull-{name}-{node}", "namespace": "default"},
                 "spec": {"nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                          "containers": [{"name": "pull", "image": f"{self.registry}/{tag}", "command": ["/bin/true"]}]}}
                for name, tag in self.images.items() for node in NODES]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
        self.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s", namespace="default")
        self.kubectl("apply", "--filename=-", text=text, namespace=None)
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "--filename=-", "--timeout=900s", text=text, namespace=None, timeout=930)
        self.kubectl("delete", "--filename=-", "--wait=true", text=text, namespace=None)

    # --- as an engine of servers

    @property
    def settings(self):
        return {"CONTAINER_ENGINE": "kubernetes", "CONTAINER_REGISTRY": self.registry, "KUBECONFIG": str(self.folder / "user.conf"),
                "HUSK_KUBECTL": str(self.bin / "kubectl"), "CONTAINER_NETWORK_FENCE": "auto"}

    def docker(self, *args, **more):
        raise AssertionError(f"a cluster has no docker {' '.join(args)}")

    def names(self, store):
        return [pod["metadata"]["name"] for pod in self.pods(f"husk.store={store}") if not is_ended(pod)]

    def remove(self, name):
        self.kubectl("delete", "pod", name, "--grace-period=1", "--ignore-not-found")

    def kill_container(self, name):
        os.kill(self.pid_1(self.pod(name)["metadata"]["uid"]), signal.SIGKILL)

    def words_of(self, name):
        return self.kubectl("get", "pod", name, "--output=json") + self.kubectl("logs", name, "--all-containers")

    def pids(self, name):
        return [self.pid_1(self.pod(name)["metadata"]["uid"])]

    @staticmethod
    def pid_1(uid):
        """The pid on this machine of the PID 1 of a pod, which has the pod's uid in its cgroup."""
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                process = pathlib.Path("/proc", entry)
                if f"pod{uid}" in (process / "cgroup").read_text() and (process / "cmdline").read_bytes().startswith(PID_1):
                    return int(entry)
        raise AssertionError(f"the pod with the uid {uid} has no PID 1 on this machine")

    # An address on the bridge of the nodes and the API server.
    join = """ip link add eth0 type veth peer name "hg$$" netns "$PPID"
nsenter -t "$PPID" --net ip link set "hg$$" master huskk8s0 up
ip address add "10.199.0.$((20 + $$ % 200))/24" dev eth0
ip link set eth0 up"""

    def gateway(self):
        return "10.199.0.1"

    def events(self, store):
        return self.kubectl("get", "events", "--sort-by=.lastTimestamp")[-3000:]

    # --- talking to it

    def kubectl(self, *args, namespace=NAMESPACE, check=True, timeout=harness.PATIENCE, text=None):
        where = ["--namespace", namespace] if namespace else []
        done = subprocess.run([self.bin / "kubectl", *where, *args], input=text, stdin=None if text else subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout, env={**os.environ, "KUBECONFIG": str(self.folder / "kubeconfig")})
        assert not check or done.returncode == 0, f"kubectl {' '.join(args)}: {done.stderr}"
        return done.stdout.strip()

    def pods(self, selector="husk=true"):
        return json.loads(self.kubectl("get", "pods", "--selector", selector, "--output=json"))["items"]

    def pod(self, name):
        """The pod as the API server shows it; None if it is gone."""
        found = self.kubectl("get", "pod", name, "--output=json", "--ignore-not-found")
        return json.loads(found) if found else None

    def node_of(self, name):
        return self.pod(name)["spec"]["nodeName"]

    def inside(self, pod, *command, container="main", **more):
        """Runs a command in a pod, without a server."""
        return self.kubectl("exec", pod, "--container", container, "--", *command, **more)

    # --- its parts

    def pid(self, part):
        return int((self.folder / "pid" / part).read_text())

    def kill(self, part):
        pid = self.pid(part)
        os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: not pathlib.Path(f"/proc/{pid}/exe").exists(), what=f"the end of {part}")

    def start(self, part):
        self.cluster("start", part)

    def is_ready(self, node):
        found = json.loads(self.kubectl("get", "node", node, "--output=json", namespace=None))
        return any(one["type"] == "Ready" and one["status"] == "True" for one in found["status"]["conditions"])

    def wait_ready(self):
        for node in NODES:
            harness.wait_until(lambda node=node: self.is_ready(node), 90, f"the node {node} to be ready")

    @contextlib.contextmanager
    def cut(self, node):
        """A partition: the node's network is gone, and what runs there continues."""
        self.cluster("cut", node)
        try:
            yield
        finally:
            self.cluster("join", node)
            self.wait_ready()

    @contextlib.contextmanager
    def changed(self, manifest):
        """Applies a manifest for the time of the block."""
        text = json.dumps(manifest)
        self.kubectl("apply", "--filename=-", text=text)
        try:
            yield
        finally:
            self.kubectl("delete", "--filename=-", "--wait=true", "--grace-period=1", text=text)

    def memory(self, part):
        return int(pathlib.Path(f"/proc/{self.pid(part)}/status").read_text().split("VmRSS:")[1].split()[0]) << 10

    # --- its end

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.guard.stdin.close()
        assert self.guard.wait(180) == 0, self.last_words()
        for tag in getattr(self, "images", {}).values():
            harness.docker("rmi", f"{self.registry}/{tag}", check=False)
        self.lock.close()
        self.log.close()
        shutil.rmtree(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
