#!/usr/bin/env python3
"""Compares the Python kernel of an earlier commit with that of the working tree, over the link alone, in one run.

    tests/kernel/compare.py [REVISION]          default: origin/main

Both run in the packages image and take turns, so that other load on the machine affects both. Trust `min` and the
ratio. On a busy machine trust the second table, the kernel's CPU time.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("runtimes/python", "tests/kernel/link_harness.py")
CELLS = {
    "1+1": "1+1",
    "x = 1": "x = 1",
    "print": "print('a line')",
    "ten lines": "t = 0\nfor i in range(3):\n    t += i\ns = str(t)\nd = {'a': t}\nl = [t]\nq = t + 1\nr = q * 2\nu = (q, r)\nu",
    "500 KB picture": "display({'image/png': picture}, raw=True)",
}
# A picture that is sent unchanged: a PNG header and 500 KB of noise.
SET_UP = "import os, struct\npicture = b'\\x89PNG\\r\\n\\x1a\\n' + struct.pack('>I4sII', 13, b'IHDR', 640, 480) + os.urandom(500_000)"
ROUNDS, STARTS = 300, 15


def on_cpu(kernel):
    """CPU time of the kernel so far, in milliseconds."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{kernel.process.pid}/task").glob("*/schedstat")) / 1e6


def start_kernel(tree):
    """A kernel of a tree, started by that tree's own harness, since the link may have changed."""
    spec = importlib.util.spec_from_file_location("link_harness", tree / "tests/kernel/link_harness.py")
    harness = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(harness)
    return harness.Kernel(tree / "runtimes/python/runtime.json", cwd="/tmp")


def first_result(tree):
    start = time.perf_counter()
    with start_kernel(tree) as kernel:
        kernel.run("1+1")
        return 1000 * (time.perf_counter() - start), on_cpu(kernel)


def cell(kernel, code):
    before, start = on_cpu(kernel), time.perf_counter()
    kernel.run(code)
    return 1000 * (time.perf_counter() - start), on_cpu(kernel) - before


def line(label, old, new):
    old, new = sorted(old), sorted(new)
    middle = len(old) // 2
    return (f"{label:28}{old[0]:9.3f}{new[0]:9.3f}{old[middle]:9.3f}{new[middle]:9.3f}{new[middle] - old[middle]:+9.3f}"
            f"{new[middle] / old[middle]:8.2f}")


def compare(trees):
    """Runs inside the image. `trees` has the old kernel's tree first."""
    measured = {"start to first result": [first_result(trees[turn % 2]) for turn in range(2 * STARTS)]}
    kernels = [start_kernel(tree) for tree in trees]
    for kernel in kernels:
        kernel.run(SET_UP)
    for label, code in CELLS.items():
        measured[label] = [cell(kernels[turn % 2], code) for turn in range(2 * ROUNDS)]
    for kernel in kernels:
        kernel.close()
    for which, title in enumerate(("ms until the answer", "ms on a CPU")):
        print(f"\n{title:28}{'min old':>9}{'min new':>9}{'p50 old':>9}{'p50 new':>9}{'change':>9}{'ratio':>8}")
        for label, pairs in measured.items():
            times = [pair[which] for pair in pairs]
            print(line(label, times[::2], times[1::2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("revision", nargs="?", default="origin/main")
    revision = parser.parse_args().revision
    build = ROOT / os.environ.get("BUILD", "build")
    image = next(entry["packages_tag"] for entry in json.loads((build / "images.json").read_text()) if entry["name"] == "python")
    with tempfile.TemporaryDirectory() as folder:
        for name, commit in (("old", revision), ("new", None)):
            target = pathlib.Path(folder, name)
            if commit:
                archive = subprocess.run(["git", "archive", commit, *PARTS], cwd=ROOT, check=True, capture_output=True).stdout
                with tempfile.TemporaryFile() as file:
                    file.write(archive)
                    file.seek(0)
                    tarfile.open(fileobj=file).extractall(target, filter="data")
            else:
                target.mkdir()
                subprocess.run(["cp", "-r", "--parents", *PARTS, target], cwd=ROOT, check=True)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        compiled = "python3 -m compileall -q --invalidation-mode unchecked-hash /kernels; "
        subprocess.run(["docker", "run", "--rm", "--init", "--network", "none", "--volume", f"{folder}:/kernels",
                        "--volume", f"{ROOT}:/husk:ro", "--env", "PYTHONDONTWRITEBYTECODE=1", image, "sh", "-c",
                        compiled + "exec python3 /husk/tests/kernel/compare.py --inside"], check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        compare([pathlib.Path("/kernels", name) for name in ("old", "new")])
    else:
        main()
