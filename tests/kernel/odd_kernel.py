"""A Jupyter kernel whose cells control what it sends to its client: odd_kernel.py CONNECTION_FILE

A cell is Python and uses `k`: k.publish(…), k.reply(…), k.raw(…), k.prompt(…). All else happens as in a good kernel:
busy before the cell, an `ok` reply and idle after it. `k.mute` names messages to leave out.
"""

import hashlib
import hmac
import json
import os
import signal
import sys
import threading
import time
import uuid

import zmq


class Interrupted(Exception):
    pass


class Kernel:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.connection = json.load(file)
        self.key = self.connection["key"].encode()
        self.context = zmq.Context()
        kinds = {"shell": zmq.ROUTER, "control": zmq.ROUTER, "stdin": zmq.ROUTER, "iopub": zmq.PUB, "hb": zmq.REP}
        self.sockets = {name: self._bind(name, kind) for name, kind in kinds.items()}
        self.beats = True
        self.one_thread = False  # no heartbeat while a cell runs
        self.heart = threading.Lock()
        self.session = uuid.uuid4().hex
        self.parent, self.identities = {}, []
        self.mute = set()  # of "reply", "idle"
        self.names = {"k": self, "Interrupted": Interrupted, "time": time, "os": os, "threading": threading, "signal": signal}
        threading.Thread(target=self._beat, daemon=True).start()

    def _bind(self, name, kind):
        socket = self.context.socket(kind)
        socket.linger = 1000
        transport, ip, port = (self.connection[field] for field in ("transport", "ip", f"{name}_port"))
        socket.bind(f"tcp://{ip}:{port}" if transport == "tcp" else f"ipc://{ip}-{port}")
        return socket

    def _beat(self):
        while True:
            ping = self.sockets["hb"].recv_multipart()
            if not self.beats:
                return
            with self.heart:
                pass
            self.sockets["hb"].send_multipart(ping)

    def sign(self, parts):
        return hmac.new(self.key, b"".join(parts), hashlib.sha256).hexdigest().encode()

    def raw(self, channel, parts, signature=None, identities=(), buffers=()):
        """Sends any frames."""
        signature = self.sign(parts) if signature is None else signature
        self.sockets[channel].send_multipart([*identities, b"<IDS|MSG>", signature, *parts, *buffers])

    def send(self, channel, kind, content, parent=None, identities=(), **more):
        header = {"msg_id": uuid.uuid4().hex, "session": self.session, "username": "odd", "date": "2026-11-17T00:00:00Z",
                  "msg_type": kind, "version": "5.4"}
        parts = [json.dumps(part).encode() for part in (header, self.parent if parent is None else parent, {}, content)]
        self.raw(channel, parts, identities=identities, **more)

    def publish(self, kind, content, **more):
        self.send("iopub", kind, content, **more)

    def text(self, text, name="stdout", **more):
        self.publish("stream", {"name": name, "text": text}, **more)

    def display(self, text, display_id=None, update=False, **more):
        self.publish("update_display_data" if update else "display_data",
                     {"data": {"text/plain": text}, "metadata": {}, "transient": {"display_id": display_id} if display_id else {}}, **more)

    def clear(self, wait=False):
        self.publish("clear_output", {"wait": wait})

    def status(self, state, **more):
        self.publish("status", {"execution_state": state}, **more)

    def reply(self, content=None, kind="execute_reply", **more):
        content = content or {"status": "ok", "execution_count": 1, "user_expressions": {}}
        self.send("shell", kind, content, identities=self.identities, **more)

    def prompt(self, text="", password=False):
        """Returns the client's answer."""
        self.send("stdin", "input_request", {"prompt": text, "password": password}, identities=self.identities)
        while not self.sockets["stdin"].poll(20):
            pass
        *_, content = self.sockets["stdin"].recv_multipart()
        return json.loads(content)["value"]

    def serve(self):
        poller = zmq.Poller()
        for name in ("shell", "control"):
            poller.register(self.sockets[name], zmq.POLLIN)
        while True:
            for socket, _ in poller.poll():
                frames = socket.recv_multipart()
                at = frames.index(b"<IDS|MSG>")
                header, _, _, content = (json.loads(part) for part in frames[at + 2:at + 6])
                assert hmac.compare_digest(self.sign(frames[at + 2:at + 6]), frames[at + 1])
                self.parent, self.identities = header, frames[:at]
                getattr(self, f"on_{header['msg_type']}", self.on_anything)(content)

    def on_kernel_info_request(self, _):
        self.status("busy")
        language = {"name": "odd", "version": "1.0", "mimetype": "text/plain", "file_extension": ".odd"}
        self.reply({"status": "ok", "protocol_version": "5.4", "implementation": "odd", "implementation_version": "1", "banner": "",
                    "language_info": language}, "kernel_info_reply")
        self.status("idle")

    def on_execute_request(self, content):
        self.mute = set()
        self.request = content
        self.status("busy")
        if self.one_thread:
            self.heart.acquire()
        answer = {"status": "ok", "execution_count": 1, "user_expressions": {}}
        try:
            exec(content["code"], self.names)  # noqa: S102 - that is what it is for
        except (Interrupted, KeyboardInterrupt) as e:
            answer = {"status": "error", "ename": type(e).__name__, "evalue": "", "traceback": []}
            self.publish("error", answer)
        if self.heart.locked():
            self.heart.release()
        if "reply" not in self.mute:
            self.reply(answer)
        if "idle" not in self.mute:
            self.status("idle")

    def on_question(self, content):
        self.status("busy")
        kind = self.parent["msg_type"].removesuffix("_request")
        self.reply(self.names["answer"](kind, content), f"{kind}_reply")
        self.status("idle")

    on_complete_request = on_inspect_request = on_is_complete_request = on_question

    def on_anything(self, _):
        """Ignores other requests, for example an interrupt that is repeated after its cell."""

    def on_shutdown_request(self, content):
        self.send("control", "shutdown_reply", content, identities=self.identities)
        sys.exit()

    def control(self):
        """The type of a message that came on the control channel during a cell, or None."""
        if not self.sockets["control"].poll(20):
            return None
        frames = self.sockets["control"].recv_multipart()
        return json.loads(frames[frames.index(b"<IDS|MSG>") + 2])["msg_type"]


if __name__ == "__main__":
    Kernel(sys.argv[1]).serve()
