"""The tree of `meson install`, with its version and its folders, as the source of the packages."""

import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Image names are hashes of their bytes, so they stay as they were built.
HASHED = ("husk-client", "husk-fence", "husk-probe", "husk-fit")


def run(*command, **more):
    """A command's output. If it fails, its messages are shown."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise SystemExit(f"error: {command[0]} ended with status {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Stage:
    """An installed tree. `prefix` is a folder with bin, share and others; `libdir` is one of these, as a relative path."""

    def __init__(self, build, folder):
        options = {option["name"]: option["value"] for option in json.loads((build / "meson-info" / "intro-buildoptions.json").read_text())}
        self.build = build
        self.version = json.loads((build / "meson-info" / "intro-projectinfo.json").read_text())["version"]
        self.libdir = pathlib.PurePath(options["libdir"])
        self.prefix = folder / options["prefix"].lstrip("/")
        run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder)
        self._strip()

    def _strip(self):
        for path in [*(self.prefix / "bin").iterdir(), *(self.prefix / "libexec").rglob("*"), *(self.prefix / self.libdir).rglob("*")]:
            if is_elf(path) and path.name not in HASHED:
                run("strip", "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", path)
            elif path.suffix == ".a":
                run("strip", "--strip-debug", "--enable-deterministic-archives", path)

    def copy(self, names, target):
        """Copies files and folders of the prefix, given by relative names, to the same names below target."""
        for name in names:
            source, place = self.prefix / name, target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, place, symlinks=True)
            else:
                shutil.copy2(source, place, follow_symlinks=False)


def clean_environment():
    """A PATH and an empty HOME, to run programs of the tree."""
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
