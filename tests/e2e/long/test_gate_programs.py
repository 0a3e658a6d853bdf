"""Programs and libraries that people use, unchanged and without proxy variables: each reaches the host of the list, and for
another host it fails and the answer has the note of the gate.
"""

import hashlib
import shutil
import subprocess
import sys

import gate_upstreams
import npm_packages
import pytest
import python_packages
from harness import ROOT, build_dir
from test_gate import start_server

FOLDER = ROOT / "tests" / "e2e" / "gate_programs"
SSH = "GIT_SSH_COMMAND='ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null' git clone -q ssh://git@api.test/repo.git"
AIOHTTP = """import aiohttp
async def get():
    async with aiohttp.ClientSession() as s, s.get("https://api.test/x.txt") as r:
        return await r.text()
await get()"""
RAW_NODE = """await new Promise((done, fail) => require("net").connect(7001, "api.test", function () { this.end("from node"); })
  .on("data", (d) => done(String(d))).on("error", fail))"""
RAW_R = """s <- socketConnection("api.test", 7001, blocking = TRUE, open = "r+"); writeLines("from R", s); cat(readLines(s, 1)); close(s)"""
PROGRAMS = {
    "requests": ("python", "import requests\nrequests.get('https://api.test/x.txt').text"),
    "httpx": ("python", "import httpx\nhttpx.get('https://api.test/x.txt').text"),
    "aiohttp": ("python", AIOHTTP),
    "git over ssh": ("shell", f"{SSH} s && sed s/cloned/from/ s/README"),
    "apt's http": ("shell", "/usr/lib/apt/apt-helper download-file http://api.test/x.txt a1 >log && cat a1"),
    "apt's https": ("shell", "/usr/lib/apt/apt-helper -o Acquire::https::CAInfo=$SSL_CERT_FILE download-file https://api.test/x.txt a2 >log && cat a2"),
    "axios": ("node", "(await require('module').createRequire('/workspace/programs/')('axios').get('https://api.test/x.txt')).data"),
    "a socket of node": ("node", RAW_NODE),
    "R's curl": ("r", "rawToChar(curl::curl_fetch_memory('https://api.test/x.txt')$content)"),
    "httr2": ("r", "httr2::resp_body_string(httr2::req_perform(httr2::request('https://api.test/x.txt')))"),
    "install.packages": ("r", "dir.create('lib'); install.packages('gater', lib = 'lib', repos = 'https://api.test/cran', type = 'source', quiet = TRUE)\n"
                              "library(gater, lib.loc = 'lib'); value()"),
    "a socket of R": ("r", RAW_R)}


def programs():
    """An archive of the libraries that the images lack, made once for each list."""
    lists = b"".join((FOLDER / name).read_bytes() for name in ("requirements.txt", "package-lock.json"))
    archive = build_dir() / f"gate-programs-{hashlib.sha256(lists).hexdigest()[:16]}.tar"
    if not archive.exists():
        folder = archive.with_suffix("")
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--python-version", "3.13",
                        "--only-binary=:all:", "--target", folder / "programs", "--requirement", FOLDER / "requirements.txt"], check=True)
        modules = npm_packages.installed(FOLDER, build_dir(), "gate-programs")
        shutil.copytree(modules, folder / "programs" / "node_modules")
        shutil.make_archive(str(archive.with_suffix("")), "tar", folder)
    return archive


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("programs")
    host = python_packages.installed(FOLDER / "host-requirements.txt", build_dir(), "gate-host")
    with start_server(home, GATE_SSH=str(host)) as server:
        shutil.copy(programs(), home / "upstreams" / "site" / "programs.tar")
        gate_upstreams.add_r_package(home / "upstreams" / "site")
        yield server


@pytest.fixture(scope="module")
def sessions(server):
    made = {language: server.session(language=language, network=["api.test", "api.test:22", "api.test:7001"]) for language in ("python", "node", "r")}
    for language in ("python", "node"):
        made[language].shell("curl -sS https://api.test/programs.tar | tar -x").ok()
    made["python"].code("import sys; sys.path.insert(0, '/workspace/programs')").ok()
    return made


# evidence: gate-list
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_reaches_the_list_and_nothing_else(sessions, program):
    kind, text = PROGRAMS[program]

    def run(text):
        return sessions["python"].shell(text) if kind == "shell" else sessions[kind].code(text)
    assert "from" in run(text).ok().text
    refused = run(text.replace("api.test", "other.test").replace(" s ", " t ").replace("dir.create('lib')", "remove.packages('gater', 'lib')"))
    assert refused.fields["ending"] != "ok" or "from" not in refused.stdout, refused.text
    assert "to other.test w" in refused.text and "CONTAINER_NETWORK_ALLOW" in refused.text, refused.text
