"""Packages from PyPI that tests need beside the environment they run in, installed below the build folder once for each list."""

import fcntl
import hashlib
import subprocess
import sys

INSTALL_TIME = 900


def installed(requirements, build, name):
    """A folder for PYTHONPATH with the packages that the file `requirements` names. Safe to call from several processes."""
    build.mkdir(parents=True, exist_ok=True)
    folder = build / f"{name}-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]}"
    stamp = folder / "installed"
    with open(build / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
                                   "--no-compile", "--target", folder, "--requirement", requirements],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_TIME, check=False)
            assert done.returncode == 0, f"pip ended with status {done.returncode}:\n{done.stderr[-3000:]}"
            stamp.touch()
    return folder
