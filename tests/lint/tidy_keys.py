#!/usr/bin/env python3
"""tidy_keys.py BUILD FILE…: prints a line `KEY FILE` for each file. KEY is a hash of everything that clang-tidy's
findings depend on: its version, its configuration, the compiler's command, and the text of the file and of all
files that it includes. Paths below the tree are relative, so every clone has the same keys. KEY is `-` if the
includes are unknown, because the file or one of them has changed since the last build.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commands_of(build):
    """Source -> how it is compiled (several programs may share it): [(command, object)]."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        found.setdefault(source, []).append((entry["command"], entry["output"]))
    return found


def includes_of(build):
    """Object -> all files that it was compiled from, as the compiler reported to ninja."""
    found, current = {}, None
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        if line.startswith(" "):
            found[current].append(os.path.join(build, line.strip()))
        elif ": #deps " in line and line.endswith("(VALID)"):
            current = line.split(": #deps ")[0]
            found[current] = []
        elif line:
            current = "stale"
            found[current] = []
    found.pop("stale", None)
    return found


def relative(text):
    return text.replace(str(ROOT), ".")


class Texts:
    """The contents of files, each read once."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        """Returns (time of the last change, hash of the content)."""
        if path not in self.known:
            self.known[path] = os.stat(path).st_mtime, hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        return self.known[path]


def key_of(build, start, ways, includes, texts):
    """Returns the key of a source. It may be compiled into several objects, which include the same files; one must be
    up to date.
    """
    whole, included = start.copy(), {}
    for command, output in ways:
        whole.update(f"{relative(command)}\n".encode())
        if output not in includes or not (build / output).exists():
            continue
        built = os.stat(build / output).st_mtime
        read = {os.path.normpath(path): texts.of(path) for path in includes[output]}
        if all(changed <= built for changed, _ in read.values()):
            included.update(read)
    for path, (_, text) in sorted(included.items()):
        whole.update(f"{relative(path)} {text}\n".encode())
    return whole.hexdigest() if included else None


def main():
    build, files = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    start = hashlib.sha256(subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout)
    folders = {parent for file in files for parent in pathlib.Path(os.path.realpath(file)).parents}
    for config in filter(pathlib.Path.exists, sorted(folder / ".clang-tidy" for folder in folders)):
        start.update(f"{relative(str(config))}\n".encode() + config.read_bytes())
    ways, includes, texts = commands_of(build), includes_of(build), Texts()
    for file in files:
        try:
            key = key_of(build, start, ways.get(os.path.realpath(file), []), includes, texts)
        except OSError:
            key = None
        print(key or "-", file)


if __name__ == "__main__":
    main()
