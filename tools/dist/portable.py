"""A tree that runs on other distributions. It contains the shared libraries that husk needs, except those of the C
library.

The libraries have private names (libssl.so.3 is libhusk-ssl.so.3) and are found beside the program by a relative
rpath. So a process that has loaded another libssl.so.3, like Python, keeps both, and they do not mix.
"""

import os
import re
import shutil

import licences
from stage import is_elf, run

# Parts of the C library, which is never bundled.
GLIBC = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util|anl|nsl|BrokenLocale|mvec))\.so(\.\d+)*$")
# Loaded by base/library.h.
LOADED = ("libcurl.so.4", "libpq.so.5", "libarchive.so.13", "libcrypto.so.3", "libedit.so.2", "libsixel.so.1")
STATIC = ("libc.a", "libgcc.a", "libjansson.a", "libvterm.a")  # in the programs of the images, and in husk-emulator


def private(name):
    return f"libhusk-{name.removeprefix('lib')}"


def libraries_of(paths):
    """{soname: file} of all direct and indirect dependencies that the linker finds."""
    found = {}
    for line in run("ldd", *paths).splitlines():
        match = re.match(r"\s+(\S+) => (\S+) \(0x", line)
        if match and not GLIBC.match(os.path.basename(match.group(1))):
            found[match.group(1)] = match.group(2)
        elif "not found" in line:
            raise SystemExit(f"error: {line.strip()}")
    return found


def by_name(file):
    """The path where the compiler finds a library. It prints the bare name if it finds none."""
    path = run(os.environ.get("CC", "cc"), f"-print-file-name={file}").strip()
    if path == file:
        raise SystemExit(f"error: {file} is not installed")
    return os.path.realpath(path)


def static_parts():
    return {name: by_name(name) for name in STATIC}


def needs(path):
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", run("readelf", "-d", "-W", path))


def adapt(path, names, rpath):
    """Makes an object find these libraries by their private names. patchelf gets one change per call, because its older
    releases mix up two.
    """
    words = [word for name in needs(path) if name in names for word in ("--replace-needed", name, private(name))]
    if words:
        run("patchelf", *words, path)
    run("patchelf", "--force-rpath", "--set-rpath", rpath, path)


def glibc_of(paths):
    """The newest version of the C library that any of these needs, as (2, 36)."""
    found = re.findall(r"\bGLIBC_(\d+)\.(\d+)", run("readelf", "-V", "-W", *paths))
    return max((int(major), int(minor)) for major, minor in found)


class Portable:
    """The tree in `folder`: bin, lib, libexec, share. `glibc` is the version it needs, `files()` lists the files for
    a package.
    """

    def __init__(self, stage, folder):
        self.folder, self.version = folder, stage.version
        shutil.copytree(stage.prefix / "bin", folder / "bin", symlinks=True)
        stage.copy(("libexec", "share"), folder)
        (folder / "lib").mkdir()
        shutil.copy2((stage.prefix / stage.libdir / "libhusk.so.0").resolve(), folder / "lib" / "libhusk.so.0")
        own = [path for path in (*(folder / "bin").iterdir(), folder / "lib" / "libhusk.so.0") if is_elf(path) and needs(path)]
        libraries = self._bundle(own)
        self.glibc = glibc_of([path for path in folder.rglob("*") if is_elf(path) and needs(path)])
        parts = licences.owners([*libraries.values(), *static_parts().values()])
        told = {file: f"lib/{private(name)}" for name, file in libraries.items()}
        told.update((file, f"{name}, in husk-client and the other static programs") for name, file in static_parts().items())
        licences.write_texts(folder / "share" / "doc" / "husk", {told[file]: package for file, package in parts.items()},
                             f"This package of Husk {self.version} also contains the software below; licences/ has the terms of each.")

    def _bundle(self, own):
        libraries = libraries_of([*own, *map(by_name, LOADED)])
        libraries.update((name, by_name(name)) for name in LOADED)
        for name, file in libraries.items():
            target = self.folder / "lib" / private(name)
            shutil.copyfile(file, target)
            target.chmod(0o644)
            adapt(target, libraries, "$ORIGIN")
            run("patchelf", "--set-soname", private(name), target)
        for path in own:
            adapt(path, libraries, "$ORIGIN" if path.parent.name == "lib" else "$ORIGIN/../lib")
        return libraries
