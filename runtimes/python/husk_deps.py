"""Puts the session's dependencies before the image's own packages and after the user's. Imported by husk_deps.pth."""

import os
import sys

SITE = f"/opt/husk/deps/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def add():
    # No package code may run while versions are read after an install.
    if "HUSK_INSTALLED" in os.environ or SITE in sys.path or not os.path.isdir(SITE):
        return
    import site

    before, own = list(sys.path), site.getsitepackages()
    site.addsitedir(SITE)
    new = [path for path in sys.path if path not in before]
    at = next((i for i, path in enumerate(before) if path in own or path.endswith("/dist-packages")), len(before))
    sys.path[:] = before[:at] + new + before[at:]


add()
