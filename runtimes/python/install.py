"""Installs packages into /opt/husk/deps with pip: run by PID 1 in the container that prepares a set of dependencies.

fd 198 holds {"name": "version", …}; what is installed goes to fd 199 as {"name": "version", …}. Its own words are pip's.
What the image has already counts as installed: pip fetches only what is missing or asked for in another version.
"""

import json
import os
import subprocess
import sys
import urllib.parse
from importlib import metadata

DEPS = "/opt/husk/deps"
NETRC = "/home/sandbox/.netrc"
URLS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")


def requirement(name, version):
    return name + (version if not version or version[0] in "=~!<>" else "==" + version)


def without_user(url, logins):
    """The URL as it may stand in an argument list: pip hands it to the processes that build packages."""
    parts = urllib.parse.urlsplit(url)
    if parts.username is None:
        return url
    login = (urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or ""))
    logins.setdefault(parts.hostname, login)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def hide_logins(env):
    """User and password go into a netrc file of this container, which is in memory and never kept."""
    logins = {}
    for name in URLS:
        if name in env:
            env[name] = " ".join(without_user(url, logins) for url in env[name].split())
    if logins:
        with open(os.open(NETRC, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            for host, (user, password) in logins.items():
                file.write(f"machine {host} login {quoted(user)} password {quoted(password)}\n")


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
    hide_logins(env)
    command = ["/usr/bin/python3", "-m", "pip", "install", "--user", "--", *(requirement(n, v) for n, v in wanted.items())]
    status = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, check=False).returncode
    if status != 0:
        sys.exit(status)
    site = f"{DEPS}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    with open(199, "w", encoding="utf-8", closefd=False) as file:
        json.dump(installed(wanted, site), file)


main()
