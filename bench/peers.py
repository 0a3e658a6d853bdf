"""Other programs that run code for an agent, from PyPI, each in the virtual environment BUILD/bench-venv."""

import inspect
import json
import subprocess
import sys
import time

from containers import Container
from mcp import Client
from results import Failed, milliseconds

PACKAGES = ("jupyter_client==8.10.0", "ipykernel==7.4.0", "posit-mcp-repl==0.3.0", "llm-sandbox[docker]==0.3.46")


def environment(folder):
    """The folder, with the peers installed."""
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != " ".join(PACKAGES):
        print("installing the peers …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True)
        stamp.write_text(" ".join(PACKAGES))
    return folder


class Asked:
    """A program that reads a request as a line of JSON and writes {"ms": …} or {"failed": …}: it measures its own library."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"failed": "it has ended"}
        if "failed" in answer:
            raise Failed(f"{type(self).__name__}: {answer['failed']}")
        return answer["ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def serve_jupyter(transport="tcp"):
    """Each request has the code, the pause before it, and the expected output: the length of a text, or a type of
    display. Runs in the peer's interpreter.
    """
    import json
    import sys
    import time

    from jupyter_client.manager import KernelManager
    manager = KernelManager(transport=transport)
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    for line in sys.stdin:
        request = json.loads(line)
        time.sleep(request.get("pause", 0))
        outputs = []
        began = time.perf_counter()
        reply = client.execute_interactive(request["code"], output_hook=outputs.append, timeout=60)
        took = 1000 * (time.perf_counter() - began)
        text = "".join(o["content"].get("text", "") + o["content"].get("data", {}).get("text/plain", "") for o in outputs)
        kinds = {kind for output in outputs for kind in output["content"].get("data", {})}
        good = (reply["content"]["status"] == "ok" and request.get("text", text) == text and len(text) >= request.get("length", 0)
                and (not request.get("kind") or request["kind"] in kinds))
        print(json.dumps({"ms": took} if good else {"failed": f"{request['code'][:80]!r} gave {text[:200]!r}"}), flush=True)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


class Jupyter(Asked):
    """jupyter_client with ipykernel on the host."""

    def __init__(self, venv):
        super().__init__([str(venv / "bin" / "python"), "-c", f"{inspect.getsource(serve_jupyter)}serve_jupyter()"])
        self.ask(code="1+1", text="2")


class JupyterInside(Asked):
    """The same in a container with Husk's hardening, with the jupyter_client and the ipykernel of its image."""

    def __init__(self, image, transport):
        self.container = Container(image)
        source = f"{inspect.getsource(serve_jupyter)}serve_jupyter({transport!r})"
        super().__init__(["docker", "exec", "--interactive", "--env", "HOME=/tmp", self.container.name, "python3", "-c", source])
        self.ask(code="1+1", text="2")

    def close(self):
        super().close()
        self.container.remove()


class McpRepl(Client):
    """Posit's mcp-repl: an interpreter on the host, without a container. It has no session to create: its first call
    starts the interpreter.
    """

    def __init__(self, venv):
        super().__init__([str(venv / "bin" / "mcp-repl"), "--interpreter", "python", "--sandbox", "danger-full-access"],
                         env={"PATH": f"{venv / 'bin'}:/usr/bin:/bin", "HOME": str(venv)})

    def run(self, code, text):
        return self.timed("repl", lambda result: result["content"][0]["text"].strip() == text, input=f"{code}\n")


def serve_llm_sandbox(image):
    """Requests: open, close, or a program to run with its expected output. Runs in the peer's interpreter."""
    import json
    import sys
    import time

    from llm_sandbox import SandboxBackend, SandboxSession
    session = None
    for line in sys.stdin:
        request = json.loads(line)
        began = time.perf_counter()
        good = True
        if request["do"] == "open":
            session = SandboxSession(lang="python", image=image, backend=SandboxBackend.DOCKER, skip_environment_setup=True)
            session.open()
        elif request["do"] == "close":
            session.close()
        else:
            done = session.run(request["code"])
            good = done.exit_code == 0 and done.stdout.strip() == request["text"]
        took = 1000 * (time.perf_counter() - began)
        print(json.dumps({"ms": took} if good else {"failed": f"{request} gave {done!r}"}), flush=True)


class LlmSandbox(Asked):
    """llm-sandbox with the Docker backend and the image of Husk's Python: a process for each call."""

    def __init__(self, venv, image):
        super().__init__([str(venv / "bin" / "python"), "-c", f"{inspect.getsource(serve_llm_sandbox)}serve_llm_sandbox({image!r})"])

    def open(self):
        return self.ask(do="open")

    def run(self, code, text):
        return self.ask(do="run", code=code, text=text)

    def leave(self):
        return self.ask(do="close")


def start_of_mcp_repl(venv):
    """Milliseconds from the start of its server to the answer to initialize."""
    with McpRepl(venv) as one:
        return one.start_ms


def first_call_of_mcp_repl(venv):
    """Milliseconds of its first call, which starts the interpreter."""
    with McpRepl(venv) as one:
        began = time.perf_counter()
        one.run("1+1", "2")
        return milliseconds(began)
