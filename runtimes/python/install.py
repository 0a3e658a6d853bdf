"""Installs packages into /opt/husk/deps with pip: run by PID 1 in the container that prepares a set of dependencies.

fd 198 holds {"name": "version", …}; what is installed goes to fd 199 as {"name": "version", …}. Its own words are pip's.
What the image has already counts as installed: pip fetches only what is missing or asked for in another version.
An index that needs a login is a local address here: PID 1 relays it, and the login never comes in.
"""

import json
import os
import subprocess
import sys
from importlib import metadata

DEPS = "/opt/husk/deps"


def requirement(name, version):
    return name + (version if not version or version[0] in "=~!<>" else "==" + version)


def installed(names, site):
    """The versions of the packages that were asked for, as a session will find them."""
    found = {}
    for name in names:
        plain = name.partition("[")[0]
        at = next(metadata.distributions(name=plain, path=[site, *sys.path]), None)
        if at is None:
            sys.exit(f"pip has installed no '{plain}'")
        found[name] = at.version
    return found


def main():
    with open(198, encoding="utf-8", closefd=False) as file:
        wanted = json.load(file)
    env = dict(os.environ, PYTHONUSERBASE=DEPS, PIP_NO_WARN_SCRIPT_LOCATION="1", PIP_ROOT_USER_ACTION="ignore")
    command = [sys.executable, "-m", "pip", "install", "--user", "--", *(requirement(n, v) for n, v in wanted.items())]
    status = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, check=False).returncode
    if status != 0:
        sys.exit(status)
    site = f"{DEPS}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    with open(199, "w", encoding="utf-8", closefd=False) as file:
        json.dump(installed(wanted, site), file)


main()
