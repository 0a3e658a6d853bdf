"""Lists the versions in /opt/husk/deps: run by PID 1 after an install, when all processes of the install have ended.

fd 198 holds the requested {"name": "version", …}; the installed {"name": "version", …} goes to fd 199. No package
code runs here: HUSK_INSTALLED keeps husk_deps.py from adding the packages to the path, and metadata is text.
"""

import json
import sys
from importlib import metadata

SITE = f"/opt/husk/deps/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def version(name):
    """Return the version that a session will import."""
    plain = name.partition("[")[0]
    found = next(metadata.distributions(name=plain, path=[SITE, *sys.path]), None)
    if found is None:
        sys.exit(f"pip has not installed '{plain}'")
    return found.version


with open(198, encoding="utf-8", closefd=False) as file:
    wanted = json.load(file)
with open(199, "w", encoding="utf-8", closefd=False) as file:
    json.dump({name: version(name) for name in wanted}, file)
