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


class Upstream:
    """Serves `pages` by path, or the request itself. `seen` has the head of each request: (method, target, fields)."""

    def __init__(self, certificate=None):
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

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients may refuse the certificate
        self.port = self.server.server_port
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def fields(self, name):
        """The values of this field in all requests."""
        return [fields.get(name) for _, _, fields, _ in self.seen]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
