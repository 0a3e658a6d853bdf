#!/usr/bin/env python3
"""Makes the packages of a build: tools/dist/dist.py [--build FOLDER] [--out FOLDER] [--fast] [deb|wheel|npm|mcpb…]

`make dist` calls it. All files come from `meson install`, and the version from meson.build. wheel, npm and mcpb
share one tree, which contains the libraries that it needs. The same build makes identical files.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import deb  # noqa: E402
import mcpb  # noqa: E402
import npm  # noqa: E402
import wheel  # noqa: E402
from portable import Portable  # noqa: E402
from stage import ROOT, Stage  # noqa: E402

KINDS = {"deb": deb, "wheel": wheel, "npm": npm, "mcpb": mcpb}
TOOLS = {"meson": "meson", "strip": "binutils", "readelf": "binutils", "patchelf": "patchelf", "dpkg-deb": "dpkg", "dpkg-shlibdeps": "dpkg-dev"}


def check_tools():
    missing = [f"{tool} (package {package})" for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing:
        raise SystemExit(f"error: missing: {', '.join(missing)}; tools/install-deps.sh dist installs them")


def set_epoch():
    """Gives all files in packages the time of the last commit, or that of NEWS.md if there is no git."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        told = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
        os.environ["SOURCE_DATE_EPOCH"] = told.stdout.strip() or str(int((ROOT / "NEWS.md").stat().st_mtime))


def main():
    parser = argparse.ArgumentParser(prog="tools/dist/dist.py", description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the folder that husk was built in")
    parser.add_argument("--out", type=pathlib.Path, help="the folder for the packages; default: dist in the build folder")
    parser.add_argument("--fast", action="store_true", help="compress nothing")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"any of {', '.join(KINDS)}; default: all")
    options = parser.parse_args()
    kinds = options.kinds or list(KINDS)
    for kind in kinds:
        if kind not in KINDS:
            parser.error(f"no kind '{kind}'; there are: {', '.join(KINDS)}")
    check_tools()
    set_epoch()
    os.umask(0o022)
    out = (options.out or options.build / "dist").resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="husk-dist-") as folder:
        work = pathlib.Path(folder)
        stage = Stage(options.build.resolve(), work / "stage")
        tree = Portable(stage, work / "tree") if set(kinds) - {"deb"} else None
        for kind in kinds:
            made = KINDS[kind].build(stage if kind == "deb" else tree, out, 0 if options.fast else 9)
            for path in made if isinstance(made, list) else [made]:
                print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)", flush=True)


if __name__ == "__main__":
    main()
