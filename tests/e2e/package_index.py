"""Package indexes that tests build themselves: a folder of files served over HTTP on the address where sessions find
the host.

The installers are real: pip and R use it like PyPI and CRAN.
"""

import base64
import gzip
import hashlib
import http.server
import io
import json
import pathlib
import posixpath
import ssl
import tarfile
import threading
import urllib.parse
import zipfile

import harness


NAME = "index.test"
# Runs a program that finds the address of NAME in its /etc/hosts.
NAMED = 'mount --bind "$0" /etc/hosts && exec "$@"'


def named_command(folder, program):
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{gateway()} {NAME}\n")
    return ["unshare", "--mount", "bash", "-c", NAMED, str(hosts), *program]


def gateway():
    """The host's address as sessions see it."""
    return harness.usual_engine.gateway()


class Index:
    """Serves `folder`, and `pages` by path: (status, headers, body). `login` (user:password) is required if given; the
    index then has the name NAME, which only servers know that begin() started.
    `certificate` (a file with its key) makes it HTTPS. `hold(name)` keeps requests for such a file waiting. `asked`
    lists the requested paths, `askers` the address and login of each request.
    """

    def __init__(self, folder, login=None, certificate=None):
        self.folder = pathlib.Path(folder)
        self.login = login
        self.certificate = certificate
        self.pages = {}
        self.asked = []
        self.askers = []
        self.held = []
        self.holding = threading.Event()
        self.release = threading.Event()
        self.address = gateway()
        self.host = NAME if login else self.address
        self.server = http.server.ThreadingHTTPServer((self.address, 0), self._handler())
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="", login=None):
        user = f"{login}@" if login else ""
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://{user}{self.host}:{self.server.server_port}/{path}"

    def pip(self, login=None):
        """Settings of a server that installs from here."""
        return {"PIP_INDEX_URL": self.url("simple/", login), **({} if login else {"PIP_TRUSTED_HOST": self.host})}

    def hold(self, name):
        self.held.append(name)

    def downloads(self, part):
        return [path for path in self.asked if part in path and not path.endswith("/")]

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def _handler(self):
        index = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args):
                super().__init__(*args, directory=str(index.folder))

            def log_message(self, *_):
                pass

            def do_GET(self):
                index.asked.append(urllib.parse.unquote(self.path))
                index.askers.append((self.client_address[0], self.headers.get("Authorization")))
                wanted = index.login and "Basic " + base64.b64encode(index.login.encode()).decode()
                if wanted and self.headers.get("Authorization") != wanted:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="index"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                if any(name in self.path for name in index.held):
                    index.holding.set()
                    index.release.wait(120)
                if urllib.parse.unquote(self.path) in index.pages:
                    self.send_page(*index.pages[urllib.parse.unquote(self.path)])
                else:
                    super().do_GET()

            def send_page(self, status, headers, body):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": len(body)}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(body)

        return Handler


# --- Python


def add_wheel(folder, name, version, files=None, requires=(), extras=None):
    """Adds a wheel to a PEP 503 folder; `extras` maps an extra to its requirements."""
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {r}" for r in requires]
    for extra, needs in (extras or {}).items():
        metadata.append(f"Provides-Extra: {extra}")
        metadata += [f'Requires-Dist: {n} ; extra == "{extra}"' for n in needs]
    content = {f"{plain}.py": f"version = {version!r}\n", **(files or {})}
    content[f"{info}/METADATA"] = "\n".join(metadata) + "\n"
    content[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = []
    for path, data in content.items():
        data = data if isinstance(data, bytes) else data.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}")
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    target = pathlib.Path(folder, "simple", name)
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target / f"{plain}-{version}-py3-none-any.whl", "w") as wheel:
        for path, data in content.items():
            wheel.writestr(path, data)


def add_tar(path, top, files, mode=0o644):
    """A source archive: `files` below the folder `top`."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(posixpath.join(top, name))
            member.size = len(data)
            member.mode = mode
            tar.addfile(member, io.BytesIO(data))


# --- npm


def add_npm_package(index, name, version, package, files, below="/", host=None):
    """Adds a package to a registry at the path `below`. `package` has the fields of its package.json other than name
    and version. `host` is the host that the registry names in the tarball's URL.
    """
    package = {"name": name, "version": version, **package}
    file = f"{name}-{version}.tgz"
    add_tar(index.folder / below.strip("/") / "-" / file, "package", {"package.json": json.dumps(package), **files})
    digest = hashlib.sha512((index.folder / below.strip("/") / "-" / file).read_bytes()).digest()
    dist = {"tarball": (host or index.url()[:-1]) + f"{below}-/{file}", "integrity": "sha512-" + base64.b64encode(digest).decode()}
    page = {"name": name, "dist-tags": {"latest": version}, "versions": {version: {**package, "dist": dist}}}
    index.pages[f"{below}{name}"] = 200, {"Content-Type": "application/json"}, json.dumps(page).encode()


# --- R


def add_r_package(folder, name, version, files, imports="", archived=False):
    """Adds a source package to a repository with CRAN's layout; `archived` puts it into the archive only."""
    description = f"Package: {name}\nVersion: {version}\nTitle: A Test\nDescription: A test.\nLicense: MIT\n"
    description += "Author: Husk\nMaintainer: Husk <h@example.org>\n" + (f"Imports: {imports}\n" if imports else "")
    description += "NeedsCompilation: " + ("yes" if any(f.startswith("src/") for f in files) else "no") + "\n"
    contrib = pathlib.Path(folder, "src", "contrib")
    place = contrib / "Archive" / name if archived else contrib
    add_tar(place / f"{name}_{version}.tar.gz", name, {"DESCRIPTION": description, **files}, mode=0o755)
    index = contrib / "PACKAGES"
    if not archived:
        entry = "".join(line + "\n" for line in description.splitlines() if line.split(":")[0] in
                        ("Package", "Version", "Imports", "License", "NeedsCompilation"))
        text = (index.read_text() + "\n" if index.exists() else "") + entry
        index.write_text(text)
        (contrib / "PACKAGES.gz").write_bytes(gzip.compress(text.encode()))
