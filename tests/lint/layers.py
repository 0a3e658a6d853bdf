#!/usr/bin/env python3
"""Checks that includes follow the architecture. ARCHITECTURE.md gives the reasons.

Checks every C file of the tree given as the argument (default: this repository):
- only folders that LAYERS names contain C files;
- a file includes only what its layer may (LAYERS), and a face sees no more of the manager than PUBLIC;
- no modules include each other in a cycle;
- a third-party header stays in the files that adapt it (ADAPTERS);
- an include names a header of ours by its full path in quotes: no `..`, no angle brackets, no macro, no symbolic link.

A module is the files of a folder with the same stem: X.c, X.h, X-private.h, and X-part.c unless X-part.h exists.
"""

import os
import pathlib
import re
import subprocess
import sys

BASE = ("base/",)
# Headers that both sides of the wire share.
WIRE = ("kernels/protocol.h", "kernels/checkpoint-name.h", "kernels/entry.h", "kernels/item.h", "kernels/host-name.h")
# Includes that every folder of PID 1 may use.
PID1 = (*BASE, *WIRE, "kernels/system/")
GUARD = (*PID1, "kernels/guard/")
RUNS = (*GUARD, "kernels/runs/")
DISK = (*PID1, "kernels/disk/")
PACKAGES = (*RUNS, *DISK, "kernels/packages/")
# The only headers of the manager that a face may include: its interface, and the JSON form of its structs.
PUBLIC = ("manager/manager.h", "manager/access.h", "manager/network.h", "manager/json/codec.h", "manager/json/fields.h", "manager/json/notebook.h")
MODEL = (*BASE, *WIRE, "manager/model/")
# The adapters below manager/engine/ are private to it.
ENGINE = (*MODEL, "manager/engine/engine.h", "manager/engine/answer.h", "manager/engine/open.h")
ADAPTER = (*MODEL, "manager/engine/")
STORE = (*MODEL, "manager/store/")
FENCE = (*ENGINE, "manager/fence/")
LINE = (*ENGINE, *STORE, "manager/line/")
SESSION = (*LINE, "manager/session/")
# The gate: rules, filters and connections for sessions, which know nothing of sessions themselves.
GATE = (*LINE, "http/", "manager/gate/")
REGISTRY = (*SESSION, *FENCE, "manager/gate/", "manager/files/", "manager/deps/", "manager/registry/", "manager/manager.h", "manager/access.h",
            "manager/checkpoint.h", "manager/network.h", "manager/session-files.h")
FACE = (*BASE, *PUBLIC)
JUPYTER = ("jupyter/load.h", "jupyter/message.h", "jupyter/connection.h", "jupyter/multipart.h", "jupyter/replays.h")
# Headers of attach/ that other faces may include to reach a running server.
ATTACH = ("attach/client.h", "attach/counters.h", "attach/open.h")

