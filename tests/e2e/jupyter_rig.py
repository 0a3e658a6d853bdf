"""Real Jupyter clients of a session: `husk jupyter SESSION` with its clients, and kernels that Jupyter starts from
Husk's kernelspecs.
"""

import contextlib
import os
import queue
import signal
import subprocess
import time

from harness import PATIENCE, husk_binary
from jupyter_client import BlockingKernelClient, KernelManager
from jupyter_client.kernelspec import KernelSpecManager


class Outputs(list):
    """(type, content) of the iopub messages for one cell, without statuses."""

    def of(self, kind):
        return [content for one, content in self if one == kind]

    def text(self, name="stdout"):
        return "".join(content["text"] for content in self.of("stream") if content["name"] == name)

    def kinds(self):
        """The types in order, without consecutive repeats."""
        kinds = [kind for kind, _ in self]
        return [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]


class Client:
    def __init__(self, client):
        self.raw = client
        client.start_channels()
        client.wait_for_ready(timeout=PATIENCE)

    def run(self, code, stdin_hook=None, **more):
        """Runs a cell and returns the reply's content and the outputs. Checks that both statuses, busy and idle,
        came.
        """
        outputs, states = Outputs(), []

        def hook(message):
            if message["msg_type"] == "status":
                states.append(message["content"]["execution_state"])
            else:
                outputs.append((message["msg_type"], message["content"]))

        asks = stdin_hook is not None
        reply = self.raw.execute_interactive(code, output_hook=hook, stdin_hook=stdin_hook, allow_stdin=asks, timeout=PATIENCE, **more)
        assert (states[0], states[-1]) == ("busy", "idle"), states
        return reply["content"], outputs

    def value(self, code):
        reply, outputs = self.run(code)
        assert reply["status"] == "ok", reply
        return outputs.of("execute_result")[0]["data"]["text/plain"]

    def request(self, kind, content=None, channel="shell"):
        """Sends any request and returns the content of its reply."""
        message = self.raw.session.msg(kind, content or {})
        getattr(self.raw, f"{channel}_channel").send(message)
        return self.reply_to(message["header"]["msg_id"], channel)

    def reply_to(self, message_id, channel="shell"):
        deadline = time.monotonic() + PATIENCE
        while True:
            reply = getattr(self.raw, f"get_{channel}_msg")(timeout=max(0.1, deadline - time.monotonic()))
            if reply["parent_header"].get("msg_id") == message_id:
                return reply["content"]

    def wait_for(self, condition):
        """Returns the first iopub message for which the condition is true."""
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self.raw.get_iopub_msg(timeout=max(0.1, deadline - time.monotonic()))
            if condition(message):
                return message

    def drain(self):
        with contextlib.suppress(queue.Empty):
            while True:
                self.raw.get_iopub_msg(timeout=0)

    def interrupt(self):
        return self.request("interrupt_request", channel="control")

    def close(self):
        self.raw.stop_channels()


class Face:
    """A running `husk jupyter SESSION`."""

    def __init__(self, session_id, env, *options):
        self.process = subprocess.Popen([husk_binary(), "jupyter", *options, session_id], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env)
        self.clients = []
        self.said = []
        self.file = None
        while self.file is None or len(self.said) < 5:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            self.said.append(line)
            if line.split()[:2] == ["connection", "file"]:
                self.file = line.split()[2]

    def client(self):
        raw = BlockingKernelClient(connection_file=self.file)
        raw.load_connection_file()
        self.clients.append(Client(raw))
        return self.clients[-1]

    def end(self, signo=signal.SIGINT):
        """Ends the program and returns its exit code and its stderr."""
        for client in self.clients:
            client.close()
        self.clients = []
        if self.process.poll() is None and signo:
            self.process.send_signal(signo)
        words = self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode, words


@contextlib.contextmanager
def kernel(name, prefix, env, cwd=None):
    """A kernel that Jupyter starts from the kernelspecs in PREFIX/share/jupyter/kernels, in the folder of its notebook, and its client."""
    specs = KernelSpecManager(kernel_dirs=[os.path.join(prefix, "share/jupyter/kernels")], ensure_native_kernel=False)
    manager = KernelManager(kernel_name=name, kernel_spec_manager=specs, connection_file=os.path.join(env["HOME"], f"{name}.json"))
    manager.start_kernel(env=env, cwd=cwd or env["HOME"])
    client = None
    try:
        client = Client(manager.client())
        yield client, manager
    finally:
        if client:
            client.close()
        manager.shutdown_kernel()
        manager.cleanup_resources()
