"""Makes an engine in a network namespace reachable over TCP, so that tests can cut it off: a frozen relay is a partition."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading

CLONE_NEWNET = 0x40000000


class Relay:
    """Forwards connections from a port of this machine to 127.0.0.1:PORT in the namespace of a process."""

    def __init__(self, pid, port):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, str(pid), str(port)], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def cut(self):
        self.process.send_signal(signal.SIGSTOP)

    def restore(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def forward(client, port):
    with client, socket.socket() as engine:
        with contextlib.suppress(OSError):
            engine.connect(("127.0.0.1", port))
            back = threading.Thread(target=pump, args=(engine, client))
            back.start()
            pump(client, engine)
            back.join()


def main(pid, port):
    listener = socket.create_server(("127.0.0.1", 0))
    with open(f"/proc/{pid}/ns/net", "rb") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=forward, args=(client, port), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