# Folder -> what its files may include: folders (with all below them) and headers.
LAYERS = {
    "base": BASE,
    # Messages and connections: knows nothing of Husk.
    "http": (*BASE, "http/"),
    # PID 1, from the bottom up (kernels/README.md).
    "kernels/system": PID1,
    "kernels/guard": GUARD,
    "kernels/runs": RUNS,
    "kernels/disk": DISK,
    "kernels/files": (*RUNS, *DISK, "kernels/files/"),
    "kernels/packages": PACKAGES,
    "kernels/streams": (*RUNS, "kernels/streams/"),
    "kernels/gate": (*RUNS, "kernels/streams/", "kernels/gate/"),
    "kernels/cells": (*RUNS, "kernels/cells/"),
    "kernels/commands": (*PACKAGES, "kernels/commands/"),
    "kernels/control": (*PACKAGES, "kernels/files/", "kernels/streams/", "kernels/gate/", "kernels/commands/", "kernels/control/"),
    "kernels/init": (*BASE, "kernels/"),
    "kernels": (*BASE, "kernels/"),
    # Shared by both ends of Jupyter's protocol.
    "jupyter": (*BASE, *JUPYTER),
    # A separate program, which reports errors as `husk` does.
    "jupyter/face": (*FACE, *JUPYTER, "jupyter/face/", *ATTACH, "cli/exit.h", "cli/report.h"),
    "kernels/jupyter": (*BASE, *JUPYTER, "kernels/"),
    "kernels/fence": (*BASE, "kernels/"),
    "kernels/probe": (*BASE, "kernels/"),
    "kernels/fit": (*BASE, "kernels/"),
    "manager/model": (*MODEL, "runtimes.inc"),
    "manager/engine": ADAPTER,
    "manager/engine/docker": ADAPTER,
    "manager/engine/kubernetes": (*ADAPTER, "http/"),
    "manager/engine/pool": ADAPTER,
    "manager/store": STORE,
    "manager/line": LINE,
    "manager/session": SESSION,
    "manager/files": (*SESSION, "manager/files/"),
    "manager/json": (*MODEL, *PUBLIC),
    "manager/deps": (*SESSION, *FENCE, "manager/gate/", "manager/deps/"),
    "manager/fence": FENCE,
    "manager/gate": GATE,
    "manager/registry": REGISTRY,
    "manager": REGISTRY,
    "manager/doctor": (*REGISTRY, "manager/doctor/"),
    "mcp": (*FACE, "mcp/", "http/"),
    "attach": (*FACE, "attach/", "api/local.h", "api/sockets.h", "http/"),
    "api": (*FACE, "http/", "api/"),
    # `husk mcp` runs the server; verbs that use a session of another process attach to it.
    "cli": (*FACE, "cli/", "mcp/server.h", "mcp/http.h", "api/server.h", "api/local.h", "api/page.h", "api/reroute.h", "api/seal.h",
            "api/sockets.h", "http/request.h", "http/client.h", *ATTACH),
    "cli/repl": (*FACE, "cli/", *ATTACH),
    # Programs such as `husk repl` can attach to its sessions, as to a server's.
    "libhusk": (*FACE, "libhusk/", "api/local.h"),
    # Examples are written as users would write them: they include only the installed headers.
    "libhusk/examples": (),
    "bench": (*FACE, "bench/", "libhusk/husk.h"),
    "clients": ("libhusk/husk.h",),
    # Writes pages from the tables of the programs.
    "tools/pages": (*FACE, "tools/pages/", "cli/", "kernels/client-help.h", "jupyter/face/options.h", "api/route.h",
                    "api/exchange.h", "api/caller.h", "http/"),
    # A part of R's kernel, compiled in its image: it knows nothing of the rest.
    "runtimes/r": ("runtimes/r/",),
}
# Tests may include anything, and only tests may include headers of tests.
TESTS = "tests"
# Made by the build.
GENERATED = {"runtimes.inc"}
# Headers of the manager that PUBLIC headers may include, directly or indirectly.
SHOWN = (*BASE, "manager/model/", "manager/manager.h", "manager/access.h", "manager/checkpoint.h", "manager/network.h", "manager/session-files.h")

# Third-party header -> where it may be included.
ADAPTERS = {
    "husk.h": r"libhusk/examples/[^/]*\.c",
    "uv.h": r"base/(loop|stream|listener|duplex|child|work|ready|watchdog)\.c",
    "curl/curl.h": r"base/fetch\.c",
    "llhttp.h": r"http/parser\.c",
    "wslay/wslay.h": r"http/websocket\.c",
    "openssl/sha.h": r"http/websocket\.c",
    "openssl/ssl.h": r"base/tls\.c",
    "openssl/err.h": r"base/(authority|tls)\.c",
    "openssl/rand.h": r"base/authority\.c",
    "openssl/x509v3.h": r"base/authority\.c",
    "jansson.h": r"(mcp|attach|api|cli|kernels|jupyter|manager/json)/.*|base/(args|json)\.[ch]|manager/(line|engine/docker)/[^/]*\.c|manager/engine/kubernetes/[^/]*\.[ch]"
                 r"|manager/(deps/(set|fitting)|model/limits|registry/(own-id|kept-outputs))\.c",
    "openssl/evp.h": r"base/authority\.c|manager/files/digest\.c",
    "sodium.h": r"manager/(model/(sha256|token)|store/key|files/digest)\.c|jupyter/message\.c",
    "zmq.h": r"(kernels/jupyter/channels|jupyter/multipart|jupyter/face/channels)\.c",
    "archive.h": r"manager/files/libarchive\.h",
    "archive_entry.h": r"manager/files/libarchive\.h",
    "vterm.h": r"manager/line/vt\.c",
    "histedit.h": r"cli/repl/edit\.c",
    "sixel.h": r"cli/repl/sixel-worker\.c",
    "sqlite3.h": r"manager/store/sqlite\.c",
    "libpq-fe.h": r"manager/store/postgres\.c",
    "Rinternals.h": r"runtimes/r/[^/]*\.[ch]",
    "Rinterface.h": r"runtimes/r/console\.c",
    "Rembedded.h": r"runtimes/r/copies\.c",
    "R_ext/GraphicsEngine.h": r"runtimes/r/(link|plots)\.c",
    "R_ext/eventloop.h": r"runtimes/r/link\.c",
}
# The C library and the kernel's interface are not third parties.
SYSTEM = re.compile(r"(linux|linux/netfilter|sys|netinet|arpa|net|asm)/[a-z0-9_]+\.h")
SYSTEM_NAMES = set("""
    assert ctype dirent dlfcn endian errno execinfo fcntl fnmatch ftw getopt glob grp ifaddrs inttypes langinfo limits link locale malloc
    math mntent netdb poll pthread pty pwd regex sched search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint
    stdio stdlib stdnoreturn string strings syslog termios threads time unistd utime wchar wctype
""".split())

