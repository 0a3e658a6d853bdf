"""nginx and Caddy in front of `husk serve`, with the configurations of docs/http.md."""

import http.client
import re
import socket
import ssl
import subprocess

import debian_packages
import harness
from serving import Api, make_certificate

NAME = "husk.example.com"
NGINX = """daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{own}
}}
"""
CADDY = """{{
    admin off
    auto_https off
    grace_period 1s
    storage file_system {folder}/storage
}}
{own}
"""


def configuration(file):
    """The block of docs/http.md with this name."""
    [found] = re.findall(rf"^```\w+ {re.escape(file)}\n(.*?)^```$", (harness.ROOT / "docs" / "http.md").read_text(), re.M | re.S)
    return found


def replaced(text, changes):
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def starts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Proxy(Api):
    """A proxy that terminates TLS. Tests use it as they use Serving."""

    def __init__(self, kind, serving, port, folder):
        self.kind, self.serving, self.port, self.key = kind, serving, port, serving.key
        self.cert, certificate_key = make_certificate(folder, NAME)
        self.tls = ssl.create_default_context(cafile=str(self.cert))
        config = {"nginx": self.nginx, "caddy": self.caddy}[kind](folder, certificate_key)
        program, env = debian_packages.program(debian_packages.unpacked(harness.build_dir(), kind), kind)
        arguments = {"nginx": ["-c", str(config)], "caddy": ["run", "--config", str(config), "--adapter", "caddyfile"]}[kind]
        self.log = open(folder / "log.txt", "wb")
        self.process = subprocess.Popen([program, *arguments], env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        harness.wait_until(lambda: starts(port) or self.process.poll() is not None, what="the proxy")
        assert self.process.poll() is None, (folder / "log.txt").read_text()

    def nginx(self, folder, certificate_key):
        own = replaced(configuration("nginx.conf"), {"listen 443": f"listen 127.0.0.1:{self.port}", "/etc/ssl/husk.pem": str(self.cert),
                                                     "/etc/ssl/husk.key": str(certificate_key), "127.0.0.1:8765": self.serving.address})
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, own=own))
        return folder / "nginx.conf"

    def caddy(self, folder, certificate_key):
        """The page's configuration gets a certificate from an authority, which a test cannot."""
        own = replaced(configuration("Caddyfile"), {f"{NAME} {{": f"https://{NAME}:{self.port} {{\n    bind 127.0.0.1\n    tls {self.cert} {certificate_key}",
                                                    "127.0.0.1:8765": self.serving.address})
        (folder / "Caddyfile").write_text(CADDY.format(folder=folder, own=own))
        return folder / "Caddyfile"

    @property
    def origin(self):
        return f"https://{NAME}:{self.port}"

    def socket(self, timeout=harness.PATIENCE):
        return self.tls.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=timeout), server_hostname=NAME)

    def connect(self, timeout=harness.PATIENCE):
        connection = http.client.HTTPSConnection(NAME, self.port, timeout=timeout, context=self.tls)
        connection.sock = self.socket(timeout)
        return connection

    def curl(self, *args):
        command = ["curl", "--silent", "--show-error", "--fail", "--max-time", "60", "--cacert", str(self.cert),
                   "--resolve", f"{NAME}:{self.port}:127.0.0.1", "-H", f"Authorization: Bearer {self.key}", *args]
        return subprocess.run(command, capture_output=True, timeout=90, check=True).stdout

    def close(self):
        self.process.terminate()
        self.process.wait(harness.PATIENCE)
        self.log.close()
