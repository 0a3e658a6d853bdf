"""A host on the Internet that tests run themselves: HTTPS for names of its own, signed by an authority of its own."""

import base64
import http.server
import ssl
import subprocess
import threading


class Authority:
    """Signs certificates. `bundle` is the file that clients trust."""

    def __init__(self, folder):
        self.folder = folder
        self.bundle, self.key = folder / "authority.pem", folder / "authority.key"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=Test authority",
                      "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout", self.key, "-out", self.bundle)

    def sign(self, name, days=2):
        """A file with the certificate for this name and its key."""
        key, request, made = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName=DNS:{name}\nextendedKeyUsage=serverAuth\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.bundle, "-CAkey", self.key, "-CAcreateserial", "-days", days, "-extfile", extensions,
                      "-out", made)
        made.write_text(made.read_text() + key.read_text())
        return made

    @staticmethod
    def _openssl(*args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


def serve_tls(handler, certificate):
    """A server of this handler and its port on 127.0.0.1."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients may refuse the certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_port


class Upstream:
    """Serves `pages` by path, or the request itself. `seen` has the head of each request: (method, target, fields)."""

    def __init__(self, certificate):
        self.pages = {}
        self.seen = []
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                fields = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(fields.get("content-length", 0)))
                upstream.seen.append((self.command, self.path, fields, body))
                status, more, page = upstream.pages.get(self.path.split("?")[0], (200, {}, b"hello"))
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value.format(**fields) if "{" in value else value)
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(page)

            do_GET = do_HEAD = do_POST = do_PUT = handle_one  # noqa: N815

            def log_message(self, *args):
                pass

        self.server, self.port = serve_tls(Handler, certificate)

    def fields(self, name):
        """The values of this field in all requests."""
        return [fields.get(name) for _, _, fields, _ in self.seen]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class GitHost:
    """A git server over HTTPS, with `git http-backend` behind a login."""

    def __init__(self, folder, certificate, user, password):
        self.folder, self.login = folder, basic(user, password)
        self.asked = []
        git = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802
                git.asked.append((self.path, self.headers.get("Authorization")))
                if self.headers.get("Authorization") != git.login:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="git"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                environment = {"PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": str(git.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                               "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                               "REMOTE_USER": "me", "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "HOME": str(git.folder)}
                done = subprocess.run(["git", "http-backend"], input=self._body(), env=environment, capture_output=True, check=True)
                head, _, body = done.stdout.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                self.send_response(int(fields.pop("Status", "200").split()[0]))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def _body(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def log_message(self, *args):
                pass

        self.server, self.port = serve_tls(Handler, certificate)

    def make(self, name):
        """A repository with one file, which accepts pushes."""
        path = self.folder / name
        work = self.folder / f"{name}.work"
        for command in (["git", "init", "-q", "-b", "main", work], ["git", "-C", work, "-c", "user.name=T", "-c", "user.email=t@test",
                                                                    "commit", "-q", "--allow-empty", "-m", "begin"],
                        ["git", "clone", "-q", "--bare", work, path], ["git", "-C", path, "config", "http.receivepack", "true"]):
            subprocess.run(list(map(str, command)), check=True, capture_output=True)
        return path

    def close(self):
        self.server.shutdown()
        self.server.server_close()
