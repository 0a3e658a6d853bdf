"""Programs of Debian packages that only the long tests need. They are unpacked below the build folder instead of being
installed, because nginx and others would start a service on this machine.
"""

import fcntl
import os
import pathlib
import subprocess

DOWNLOAD_TIME = 300


def unpacked(build, *packages):
    """The folder in which these packages are unpacked. Safe to call from several processes."""
    folder = build / "debian"
    folder.mkdir(parents=True, exist_ok=True)
    with open(build / "debian.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [package for package in packages if not (folder / f".{package}").exists()]
        if missing:
            _unpack(folder, missing)
    return folder


def _unpack(folder, packages):
    downloads = folder / "downloads"
    downloads.mkdir(exist_ok=True)
    done = subprocess.run(["apt-get", "download", "-qq", *packages], cwd=downloads, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=DOWNLOAD_TIME, check=False)
    assert done.returncode == 0, f"apt-get download ended with status {done.returncode}:\n{done.stderr[-3000:]}"
    for package in packages:
        [file] = downloads.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "--extract", file, folder], check=True, capture_output=True)
        (folder / f".{package}").touch()


def program(folder, name):
    """The path of a program, and the environment in which it finds its libraries."""
    [path] = [one for one in (folder / "usr" / "bin" / name, folder / "usr" / "sbin" / name) if one.exists()]
    libraries = os.pathsep.join(str(path) for path in pathlib.Path(folder / "usr" / "lib").glob("*-linux-gnu"))
    return str(path), {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LD_LIBRARY_PATH": libraries}
