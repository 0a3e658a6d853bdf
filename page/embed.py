#!/usr/bin/env python3
"""Writes the files of the page as a C source: embed.py SOURCES NODE_MODULES_FOLDER OUTPUT.c

The libraries come from npm, as package-lock.json pins them by hash; they are installed into the build folder once for
each lockfile. There is no bundler: each module stays a file. Its name gets a hash of its content, so that browsers keep
it forever, and imports are changed to these names. Comments of license texts stay. The document of MCP Apps is one file,
uncompressed, because clients get it as text.
"""

import gzip
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from bundle import bundle  # noqa: E402

LIMIT = 300 << 10
APP_LIMIT = 120 << 10
MANIFEST = ("package.json", "package-lock.json", ".npmrc")
# Bare name of an import -> file below node_modules.
LIBRARIES = {
    "preact": "preact/dist/preact.module.js",
    "preact/hooks": "preact/hooks/dist/hooks.module.js",
    "htm": "htm/dist/htm.module.js",
    "uplot": "uplot/dist/uPlot.esm.js",
    "@xterm/xterm": "@xterm/xterm/lib/xterm.mjs",
    "@xterm/addon-fit": "@xterm/addon-fit/lib/addon-fit.mjs",
}
STYLES = {"uplot.css": "uplot/dist/uPlot.min.css", "xterm.css": "@xterm/xterm/css/xterm.css"}
TYPES = {".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8"}
IMPORT = re.compile(r"""((?:^|[;}\s])(?:import|export)\s*(?:[\w$*{}\s,]*?\bfrom\s*)?|\bimport\()(["'])([^"'\n]+)\2""", re.MULTILINE)
REFERENCE = re.compile(r'(?P<attribute>href|src)="(?P<name>[\w.-]+\.(?:mjs|css|svg))"')


def fail(text):
    sys.exit(f"page/embed.py: {text}")


def install(sources, folder):
    """Returns the folder node_modules of this lockfile."""
    digest = hashlib.sha256(b"".join((sources / name).read_bytes() for name in MANIFEST)).hexdigest()[:12]
    place = folder / f"page-{digest}"
    if (place / "installed").exists():
        return place / "node_modules"
    if not shutil.which("npm"):
        fail("the libraries of the page come from npm, and there is no npm: install it (tools/install-deps.sh build)")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in MANIFEST:
        shutil.copy(sources / name, place)
    done = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"npm could not install the libraries of the page; its registry must be reachable:\n{done.stdout}{done.stderr}")
    (place / "installed").touch()
    return place / "node_modules"


class Page:
    def __init__(self, sources, modules):
        self.sources = sources
        self.modules = modules
        self.files = {}  # path below /ui/ -> content
        self.names = {}  # source file -> name with its hash
        self.open = []

    def add(self, stem, suffix, content):
        name = f"{stem}.{hashlib.sha256(content).hexdigest()[:10]}{suffix}"
        self.files[f"a/{name}"] = content
        return name

    def module(self, path):
        """Adds a module after those that it imports, and returns its name."""
        if path in self.names:
            return self.names[path]
        if path in self.open:
            fail(f"modules import each other: {' '.join(p.name for p in self.open)}")
        self.open.append(path)

        def rename(match):
            wanted = match[3]
            target = self.modules / LIBRARIES[wanted] if wanted in LIBRARIES else path.parent / wanted
            if not target.exists():
                fail(f"{path.name} imports '{wanted}', which does not exist")
            return f"{match[1]}{match[2]}./{self.module(target)}{match[2]}"

        text = re.sub(r"^//# sourceMappingURL=.*$", "", path.read_text(), flags=re.MULTILINE)
        ours = path.parent == self.sources
        text = IMPORT.sub(rename, text) if ours or "preact" in path.parts else text
        self.open.pop()
        self.names[path] = self.add(path.stem.replace(".module", ""), ".js", text.encode())
        return self.names[path]

    def app(self, path):
        """A document in one piece."""
        def find(importer, wanted):
            return self.modules / LIBRARIES[wanted] if wanted in LIBRARIES else (importer.parent / wanted).resolve()

        def find_style(name):
            return next(place / name for place in (path.parent, self.sources) if (place / name).exists())

        return bundle(path, find_style, find).encode()

    def style(self, path):
        return self.add(path.stem, ".css", path.read_bytes())

    def document(self, path):
        def rename(match):
            name = match["name"]
            source = self.modules / STYLES[name] if name in STYLES else self.sources / name
            if name.endswith(".mjs"):
                done = self.module(source)
            else:
                done = self.style(source) if name.endswith(".css") else self.add(source.stem, source.suffix, source.read_bytes())
            return f'{match["attribute"]}="/ui/a/{done}"'

        self.files[path.name] = REFERENCE.sub(rename, path.read_text()).encode()


def escaped(data):
    text = "".join(f"\\{byte:03o}" for byte in data)
    return [f'\t"{text[at:at + 400]}"' for at in range(0, len(text), 400)]


def write(page, app, output):
    lines = ["/* Made by page/embed.py. */", '#include "api/page.h"', ""]
    rows, total = [], 0
    for i, (path, content) in enumerate(sorted(page.files.items())):
        packed = gzip.compress(content, 9, mtime=0)
        total += len(packed)
        lines.append(f"static const char file_{i}[] =")
        lines += escaped(packed)
        lines[-1] += ";"
        digest = hashlib.sha256(content).hexdigest()[:16]
        rows.append(f'\t{{ "{path}", "{TYPES[pathlib.Path(path).suffix]}", "\\"{digest}\\"", file_{i}, {len(packed)} }},')
    if total > LIMIT:
        fail(f"the page has {total} bytes compressed, at most {LIMIT} are allowed")
    lines += ["", "const struct page_file page_files[] = {", *rows, "\t{ 0 },", "};", ""]
    if len(app) > APP_LIMIT:
        fail(f"the document of MCP Apps has {len(app)} bytes, at most {APP_LIMIT} are allowed")
    lines += ["const char page_app[] =", *escaped(app)]
    lines[-1] += ";\n"
    output.write_text("\n".join(lines))


def main():
    sources, folder, output = (pathlib.Path(word).absolute() for word in sys.argv[1:4])
    page = Page(sources, install(sources, folder))
    for path in sorted(sources.glob("*.html")):
        page.document(path)
    write(page, page.app(sources / "mcp" / "output.html"), output)


if __name__ == "__main__":
    main()