SOURCES = re.compile(r"\.(c|h|inc|def|cc|cpp|cxx|hh|hpp|hxx|m|S)$")


def listed(root):
    """Paths of all files, tracked or new; in a folder that is not a repository, of all that exist."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
    return [str(p.relative_to(root)) for p in root.rglob("*")]


def sources(root):
    """Paths of all C files."""
    return sorted({f for f in listed(root) if SOURCES.search(f) and (root / f).is_file()})


LOGICAL_LINE = re.compile(r"(?:[^\n]*\\[ \t]*\n)+[^\n]*")
TOKENS = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
DIRECTIVE = re.compile(r"^[ \t\f\v]*(?:#|%:|\?\?=)[ \t\f\v]*(?:include|include_next|import|embed)\b(.*)$", re.M)


def splice(match):
    """Joins continued lines. Their line breaks are moved to the end, so that later lines keep their numbers."""
    joined, n = re.subn(r"\\[ \t]*\n", "", match.group())
    return joined + "\n" * n


def blank(match):
    text = match.group()
    return text if text[0] in "\"'" else " " + "\n" * text.count("\n")


def includes(path):
    """(line, what follows the directive) of each include, as the preprocessor sees them: lines spliced, comments blank."""
    text = path.read_text(errors="replace").replace("\r\n", "\n")
    text = TOKENS.sub(blank, LOGICAL_LINE.sub(splice, text))
    return [(text.count("\n", 0, m.start()) + 1, m.group(1).strip()) for m in DIRECTIVE.finditer(text)]


def within(header, allowed):
    return any(header.startswith(a) if a.endswith("/") else header == a for a in allowed)


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = sources(root)
        self.complaints = []
        self.ours = {}  # file -> [(line, header)]: includes of files that exist

    def complain(self, file, line, what):
        self.complaints.append(f"{file}:{line}: {what}" if line else f"{file}: {what}")

    # --- one file

    def check_file(self, file):
        folder = os.path.dirname(file)
        in_tests = folder == TESTS or folder.startswith(TESTS + "/")
        self.ours[file] = []
        if (self.root / file).is_symlink():
            self.complain(file, 0, "a symbolic link: its includes would count for another folder")
        if folder not in LAYERS and not in_tests:
            self.complain(file, 0, f"{folder or 'the top'} is not in LAYERS of tests/lint/layers.py, so it may not contain C files")
            return
        for line, operand in includes(self.root / file):
            quoted, angled = re.match(r'"([^"]*)"$', operand), re.match(r"<([^>]*)>$", operand)
            if quoted:
                self.check_ours(file, line, quoted.group(1), in_tests)
            elif angled:
                self.check_theirs(file, line, angled.group(1), in_tests)
            else:
                self.complain(file, line, f"an include that a macro or something else makes: {operand}")

    def check_ours(self, file, line, header, in_tests):
        if header in GENERATED:
            pass
        elif header != os.path.normpath(header) or header.startswith(("/", "..")):
            self.complain(file, line, f'"{header}" is not the plain path of a header')
            return
        elif header not in self.files:
            self.complain(file, line, f'"{header}" is not in the tree: headers of ours are named by their full path')
            return
        elif not header.endswith(".h"):
            self.complain(file, line, f'"{header}" is not a header')
            return
        else:
            self.ours[file].append((line, header))
        folder = os.path.dirname(file)
        if not in_tests and not within(header, LAYERS[folder]):
            self.complain(file, line, f'{folder} may not include "{header}"')

    def check_theirs(self, file, line, header, in_tests):
        top = header.split("/")[0]
        if header in self.files or header in GENERATED or top in {f.split("/")[0] for f in self.files} or ".." in header:
            self.complain(file, line, f"<{header}> is ours: it belongs in quotes, by its full path")
        elif header in ADAPTERS:
            if not in_tests and not re.fullmatch(ADAPTERS[header], file):
                self.complain(file, line, f"<{header}> is not for this file, only for {ADAPTERS[header]}")
        elif not in_tests and not SYSTEM.fullmatch(header) and header.removesuffix(".h") not in SYSTEM_NAMES:
            self.complain(file, line, f"<{header}> is unknown: ADAPTERS in tests/lint/layers.py does not list it")

    # --- the whole

    def check_public(self):
        """Checks that a face sees only SHOWN headers through the manager's public header."""
        for public in PUBLIC:
            todo, seen = [public], set()
            while todo:
                file = todo.pop()
                for line, header in self.ours.get(file, ()):
                    if not within(header, SHOWN):
                        self.complain(file, line, f'"{header}" would be shown to faces, by {public}')
                    if header not in seen:
                        seen.add(header)
                        todo.append(header)

    def module(self, file):
        folder, name = os.path.split(file)
        stem, ending = os.path.splitext(name)
        stem = stem.removesuffix("-private")
        head = stem
        while ending == ".c" and "-" in head and f"{folder}/{stem}.h" not in self.files:
            head = head.rpartition("-")[0]
            if f"{folder}/{head}.h" in self.files:
                stem = head
        return f"{folder}/{stem}"

    def check_cycles(self):
        graph = {}
        for file, found in self.ours.items():
            here = graph.setdefault(self.module(file), {})
            for line, header in found:
                there = self.module(header)
                if there != self.module(file):
                    here.setdefault(there, (file, line))
        for cycle in cycles(graph):
            file, line = graph[cycle[0]][cycle[1]]
            self.complain(file, line, "a cycle of modules: " + " -> ".join(cycle))

    def check_build(self):
        """Checks that the build has no search paths, which could make an include mean another file."""
        for file in sorted({f for f in listed(self.root) if os.path.basename(f) == "meson.build" and (self.root / f).is_file()}):
            path = self.root / file
            if file.split("/")[0] in (TESTS, "build"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                # Debian's llhttp is not in the compiler's search path.
                if file == "http/meson.build" and line.lstrip().startswith("llhttp_args = "):
                    continue
                if re.search(r"'-(I|include|imacros|iquote|isystem|idirafter)", line) or \
                        re.search(r"include_directories\((?!'\.'\))", line):
                    self.complain(file, number, "an include path of its own")

    def check(self):
        for file in self.files:
            self.check_file(file)
        self.check_public()
        self.check_cycles()
        self.check_build()
        return self.complaints


def reaches(graph, start, goal):
    todo, seen = [start], {start}
    while todo:
        at = todo.pop()
        if at == goal:
            return True
        new = set(graph.get(at, ())) - seen
        seen |= new
        todo += new
    return False


def cycles(graph):
    """For each group of modules that include each other, returns one shortest cycle as a path that ends where it
    began.
    """
    done = set()
    for start in sorted(graph):
        if start in done:
            continue
        paths = [[start]]
        seen = {start}
        while paths:
            path = paths.pop(0)
            following = sorted(graph.get(path[-1], ()))
            if start in following:
                done |= {m for m in graph if reaches(graph, start, m) and reaches(graph, m, start)}
                yield [*path, start]
                break
            paths += [[*path, m] for m in following if m not in seen]
            seen.update(following)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    complaints = Tree(root).check()
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"check-layers.sh: {len(complaints)} violation(s)")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
