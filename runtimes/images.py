#!/usr/bin/env python3
"""Names the runtime images by their content.

Reads runtimes/*/runtime.json and the requested ones in runtimes/contrib/. Writes the same table twice: images.json,
from which setup-docker.sh builds the images, and runtimes.inc, which is compiled into the manager. So the program uses
exactly the images of its own source tree. This script builds nothing and does not contact an engine.
"""

import argparse
import hashlib
import json
import os
import re
import sys
from pathlib import Path

ADAPTER = "/opt/husk/kernel/husk-jupyter"  # starts a stock Jupyter kernel; built in a separate image
FIRST = "python"  # listed first in the table, which makes it the default language of a session

NOT_KERNEL = {"Dockerfile", "fetch.sh", "runtime.json"}

FIELDS = {  # name: (description of a valid value, test)
    "name": ("lower-case letters and digits, a letter first", lambda v: matches(r"[a-z][a-z0-9]*", v)),
    "title": ("one line of text", lambda v: matches(r"[^\x00-\x1f]+", v)),
    "aliases": ("a list of lower-case words", lambda v: list_of(r"[a-z][a-z0-9+#.-]*", v)),
    "extension": ("a dot and letters, as in .py", lambda v: matches(r"\.[A-Za-z0-9]+", v)),
    "kernel": ("a command line as a list, an absolute path first",
               lambda v: list_of(r"[^\x00]+", v) and len(v) > 0 and v[0].startswith("/")),
    "link": ('"unix" or "tcp:PORT"', lambda v: matches(r"unix|tcp:[1-9][0-9]{1,4}", v)),
    "interrupt": ("a signal's name, as in SIGINT", lambda v: matches(r"SIG[A-Z0-9]+", v)),
    "env": ("an object of strings", lambda v: isinstance(v, dict) and list_of(r"[A-Za-z_][A-Za-z0-9_]*", list(v))
            and list_of(r"[^\x00]*", list(v.values()))),
    "late_env": ("a list of names", lambda v: list_of(r"[A-Za-z_][A-Za-z0-9_]*", v)),
    "program": ("an object of 'command', a command line as a list with \"{}\" as the program's file, and optionally 'env', an object of strings, and 'requirements', pep723 or package.json",
                lambda v: is_program(v)),
    "slow_start": ("true or false", lambda v: isinstance(v, bool)),
    "on": ("the name of the runtime whose packages it begins with", lambda v: matches(r"[a-z][a-z0-9]*", v)),
    "describe": ("text for a model", lambda v: matches(r"[^\x00]+", v)),
    "installer": ("an object of " + ", ".join(f"'{field}'" for field in ("command", "installed", "name", "version", "pinned", "rules", "settings"))
                  + ", and optionally 'later', a command line of plain words",
                  lambda v: is_installer(v)),
    "fit": ("an object of 'interpreter' and command lines whose first word is a program's name: " + ", ".join(f"'{field}'" for field in ("check", "prepare", "kernel", "installer", "installed")),
            lambda v: is_fit(v)),
}
OPTIONAL = {"installer", "program", "fit", "late_env", "on", "slow_start"}
# An extended regular expression (POSIX) that means the same in Python.
EXPRESSION = r"[\x20-\x7e]+"
INSTALLER = {
    "command": lambda v: list_of(r"[^\x00]+", v) and len(v) > 0 and v[0].startswith("/"),
    "installed": lambda v: list_of(r"[^\x00]+", v) and len(v) > 0 and v[0].startswith("/"),
    "name": lambda v: matches(EXPRESSION, v) and compiles(v),
    "version": lambda v: matches(EXPRESSION, v) and compiles(v),
    "pinned": lambda v: matches(EXPRESSION, v) and compiles(v),
    "rules": lambda v: matches(r"[^\x00-\x1f]+", v),
    "settings": lambda v: list_of(r"[A-Z][A-Z0-9_]*", v),
    "later": lambda v: list_of(r"[A-Za-z0-9/._-]+", v) and len(v) > 0,
}


class ManifestError(Exception):
    pass


def matches(pattern, value):
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def list_of(pattern, value):
    return isinstance(value, list) and all(matches(pattern, item) for item in value)


def compiles(expression):
    try:
        return re.compile(expression) is not None
    except re.error:
        return False


def is_program(value):
    return (isinstance(value, dict) and set(value) <= {"command", "env", "requirements"} and list_of(r"[^\x00]+", value.get("command"))
            and value["command"].count("{}") == 1 and FIELDS["env"][1](value.get("env", {}))
            and value.get("requirements", "pep723") in ("pep723", "package.json"))


def is_installer(value):
    return (isinstance(value, dict) and INSTALLER.keys() - {"later"} <= value.keys() <= INSTALLER.keys()
            and all(test(value[field]) for field, test in INSTALLER.items() if field in value))


