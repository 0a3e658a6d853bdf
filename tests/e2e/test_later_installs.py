"""Installs in a running session, in its terminal or by POST …/packages: pip, npm and R, into the session's own folders."""

import os

import attach_client
import package_index
from dependencies import create, session_of


def install(server, session, packages):
    """Returns the run of the installer."""
    with attach_client.Attached(attach_client.sockets(server.home)[0]) as attached:
        return attached.call("POST", f"/v1/sessions/{session.id}/packages", {"packages": packages}, Prefer="wait=200")


def test_later_installs_in_the_terminal(begin, index):
    server = begin(**index.pip())
    session = session_of(server, create(server, dependencies={"husk-demo": "1.0"}))
    done = session.shell("pip install husk-other husk-demo==1.5", 120)
    assert done.exit_code == 0, done.text
    assert session.shell("python3 -c 'import husk_other, husk_demo; print(husk_demo.version)'").stdout == "1.5\n"
    assert session.code("import husk_other; husk_other.version").ok().value == "'3.1'"
    run = install(server, session, {"husk-demo": ">=1,<1.5"})
    assert run["ending"] == "ok" and "Successfully installed husk-demo-1." in run["stdout"], run
    missing = install(server, session, {"husk-absent": ""})
    assert missing["exit_code"] == 1 and "husk-absent" in missing["stderr"], missing


def test_native_modules_load_from_the_home_directory(begin):
    session = begin().session(network=True)
    done = session.shell("pip install 'markupsafe==3.0.2'", 200)
    assert done.exit_code == 0, done.text
    assert session.code("import markupsafe._speedups as s; s.__file__").ok().value.endswith(".so'")


def test_later_installs_of_npm_packages(begin):
    """One package has a native module, which is loaded from the workspace."""
    server = begin()
    session = server.session(language="node", network=True)
    done = session.shell("npm install @node-rs/crc32@1.10.6", 200)
    assert done.exit_code == 0, done.text
    run = install(server, session, {"is-number": "7.0.0"})
    assert run["ending"] == "ok", run
    assert session.code("require('is-number')(5)").ok().value == "true"
    assert session.code("require('@node-rs/crc32').crc32('hello')").ok().value == "907060870"


def test_later_installs_of_r_packages(begin, make_index):
    index = make_index()
    package_index.add_r_package(index.folder, "husklater", "1.0", {"NAMESPACE": "export(answer)\n", "R/a.R": "answer <- function() 42L\n"})
    server = begin(R_REPOS=index.url())
    session = server.session(language="r", network=True)
    done = session.shell("Rscript -e 'install.packages(\"husklater\")'", 200)
    assert done.exit_code == 0, done.text
    assert session.code("husklater::answer()").ok().value == "[1] 42"
    package_index.add_r_package(index.folder, "huskpinned", "2.0", {"NAMESPACE": "export(answer)\n", "R/a.R": "answer <- function() 43L\n"})
    run = install(server, session, {"huskpinned": "2.0"})
    assert run["ending"] == "ok", run
    assert session.code("huskpinned::answer()").ok().value == "[1] 43"


def test_a_wheel_may_exceed_tmp_but_not_the_home_directory(begin, index):
    package_index.add_wheel(index.folder, "husk-large", "1.0", {"husk_large.bin": os.urandom(30 << 20)})
    server = begin(CONTAINER_TMPFS_SIZE="16m", CONTAINER_HOME_SIZE="128m", **index.pip())
    session = server.session(network=True)
    done = session.shell("pip install husk-large && stat -c %s ~/.local/lib/python*/site-packages/husk_large.bin", 120)
    assert done.exit_code == 0 and done.stdout.split()[-1] == str(30 << 20), done.text
    done = session.shell("head -c 150000000 /dev/zero >~/x; sleep 100", 120)
    assert done.ending == "error" and "full" in done.text
    assert "CONTAINER_HOME_SIZE" in done.fields["hint"] and "dependencies" in done.fields["hint"]
    assert session.shell("rm ~/x; echo room").stdout == "room\n"
    cell = session.code("import time\nwith open('/home/sandbox/y', 'wb') as f:\n    while True: f.write(bytes(1 << 20)); f.flush(); time.sleep(0.01)", timeout=60)
    assert "CONTAINER_HOME_SIZE" in cell.fields["hint"], cell.text
    assert session.shell("rm ~/y; echo room").stdout == "room\n"


def test_a_full_tmpfs_is_reported(begin):
    session = begin(CONTAINER_TMPFS_SIZE="16m").session()
    cell = session.code("open('/workspace/x', 'wb').write(bytes(20 << 20))")
    assert cell.ending == "error" and "/workspace and /tmp are in memory" in cell.fields["hint"]
