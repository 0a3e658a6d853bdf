"""The wheel: the Python module with the tree in husk/_native, completions and man pages where the environment's share/ is, and a script `husk` that
becomes the program."""

import base64
import hashlib
import platform

import archive
from stage import ROOT

# The script does not import husk, because that would load the library, which the program does not need.
SCRIPT = b"""#!python
import importlib.util
import os
import sys

native = os.path.join(importlib.util.find_spec("husk").submodule_search_locations[0], "_native")
os.execv(os.path.join(native, "bin", "husk"), ["husk", *sys.argv[1:]])
"""
SHARED = ("bash-completion/", "zsh/", "fish/", "man/")  # folders of share/ in which shells and man look for files


def metadata(version):
    fields = (ROOT / "clients" / "python" / "pyproject.toml").read_text()
    summary = next(line.split('"')[1] for line in fields.splitlines() if line.startswith("description ="))
    requires = next(line.split('"')[1] for line in fields.splitlines() if line.startswith("requires-python ="))
    head = {"Metadata-Version": "2.4", "Name": "husk", "Version": version, "Summary": summary, "License-Expression": "MIT",
            "License-File": "LICENSE", "Requires-Python": requires, "Description-Content-Type": "text/markdown"}
    return "".join(f"{name}: {value}\n" for name, value in head.items()) + "\n" + (ROOT / "README.md").read_text()


def build(tree, out, level):
    version = tree.version
    tag = f"py3-none-manylinux_{tree.glibc[0]}_{tree.glibc[1]}_{platform.machine()}"
    info, data = f"husk-{version}.dist-info", f"husk-{version}.data"
    entries = [(f"husk/{path.name}", path) for path in sorted((ROOT / "clients" / "python" / "husk").iterdir()) if path.is_file()]
    for name, path in archive.tree_files(tree.folder):
        shared = name.removeprefix("share/").startswith(SHARED)
        entries.append((f"{data}/data/{name}" if shared else f"husk/_native/{name}", path))
    entries += [(f"{data}/scripts/husk", SCRIPT, True),
                (f"{info}/METADATA", metadata(version).encode()),
                (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: husk\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()),
                (f"{info}/licenses/LICENSE", ROOT / "LICENSE")]
    record = "".join(f"{name},sha256={digest(entry)},{len(archive.read(entry))}\n" for name, entry, *_ in entries)
    entries.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode()))
    return archive.write_zip(out / f"husk-{version}-{tag}.whl", entries, level)


def digest(entry):
    return base64.urlsafe_b64encode(hashlib.sha256(archive.read(entry)).digest()).rstrip(b"=").decode()
