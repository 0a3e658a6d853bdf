"""Installs packages into /opt/husk/deps with pip: run by PID 1 in the container that prepares a set of dependencies.

fd 198 holds {"name": "version", …}. With --later it is run in a session, and installs into the user's own packages.
The output is pip's. installed.py then lists the installed versions. Packages
of the image count as installed: pip fetches only missing ones and other versions. HUSK_LOGIN_INDEXES has the indexes
that need a login: Husk adds it outside of the container.
"""

import json
import os
import subprocess
import sys

DEPS = "/opt/husk/deps"


def requirement(name, version):
    return name + (version if not version or version[0] in "=~!<>" else "==" + version)


def main():
    with open(198, encoding="utf-8", closefd=False) as file:
        wanted = json.load(file)
    env = dict(os.environ, PIP_NO_WARN_SCRIPT_LOCATION="1", PIP_ROOT_USER_ACTION="ignore")
    if "--later" not in sys.argv:
        env["PYTHONUSERBASE"] = DEPS
    # The operator has chosen these indexes, also those without TLS.
    open_hosts = [o.removeprefix("http://") for o in env.pop("HUSK_LOGIN_INDEXES", "").split() if o.startswith("http://")]
    if open_hosts:
        env["PIP_TRUSTED_HOST"] = " ".join([env.get("PIP_TRUSTED_HOST", ""), *open_hosts]).strip()
    command = [sys.executable, "-m", "pip", "install", "--user", "--", *(requirement(n, v) for n, v in wanted.items())]
    sys.exit(subprocess.run(command, env=env, stdin=subprocess.DEVNULL, check=False).returncode)


main()
