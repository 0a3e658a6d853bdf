"""Finds the Debian package, version and licence of files."""

import pathlib
import re

from stage import ROOT, run

DOC = pathlib.Path("/usr/share/doc")
COMMON = pathlib.Path("/usr/share/common-licenses")


def owners(files):
    """{file: package} for files that dpkg installed. On a merged /usr it may know them by either path."""
    names = {}
    for file in files:
        real = str(pathlib.Path(file).resolve())
        for name in {real, real.removeprefix("/usr"), str(file), str(file).removeprefix("/usr")}:
            names.setdefault(name, file)
    # dpkg fails if it does not know one of the names, which is usual here.
    found = {}
    for line in run("sh", "-c", 'dpkg -S -- "$@" 2>/dev/null || true', "sh", *names).splitlines():
        package, _, name = line.partition(": ")
        if name in names:
            found[names[name]] = package.split(":")[0]
    lost = [str(file) for file in files if file not in found]
    if lost:
        raise SystemExit(f"error: no Debian package has {', '.join(lost)}: its licence is unknown")
    return found


def versions(packages):
    """{package: (version, source package, source version)}"""
    if not packages:  # dpkg-query would list all that are installed
        return {}
    form = "${Package}\t${Version}\t${source:Package}\t${source:Version}\n"
    return {words[0]: tuple(words[1:]) for words in
            (line.split("\t") for line in run("dpkg-query", "-W", "-f", form, *packages).splitlines())}


def write_texts(folder, parts, heading):
    """Writes LICENSE, BUNDLED.txt (the contents and their versions) and a text for each package of {what: package}."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    known = versions(sorted(set(parts.values())))
    lines = [heading, ""]
    for package in sorted(known):
        what = ", ".join(sorted(name for name, owner in parts.items() if owner == package))
        lines.append(f"{package} {known[package][0]} (Debian's source package {known[package][1]} {known[package][2]}): {what}")
    (folder / "BUNDLED.txt").write_text("\n".join(lines) + "\n")
    texts = folder / "licences"
    texts.mkdir(exist_ok=True)
    common = set()
    for package in known:
        text = (DOC / package / "copyright").read_bytes()
        (texts / f"{package}.txt").write_bytes(text)
        common |= {name.rstrip(".") for name in re.findall(r"common-licenses/([A-Za-z0-9.-]+)", text.decode("utf-8", "replace"))}
    for name in sorted(common):  # other systems lack the common licence files that those texts refer to
        if (COMMON / name).exists():
            (texts / f"common-{name}.txt").write_bytes((COMMON / name).read_bytes())