def is_fit(value):
    return (isinstance(value, dict) and value.keys() >= {"interpreter", "check", "kernel"}
            and value.keys() <= {"interpreter", "check", "prepare", "kernel", "installer", "installed"}
            and all(matches(r"[A-Za-z0-9_.-]+", words) if name == "interpreter" else list_of(r"[^\x00]+", words) and len(words) > 0
                    for name, words in value.items()))


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ManifestError(f"'{key}' appears twice")
    return dict(pairs)


def read_manifest(path):
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=no_duplicates)
        if not isinstance(manifest, dict):
            raise ManifestError("not a JSON object")
        for field, (right, test) in FIELDS.items():
            if field not in manifest and field in OPTIONAL:
                continue
            if field not in manifest:
                raise ManifestError(f"'{field}' is missing ({right})")
            if not test(manifest[field]):
                raise ManifestError(f"'{field}' must be {right}")
        for field in manifest.keys() - FIELDS.keys():
            raise ManifestError(f"'{field}' is not a known field")
        if manifest["name"] != path.parent.name:
            raise ManifestError(f"'name' must be the folder's, '{path.parent.name}'")
        if not (path.parent / "Dockerfile").is_file():
            raise ManifestError("no Dockerfile beside it")
    except (ManifestError, ValueError) as e:
        raise ManifestError(f"{path}: {e}") from e
    return manifest


def check_names(manifests):
    owner = {}
    for manifest in manifests:
        for name in [manifest["name"], *manifest["aliases"]]:
            if name in owner:
                raise ManifestError(f"'{name}' names both {owner[name]} and {manifest['name']}")
            owner[name] = manifest["name"]


def kernel_files(folder):
    """Return the files of a runtime that go to /opt/husk/kernel, as sorted relative paths."""
    found = []
    for root, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in ("__pycache__", "node_modules")]
        for file in files:
            path = Path(root, file).relative_to(folder)
            if not (file.startswith((".", "README")) or file.endswith("~") or str(path) in NOT_KERNEL):
                found.append(path)
    return sorted(found)


def digest(*parts):
    """Return a hash of 12 hex digits. A string counts as it is, a file by its name, executable bit and content."""
    h = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            executable = "x" if part.stat().st_mode & 0o111 else "-"
            data = part.read_bytes()
            h.update(f"file {part.name} {executable} {len(data)}\n".encode())
        else:
            data = part.encode()
            h.update(f"text {len(data)}\n".encode())
        h.update(data)
    return h.hexdigest()[:12]


def debian_image(runtimes):
    return f"husk-base:trixie-{digest(runtimes / 'base.sh')}"


def common_image(runtimes):
    return f"husk-common:{digest(debian_image(runtimes), runtimes / 'Dockerfile.base')}"


def adapter_image(runtimes, sources):
    """Return the name of the image in which husk-jupyter is compiled from these files, and the names of the files and
    of every header that they could include.
    """
    root = runtimes.parent
    if not sources:
        raise ManifestError("a runtime starts husk-jupyter, but --adapter does not name its sources")
    files = sorted({*sources, *root.glob("base/*.h"), *root.glob("jupyter/*.h"), *root.glob("kernels/**/*.h")})
    names = [str(file.relative_to(root)) for file in files]
    inputs = [part for name, file in zip(names, files) for part in (name, file)]
    return f"husk-jupyter:{digest(common_image(runtimes), runtimes / 'contrib' / 'Dockerfile.adapter', *inputs)}", names


def packages_image(name, tables, runtimes, seen=()):
    """Return the names of a runtime's packages image and, before it, of the image that it builds on. `tables`: names ->
    manifests and names -> folders.
    """
    manifests, folders = tables
    if name not in manifests or name in seen:
        raise ManifestError(f"{folders[seen[-1]]}: 'on' names {name}, which {'is not a runtime' if name not in seen else 'builds on this one'}")
    under = manifests[name].get("on")
    base_tag = packages_image(under, tables, runtimes, (*seen, name))[1] if under else common_image(runtimes)
    recipe = [file for file in (folders[name] / "Dockerfile", folders[name] / "fetch.sh") if file.exists()]
    return base_tag, f"husk-{name}-packages:{digest(base_tag, *recipe)}"


def image(manifest, runtimes, tables, client, tools, adapter_sources):
    folder = tables[1][manifest["name"]]
    files = kernel_files(folder)
    base_tag, packages_tag = packages_image(manifest["name"], tables, runtimes)
    inputs = [runtimes / "Dockerfile.kernel", folder / "runtime.json"]
    for file in files:
        inputs += [str(file), folder / file]
    adapter_tag, adapter_files = "", []
    if manifest["kernel"][0] == ADAPTER:
        adapter_tag, adapter_files = adapter_image(runtimes, adapter_sources)
        inputs.append(adapter_tag)
    tag = f"husk-{manifest['name']}:{digest(packages_tag, client, *tools, *inputs)}"
    return {
        "name": manifest["name"],
        "on": manifest.get("on", ""),
        "tag": tag,
        "packages_tag": packages_tag,
        "debian_tag": debian_image(runtimes),
        "common_tag": common_image(runtimes),
        "base_tag": base_tag,
        "folder": str(folder),
        "files": [str(file) for file in files],
        "client": str(client),
        "tools": [str(tool) for tool in tools],
        "adapter_tag": adapter_tag,
        "adapter_files": adapter_files,
    }


