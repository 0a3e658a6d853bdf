"""The Debian packages: the program, the library, the development files, and the Python module.

Depends: lists what dpkg-shlibdeps finds, and programs and libraries that are loaded at run time. Installing a
package runs no code.
"""

import gzip
import os
import pathlib
import re
import shutil
import time

import archive
import licences
from portable import LOADED, by_name, needs, static_parts
from stage import ROOT, is_elf, run

# The maintainer of a release sets these, as for Debian's own tools.
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'The Husk authors')} <{os.environ.get('DEBEMAIL', 'husk@localhost')}>"
PACKAGES = {
    "husk": {
        "Section": "devel",
        "Depends": "python3",  # husk setup uses it to read its list of images
        "Recommends": "docker.io | docker-ce, ca-certificates",
        "Suggests": "npm, runsc",
        "Description": "computer for AI agents, with a hard shell around it\n"
                       " An MCP server that gives Claude Desktop, Cursor, Claude Code or any other\n"
                       " client persistent Python, Node.js and R interpreters and a shell, each session\n"
                       " in its own hardened Docker container. It also runs programs from a terminal.\n"
                       " .\n"
                       " The images are made by \"husk setup\"; their recipes are in this package.",
    },
    "husk-jupyter": {
        "Section": "devel",
        "Depends": "husk (= {version})",
        "Suggests": "jupyter-console, jupyter-notebook",
        "Description": "sessions of Husk as Jupyter kernels\n"
                       " Opens a running session to Jupyter's clients (\"husk jupyter SESSION\"), and\n"
                       " lists Husk among their kernels (\"husk jupyter --install\"), so that notebooks\n"
                       " run in a session. A separate package, since it needs ZeroMQ.",
    },
    "libhusk0": {
        "Section": "libs",
        "Multi-Arch": "same",
        "Depends": "",
        "Recommends": "husk",
        "Description": "sandboxes for programs: interpreters in hardened containers\n"
                       " The library face of Husk: sessions that execute code, run commands and copy\n"
                       " files, each in a container of its own.",
    },
    "libhusk-dev": {
        "Section": "libdevel",
        "Multi-Arch": "same",
        "Depends": "libhusk0 (= {version})",
        "Description": "sandboxes for programs (development files)\n"
                       " Header, static library, pkg-config file and manual of libhusk.",
    },
    "python3-husk": {
        "Section": "python",
        "Architecture": "all",
        "Depends": "python3, libhusk0 (>= {version})",
        "Description": "sandboxes for Python programs: interpreters in hardened containers\n"
                       " The module husk, over libhusk: sessions for scripts, notebooks and asyncio.",
    },
}
LOADED_BY_LIBRARY = ("libcurl.so.4", "libpq.so.5", "libarchive.so.13", "libcrypto.so.3")  # the other loaded libraries are for terminals
OVERRIDES = """\
# Static programs for containers of any image. Image names depend on their bytes, so they must not be stripped.
husk: unstripped-binary-or-object
husk: statically-linked-binary
husk: shared-library-lacks-prerequisites
# Quotes the texts of the contained libraries.
husk: old-fsf-address-in-copyright-file
# Recipes, copied into images. Image names depend on their modes too.
husk: script-not-executable
"""
# The one static program that the library starts: beside the library, so that several architectures can be installed.
EMULATOR = "libexec/husk/husk-emulator"
EMULATOR_STATIC = ("libc.a", "libgcc.a", "libvterm.a")
LIBRARY_OVERRIDES = """\
# It reads hostile bytes, so it contains only what it needs.
libhusk0: statically-linked-binary
libhusk0: shared-library-lacks-prerequisites
# Quotes the texts of its contents.
libhusk0: old-fsf-address-in-copyright-file
"""


def place_files(stage, roots):
    """Copies each file of the stage into the package that it belongs to."""
    for path in sorted(stage.prefix.rglob("*")):
        name = path.relative_to(stage.prefix)
        if path.is_dir() and not path.is_symlink():
            continue
        target = roots[package_of(str(name))] / "usr" / debian_name(str(name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)
        if name.suffix == ".pc":
            target.write_text(re.sub(r"^prefix=.*", "prefix=/usr", target.read_text(), flags=re.M))
    beside = roots["libhusk0"] / "usr" / stage.libdir / "husk"
    beside.mkdir(parents=True)
    shutil.copy2(stage.prefix / EMULATOR, beside)
    for path in (ROOT / "clients" / "python" / "husk").iterdir():
        if path.is_file():
            target = roots["python3-husk"] / "usr" / "lib" / "python3" / "dist-packages" / "husk" / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)


def package_of(name):
    if re.search(r"libhusk\.so\.", name):
        return "libhusk0"
    if re.search(r"/husk-jupyter-face(\.1)?$", name):
        return "husk-jupyter"
    return "libhusk-dev" if name.startswith(("include/", "lib/")) or "/man3/" in name else "husk"


def debian_name(name):
    return name.replace("share/zsh/site-functions", "share/zsh/vendor-completions")


def write_gz(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 9, mtime=archive.epoch()))


