"""Servers that sessions reach through the gate. They run in a network namespace with the husk server of the test, on an
address that only exists there, and end with it: gate_upstreams.py FOLDER CERTIFICATE KEY.

The folder is served over HTTP on port 80 and over HTTPS on port 443.
"""

import asyncio
import ctypes
import http.server
import io
import os
import pathlib
import shlex
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile

ADDRESS = "203.0.113.10"
# Name -> address in /etc/hosts of the namespace.
HOSTS = {"api.test": ADDRESS, "web.test": ADDRESS, "a.wild.test": ADDRESS, "other.test": ADDRESS, "raw.test": ADDRESS,
         "mine.test": "127.0.0.1", "six.test": "::1", "cloud.test": "169.254.169.254", "lan.test": "10.99.88.77",
         "mapped.test": "::ffff:10.99.88.77"}
# Starts the servers, then becomes the program of its arguments.
ENTER = """set -eu
ip link set lo up
ip address add {address}/32 dev lo
{join}
mount --bind "$0" /etc/hosts
"$1" "$2" "$3" "$4" "$5" >"$6" 2>&1 &
until [ -e "$3/.ready" ]; do read -t 0.02 <> <(:) || true; done
shift 6
exec "$@"
"""


def certificate(folder):
    """An authority for these names: its file, and a certificate with its key."""
    ca, key, mine = folder / "ca.pem", folder / "key.pem", folder / "mine.pem"
    names = ",".join(f"DNS:{name}" for name in ("api.test", "web.test", "*.wild.test", "pypi.test", "npm.test"))
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Gate tests", "-addext", "keyUsage=critical,keyCertSign",
        "-keyout", folder / "ca.key",
        "-out", ca)
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=api.test", "-keyout", key, "-out", folder / "mine.csr")
    (folder / "names").write_text(f"subjectAltName={names}\n")
    run("openssl", "x509", "-req", "-days", "2", "-in", folder / "mine.csr", "-CA", ca, "-CAkey", folder / "ca.key", "-CAcreateserial",
        "-extfile", folder / "names", "-out", mine)
    return ca, mine, key


def command(folder, program, join=""):
    """The command that runs `program` among these servers, and the file with their authority. `join` connects the namespace to what
    `program` needs besides them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ca, mine, key = certificate(folder)
    site = folder / "site"
    site.mkdir()
    fill(site)
    hosts = folder / "hosts"
    write_hosts(hosts, HOSTS)
    return ["unshare", "--net", "--mount", "bash", "-c", ENTER.format(address=ADDRESS, join=join), hosts, sys.executable, __file__, site, mine, key,
            folder / "upstreams.txt", *program], ca


def write_hosts(path, names):
    path.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in names.items()))


def run(*words, **more):
    subprocess.run([str(w) for w in words], check=True, capture_output=True, **more)


def fill(site):
    (site / "x.txt").write_text("from the host\n")
    (site / "big").write_bytes(b"0123456789abcdef" * (1 << 19))
    simple = site / "simple" / "gatepkg"
    simple.mkdir(parents=True)
    wheel = "gatepkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(simple / wheel, "w") as z:
        z.writestr("gatepkg.py", "value = 42\n")
        z.writestr("gatepkg-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: gatepkg\nVersion: 1.0\n")
        z.writestr("gatepkg-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("gatepkg-1.0.dist-info/RECORD", "")
    (simple / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>')
    (site / "simple" / "awaypkg").mkdir()
    (site / "simple" / "awaypkg" / "index.html").write_text(
        '<a href="http://other.test/awaypkg-1.0-py3-none-any.whl">awaypkg-1.0-py3-none-any.whl</a>')
    work = site.parent / "work"
    work.mkdir()
    (work / "README").write_text("cloned\n")
    run("git", "init", "-q", cwd=work)
    run("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", "add", ".", cwd=work)
    run("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", "commit", "-qm", "x", cwd=work)
    run("git", "clone", "-q", "--bare", work, site / "repo.git")
    run("git", "update-server-info", cwd=site / "repo.git")
    shutil.rmtree(work)


def add_r_package(site):
    """A repository of R with one package."""
    contrib = site / "cran" / "src" / "contrib"
    contrib.mkdir(parents=True)
    about = "Package: gater\nVersion: 1.0\n"
    files = {"DESCRIPTION": about + "Title: T\nDescription: D.\nLicense: MIT\nAuthor: A\nMaintainer: A <a@b>\n", "NAMESPACE": "export(value)\n",
             "R/value.R": "value <- function() 'from a package'\n"}
    with tarfile.open(contrib / "gater_1.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"gater/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    (contrib / "PACKAGES").write_text(about)


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/host":
            self.reply(200, self.headers["Host"].encode())
        elif self.path == "/away":
            self.reply(302, b"", Location="http://other.test/x.txt")
        else:
            super().do_GET()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(200, str(len(body)).encode())

    def reply(self, status, body, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def raw(port, serve):
    listener = socket.create_server((ADDRESS, port), backlog=200)

    def loop():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()


def echo(connection):
    while data := connection.recv(1 << 16):
        connection.sendall(data)
    connection.close()


def stall(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    threading.Event().wait()


def reset(connection):
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def serve_ssh(libraries, site):
    """An SSH server that lets everybody read repositories below the site."""
    sys.path.insert(0, libraries)
    import asyncssh

    class Open(asyncssh.SSHServer):
        def begin_auth(self, username):
            return False

    async def fetch(process):
        program, path = shlex.split(process.command)
        assert program == "git-upload-pack", process.command
        with subprocess.Popen([program, f"{site}{path}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            await process.redirect(stdin=child.stdin, stdout=child.stdout)
            await process.stdout.drain()
            process.exit(0)

    async def serve():
        await asyncssh.listen(ADDRESS, 22, server_factory=Open, server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
                              process_factory=fetch, encoding=None)
        pathlib.Path(site, ".ready").touch()
        await asyncio.Event().wait()

    asyncio.run(serve())


def main(site, cert, key):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # ends with the server of the test
    os.chdir(site)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    for port in (80, 443):
        server = http.server.ThreadingHTTPServer((ADDRESS, port), Handler)
        server.daemon_threads = True
        if port == 443:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    for port, serve in ((7001, echo), (7002, stall), (7003, reset)):
        raw(port, serve)
    if "GATE_SSH" in os.environ:
        serve_ssh(os.environ["GATE_SSH"], site)
    pathlib.Path(site, ".ready").touch()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