def c_string(text):
    def escape(byte):
        char = chr(byte)
        if char in '"\\?':  # ? because of trigraphs
            return "\\" + char
        return char if 32 <= byte < 127 else f"\\{byte:03o}"
    return '"' + "".join(map(escape, text.encode())) + '"'


def c_list(strings):
    return "(const char *const[]){ " + "".join(c_string(s) + ", " for s in strings) + "NULL }"


def c_installer(installer):
    fields = "".join(f"\t\t.{field} = {c_string(installer[field])},\n" for field in ("name", "version", "pinned", "rules"))
    later = f"\t\t.later = {c_string(' '.join(installer['later']))},\n" if "later" in installer else ""
    return f"&(const struct installer){{\n{fields}{later}\t\t.settings = {c_list(installer['settings'])},\n\t}}"


def c_program(program):
    env = [f"{name}={value}" for name, value in sorted(program.get("env", {}).items())]
    requirements = f"\t.requirements = {c_string(program['requirements'])},\n" if "requirements" in program else ""
    return f"\t.program = {c_list(program['command'])},\n\t.program_env = {c_list(env)},\n{requirements}"


def c_entry(manifest, entry):
    program = c_program(manifest["program"]) if "program" in manifest else ""
    installer = f"\t.installer = {c_installer(manifest['installer'])},\n" if "installer" in manifest else ""
    fits = "\t.fits = true,\n" if "fit" in manifest else ""
    parts = sorted({entry[tag] for tag in ("packages_tag", "base_tag", "common_tag", "adapter_tag") if entry[tag]})
    slow_start = "\t.slow_start = true,\n" if manifest.get("slow_start") else ""
    return (
        "{\n"
        f"\t.name = {c_string(manifest['name'])},\n"
        f"\t.title = {c_string(manifest['title'])},\n"
        f"\t.aliases = {c_list(manifest['aliases'])},\n"
        f"\t.extension = {c_string(manifest['extension'])},\n"
        f"\t.image = {c_string(entry['tag'])},\n"
        f"\t.parts = {c_list(parts)},\n"
        f"\t.describe = {c_string(manifest['describe'])},\n"
        f"{program}{installer}{fits}{slow_start}"
        "},\n"
    )


def write_if_changed(path, text):
    """Write a file. An unchanged file keeps its time, so that nothing is rebuilt because of it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def contrib_paths(runtimes, names):
    there = {path.parent.name: path for path in sorted(runtimes.glob("contrib/*/runtime.json"))}
    if "all" in names:
        return list(there.values())
    for name in names:
        if name not in there:
            raise ManifestError(f"no runtime '{name}' in contrib/; there are: {', '.join(there)}")
    return [there[name] for name in sorted(set(names))]


def main():
    parser = argparse.ArgumentParser(description="Names the runtime images by their content.")
    parser.add_argument("--runtimes", type=Path, required=True, help="the folder of the runtimes")
    parser.add_argument("--client", type=Path, required=True, help="the husk-client that goes into the images")
    parser.add_argument("--tool", type=Path, action="append", default=[], help="another program of Husk's that goes into the images")
    parser.add_argument("--contrib", action="append", default=[], metavar="NAME", help="also offer this runtime of contrib/; all = every one")
    parser.add_argument("--adapter", type=Path, nargs="*", default=[], help="the sources of husk-jupyter")
    parser.add_argument("--json", type=Path, required=True, help="images.json, for setup-docker.sh")
    parser.add_argument("--table", type=Path, required=True, help="runtimes.inc, for the manager")
    options = parser.parse_args()
    runtimes = options.runtimes.resolve()
    try:
        paths = sorted(runtimes.glob("*/runtime.json")) + contrib_paths(runtimes, options.contrib)
        manifests = [read_manifest(path) for path in paths]
        if not manifests:
            raise ManifestError(f"{runtimes}: no */runtime.json there")
        check_names(manifests)
        folders = {manifest["name"]: path.parent for manifest, path in zip(manifests, paths)}
        manifests.sort(key=lambda manifest: (manifest["name"] != FIRST, manifest["name"]))
        adapter = [path.resolve() for path in options.adapter]
        client, tools = options.client.resolve(), [tool.resolve() for tool in options.tool]
        tables = {manifest["name"]: manifest for manifest in manifests}, folders
        images = [image(manifest, runtimes, tables, client, tools, adapter) for manifest in manifests]
    except (ManifestError, OSError) as e:
        sys.exit(f"images.py: {e}")
    table = "".join(c_entry(manifest, entry) for manifest, entry in zip(manifests, images))
    write_if_changed(options.json, json.dumps(images, indent=2) + "\n")
    write_if_changed(options.table, "/* Made by runtimes/images.py. */\n" + table)


if __name__ == "__main__":
    main()