def write_docs(root, package, version, statics):
    doc = root / "usr" / "share" / "doc" / package
    doc.mkdir(parents=True, exist_ok=True)
    (doc / "LICENSE").unlink(missing_ok=True)  # included in copyright
    text = f"Husk {version}, in this package as {package}.\n\n{(ROOT / 'LICENSE').read_text()}"
    for owner, (told, *_) in licences.versions(statics.values()).items():
        parts = ", ".join(name for name, its in statics.items() if its == owner)
        programs = "husk-client and the other static programs contain" if package == "husk" else "husk-emulator contains"
        text += (f"\n{'-' * 72}\n{programs} parts of {parts}, of {owner} {told}:\n\n"
                 f"{(licences.DOC / owner / 'copyright').read_text()}")
    (doc / "copyright").write_text(text)
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(archive.epoch()))
    write_gz(doc / "changelog.gz", f"husk ({version}) unstable; urgency=medium\n\n  * NEWS.md.gz of the package husk has the changes.\n\n"
                                   f" -- {MAINTAINER}  {date}\n".encode())
    if package == "husk":
        write_gz(doc / "NEWS.md.gz", (ROOT / "NEWS.md").read_bytes())
        write_gz(doc / "README.md.gz", (ROOT / "README.md").read_bytes())
    for page in [path for path in root.glob("usr/share/man/man*/*") if path.suffix != ".gz"]:
        write_gz(page.with_name(page.name + ".gz"), page.read_bytes())
        page.unlink()


def shared_libraries(work, root, package):
    """The field Depends of a package: the libraries that dpkg-shlibdeps finds, and those that are loaded by name."""
    (work / "debian").mkdir(exist_ok=True)
    (work / "debian" / "control").write_text("Source: husk\n\nPackage: husk\nArchitecture: any\n")
    objects = [path for path in root.rglob("*") if is_elf(path) and needs(path)]
    if not objects:
        return []
    told = run("dpkg-shlibdeps", "-O", *(f"-e{path}" for path in objects), cwd=work)
    loaded = licences.owners([by_name(name) for name in LOADED if package == "husk" or name in LOADED_BY_LIBRARY]).values()
    return [*told.strip().partition("=")[2].split(", "), *loaded]


def control(package, version, depends, size, built_using):
    fields = {"Package": package, "Source": "husk", "Version": version, "Architecture": run("dpkg", "--print-architecture").strip(),
              "Maintainer": MAINTAINER, "Installed-Size": str(size), **PACKAGES[package], "Depends": ", ".join(depends), "Priority": "optional",
              "Built-Using": built_using}
    description = fields.pop("Description")
    if fields["Source"] == package:
        del fields["Source"]
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value) + f"Description: {description}\n"


def write_control(work, root, package, version, statics):
    meta = root / "DEBIAN"
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    own = [word for word in PACKAGES[package]["Depends"].format(version=version).split(", ") if word]
    depends = [*shared_libraries(work, root, package), *own]
    built_using = ", ".join(sorted({f"{source} (= {told})" for _, source, told in licences.versions(statics.values()).values()}))
    size = sum((path.stat().st_size + 1023) // 1024 for path in files)
    meta.mkdir()
    (meta / "control").write_text(control(package, version, depends, size, built_using))
    sums = run("md5sum", "--", *(path.relative_to(root) for path in files), cwd=root)
    (meta / "md5sums").write_text(sums)
    if package == "libhusk0":
        (meta / "shlibs").write_text(f"libhusk 0 libhusk0 (>= {version})\n")
        (meta / "triggers").write_text("activate-noawait ldconfig\n")


def write_overrides(root, package, text):
    place = root / "usr" / "share" / "lintian" / "overrides" / package
    place.parent.mkdir(parents=True)
    place.write_text(text)


def static_in(package, statics):
    """The libraries that are linked into a package's static programs, as {library: Debian package}."""
    names = {"husk": tuple(statics), "libhusk0": EMULATOR_STATIC}.get(package, ())
    return {name: statics[name] for name in names}


def set_modes(root):
    for path in root.rglob("*"):
        if not path.is_symlink():
            runs = path.is_dir() or (path.stat().st_mode & 0o111 and ".so" not in path.name)
            path.chmod(0o755 if runs else 0o644)


def build(stage, out, level):
    work = out / ".work"
    roots = {package: work / package for package in PACKAGES}
    statics = {pathlib.Path(file).name: package for file, package in licences.owners(static_parts().values()).items()}
    made = []
    for root in roots.values():
        root.mkdir(parents=True)
    place_files(stage, roots)
    for package, root in roots.items():
        if not any(root.iterdir()):  # not built because a library was missing, such as ZeroMQ for husk-jupyter
            continue
        write_docs(root, package, stage.version, static_in(package, statics))
        for name, text in (("husk", OVERRIDES), ("libhusk0", LIBRARY_OVERRIDES)):
            if package == name:
                write_overrides(root, package, text)
        set_modes(root)
        write_control(work, root, package, stage.version, static_in(package, statics))
        made.append(pathlib.Path(pack(root, out, package, stage.version, level)))
    shutil.rmtree(work)
    return made


def pack(root, out, package, version, level):
    architecture = next(line.split(": ")[1] for line in (root / "DEBIAN" / "control").read_text().splitlines() if line.startswith("Architecture"))
    path = out / f"{package}_{version}_{architecture}.deb"
    for entry in [root, *root.rglob("*")]:  # dpkg-deb itself leaves older times as they are
        os.utime(entry, (archive.epoch(), archive.epoch()), follow_symlinks=False)
    run("dpkg-deb", "--root-owner-group", "-Zxz" if level else "-Znone", "--build", root, path)
    return path
