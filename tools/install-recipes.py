#!/usr/bin/env python3
"""Copies what `husk setup` needs into an installed tree: install-recipes.py IMAGES.JSON DATADIR PROGRAM…

DATADIR gets setup-docker.sh, the recipes of runtimes/ and an images.json whose paths are relative to it; each PROGRAM is a program of the
images at the place where it is installed. Meson runs it at install time and sets DESTDIR; the names of the images are those that were
compiled into husk.
"""

import json
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKIPPED = shutil.ignore_patterns("__pycache__", "node_modules", "*.pyc", "*~")


def target_of(folder):
    destination = os.environ.get("DESTDIR")
    return pathlib.Path(destination + folder) if destination else pathlib.Path(folder)


def main():
    images, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2]
    programs = {pathlib.Path(program).name: os.path.relpath(program, folder) for program in sys.argv[3:]}
    target = target_of(folder)
    shutil.rmtree(target / "runtimes", ignore_errors=True)
    (target / "tools").mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "runtimes", target / "runtimes", ignore=SKIPPED)
    shutil.copy2(ROOT / "setup-docker.sh", target)
    shutil.copy2(ROOT / "tools" / "shell.sh", target / "tools")
    for image in images:
        image["folder"] = str(pathlib.Path(image["folder"]).relative_to(ROOT))
        image["client"] = programs[pathlib.Path(image["client"]).name]
        image["tools"] = [programs.get(pathlib.Path(tool).name) or str(pathlib.Path(tool).relative_to(ROOT)) for tool in image["tools"]]
        for name in image["adapter_files"]:  # sources of the adapter for Jupyter kernels
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "images.json").write_text(json.dumps(images, indent=2) + "\n")


if __name__ == "__main__":
    main()
