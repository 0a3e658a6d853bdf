"""Packages from npm that tests need, installed below the build folder once for each lockfile."""

import fcntl
import hashlib
import shutil
import subprocess

MANIFEST = ("package.json", "package-lock.json", ".npmrc")
INSTALL_TIME = 900


def installed(source, build, name):
    """The folder node_modules for the manifest in the folder `source`. Safe to call from several processes."""
    build.mkdir(parents=True, exist_ok=True)
    content = b"\0".join((source / file).read_bytes() for file in MANIFEST)
    folder = build / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
    stamp = folder / "installed"
    with open(build / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            _npm_ci(source, folder)
            stamp.touch()
    return folder / "node_modules"


def _npm_ci(source, folder):
    folder.mkdir(exist_ok=True)
    for file in MANIFEST:
        shutil.copy(source / file, folder)
    log_file = folder / "install.log"
    with open(log_file, "wb") as log:
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=INSTALL_TIME, check=False)
    if done.returncode != 0:
        raise AssertionError(f"npm ci ended with status {done.returncode}:\n{log_file.read_text()[-3000:]}")
