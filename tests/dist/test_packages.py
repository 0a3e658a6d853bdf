"""Installs each package of `make dist` in a place without any other part of Husk, and uses it. `tests/run --long
dist` also installs the Debian packages with their dependencies in a container, and checks the packages with the tools
of Debian and Python.
"""

import csv
import hashlib
import io
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import zipfile

import pytest
from harness import LONG, PATIENCE, ROOT, TEST_LABEL, build_dir, clean_env, docker

VERSION = re.search(r"^  version: '([^']+)'", (ROOT / "meson.build").read_text(), re.M).group(1)
TOOLS = ["create_session", "execute_code", "execute_terminal", "import_files", "export_files", "stop_session", "session_info", "checkpoint"]
COMPLETIONS = ("share/bash-completion/completions/husk", "share/zsh/site-functions/_husk", "share/fish/vendor_completions.d/husk.fish")
# Installing may wait for a disk that others use too.
pytestmark = pytest.mark.timeout(900 if LONG else 300, func_only=True)
LIST_TOOLS = ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
              '"clientInfo":{"name":"tests","version":"1"}}}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n')
BOLD = "printf '\\033[1mbold\\033[0m'"
# Libraries of the C library. All others come with the package.
GLIBC = re.compile(r"(linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv)\.so")


def run(*command, env=None, cwd=None, status=0, timeout=PATIENCE * 2):
    done = subprocess.run([str(word) for word in command], env=env, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def in_container(image, folder, script, network="none", timeout=PATIENCE * 2):
    """The output of a shell script in a new container that has the packages in /dist."""
    return run("docker", "run", "--rm", "--init", "--label", TEST_LABEL, "--network", network, "--volume", f"{folder}:/dist:ro", "--user", "0", "--env",
               f"LIST_TOOLS={LIST_TOOLS}", "--entrypoint", "bash", image, "-euc", script, timeout=timeout)


def image(key, runtime="python"):
    return next(one[key] for one in json.loads((build_dir() / "images.json").read_text()) if one["name"] == runtime)


def listed(text):
    """The tools in the second answer of a server."""
    answer = next(message for message in map(json.loads, filter(lambda line: line.startswith("{"), text.splitlines())) if message.get("id") == 2)
    return [tool["name"] for tool in answer["result"]["tools"]]


def check_session(server):
    """Uses the package as its users do."""
    assert [tool["name"] for tool in server.request("tools/list").result()["tools"]] == TOOLS
    session = server.session(network=False)
    assert session.code("1 + 1").ok().value == "2"
    assert session.shell(BOLD, interactive=True).ok().stdout == "bold\n", "by husk-emulator"
    assert not session.stop().is_error


def check_tree(tree):
    """Nothing but the C library of this machine is needed, bundled libraries are listed with their licences, and the
    recipes are complete.
    """
    objects = [path for folder in ("bin", "lib") for path in (tree / folder).iterdir() if path.is_file()]
    assert len(objects) > 10
    for line in run("ldd", *objects).splitlines():
        if "=>" in line and not GLIBC.match(line.strip()):
            assert os.path.realpath(line.split()[2]).startswith(f"{tree.resolve()}/lib/libhusk-"), line
    doc = tree / "share" / "doc" / "husk"
    told = (doc / "BUNDLED.txt").read_text()
    for path in (tree / "lib").glob("libhusk-*"):
        assert f"lib/{path.name}" in told
    for line in told.splitlines()[2:]:
        package, version = line.split(" ")[:2]
        assert version[0].isdigit() and (doc / "licences" / f"{package}.txt").stat().st_size > 200, line
    assert VERSION in told and "libjansson.a" in told and "MIT" in (doc / "LICENSE").read_text()
    recipes = tree / "share" / "husk"
    for one in json.loads((recipes / "images.json").read_text()):
        for name in (one["client"], *one["tools"], f"{one['folder']}/Dockerfile"):
            assert (recipes / name).is_file(), name


def check_setup(program, home):
    """The recipes make the images that the program needs. These exist already, since the build made the same ones."""
    said = run(*program, "setup", env=clean_env(home), cwd=home)
    names = [image("tag", runtime) for runtime in ("python", "node", "r")]
    assert [f"image {name}: there" in said for name in names] == [True] * 3, said


# --- the wheel


@pytest.fixture(scope="module")
def wheel(packages):
    return next(packages.glob("*.whl"))


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-index", "--quiet", "--disable-pip-version-check", wheel)
    return folder


def site(venv):
    return next(venv.glob("lib/python3*/site-packages"))


def test_wheel_is_a_server(venv, serve, tmp_path):
    assert run(venv / "bin" / "husk", "--version", env=clean_env(tmp_path)) == f"husk {VERSION}\n"
    check_session(serve([venv / "bin" / "husk", "mcp"]))
    check_setup([venv / "bin" / "husk"], tmp_path)
    assert run(venv / "bin" / "python", "-m", "husk", "--version", env=clean_env(tmp_path)) == f"husk {VERSION}\n"


def test_wheel_is_a_module(venv, tmp_path):
    """The module uses its own library, beside the OpenSSL and SQLite that Python has loaded."""
    program = ("import ssl, sqlite3, husk\n"
               "with husk.Session('python', network=False) as s:\n"
               "    print(s.run('6 * 7').value, husk.__version__)\n"
               f"    print(s.shell({BOLD!r}, interactive=True).stdout.strip())\n"
               "ssl.create_default_context(); sqlite3.connect(':memory:').execute('SELECT 1')\n"
               "print(*sorted({line.split()[-1] for line in open('/proc/self/maps') if 'libhusk' in line or 'libsqlite3' in line}), sep='\\n')\n")
    first, second, *loaded = run(venv / "bin" / "python", "-c", program, env=clean_env(tmp_path), cwd=tmp_path).splitlines()
    assert first == f"42 {VERSION}" and second == "bold", "by husk-emulator"
    assert str(site(venv) / "husk" / "_native" / "lib" / "libhusk.so.0") in loaded
    assert [path for path in loaded if "/libhusk" in path and not path.startswith(str(venv))] == []
    assert any("/libhusk-sqlite3" in path for path in loaded) and any("/libsqlite3" in path for path in loaded), "each its own"


def test_wheel_contains_all_files(venv, wheel):
    check_tree(site(venv) / "husk" / "_native")
    for name in (*COMPLETIONS, "share/man/man1/husk.1"):
        assert (venv / name).is_file(), name
    assert (site(venv) / "husk" / "py.typed").exists()
    assert (site(venv) / f"husk-{VERSION}.dist-info" / "licenses" / "LICENSE").exists()


def test_wheel_name_and_record_match_its_contents(wheel):
    """The version of the C library in the wheel's name is new enough for its parts, and its record lists each file."""
    assert wheel.name.startswith(f"husk-{VERSION}-py3-none-manylinux_2_")
    promised = int(wheel.name.split("_")[2])
    with zipfile.ZipFile(wheel) as archive:
        needed = [int(minor) for name in archive.namelist() if "/_native/" in name for minor in re.findall(rb"\0GLIBC_2\.(\d+)", archive.read(name))]
        assert max(needed) <= promised <= int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])
        record = archive.read(f"husk-{VERSION}.dist-info/RECORD").decode()
        assert {row[0] for row in csv.reader(io.StringIO(record))} == set(archive.namelist())


def test_wheel_on_another_distribution(packages, wheel):
    """The wheel works in an image without network and without our libraries."""
    said = in_container(image("packages_tag"), packages, f"""
        python3 -m venv --without-pip /tmp/venv
        python3 -m pip --python /tmp/venv/bin/python install --no-index --quiet /dist/{wheel.name}
        /tmp/venv/bin/python -c 'import husk; print(husk.version(), husk.languages())'
        /tmp/venv/bin/python -c 'import ctypes, glob
for path in glob.glob("/tmp/venv/lib/*/site-packages/husk/_native/lib/*"): ctypes.CDLL(path)'
        printf %s "$LIST_TOOLS" | /tmp/venv/bin/husk mcp""")
    assert said.startswith(f"{VERSION} ['python', 'node', 'r']\n") and listed(said) == TOOLS


# --- npm


@pytest.fixture(scope="module")
def prefix(packages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", folder, packages / f"husk-{VERSION}.tgz", env=clean_env(folder), cwd=folder)
    return folder


def test_npm_package_is_a_server(prefix, serve, tmp_path):
    npx = ["npx", "--no-install", "--prefix", prefix, "husk"]
    assert run(*npx, "--version", env=clean_env(tmp_path)) == f"husk {VERSION}\n"
    check_session(serve([*npx, "mcp"]))
    check_setup([prefix / "node_modules" / ".bin" / "husk"], tmp_path)


def test_npm_package_contains_all_files(prefix):
    folder = prefix / "node_modules" / "husk"
    check_tree(folder)
    manifest = json.loads((folder / "package.json").read_text())
    assert (manifest["version"], manifest["os"], manifest["libc"]) == (VERSION, ["linux"], ["glibc"])
    assert "scripts" not in manifest and "dependencies" not in manifest
    for name in (*COMPLETIONS, "LICENSE", "README.md", *manifest["man"]):
        assert (folder / name).is_file(), name


def test_npm_package_on_another_distribution(packages):
    said = in_container(image("packages_tag", "node"), packages, f"""
        mkdir /tmp/empty && cd /tmp/empty
        npm install --offline --no-audit --no-fund --silent /dist/husk-{VERSION}.tgz
        printf %s "$LIST_TOOLS" | npx --no-install husk mcp""")
    assert listed(said) == TOOLS


# --- the MCP bundle


@pytest.fixture(scope="module")
def bundle(packages, modules, tmp_path_factory):
    """The bundle, unpacked by the official tool."""
    folder = tmp_path_factory.mktemp("bundle") / "husk"
    run("node", modules / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js", "unpack", packages / f"husk-{VERSION}.mcpb", folder)
    return folder


def test_bundle_is_valid(bundle, modules):
    said = run("node", modules / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js", "validate", bundle / "manifest.json")
    assert "schema validation passes" in said and "Icon validation passed" in said, said
    check_tree(bundle / "server")
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert manifest["version"] == VERSION and [tool["name"] for tool in manifest["tools"]] == TOOLS
    assert (bundle / manifest["icon"]).read_bytes().startswith(b"\x89PNG") and (bundle / "LICENSE").exists()
    for name in COMPLETIONS:
        assert (bundle / "server" / name).is_file(), name


def test_bundle_manifest_starts_a_server(bundle, modules, serve, tmp_path):
    """The official library makes the command from manifest and settings."""
    program = ("import { getMcpConfigForManifest } from '@anthropic-ai/mcpb/node'; import fs from 'fs';"
               "const [folder, ...userConfig] = process.argv.slice(2); const manifest = JSON.parse(fs.readFileSync(`${folder}/manifest.json`));"
               "console.log(JSON.stringify(await getMcpConfigForManifest({ manifest, extensionPath: folder, systemDirs: {}, pathSeparator: '/',"
               " userConfig: JSON.parse(userConfig[0]) })));")
    (tmp_path / "config.mjs").write_text(program)
    (tmp_path / "node_modules").symlink_to(modules)

    def config(settings):
        return json.loads(run("node", tmp_path / "config.mjs", bundle, json.dumps(settings)))

    found = config({})
    check_session(serve([found["command"], *found["args"]], **found["env"]))
    found = config({"memory": "much"})
    refused = subprocess.run([found["command"], *found["args"]], env=clean_env(tmp_path, **found["env"]), stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert refused.returncode == 64 and "CONTAINER_MEMORY_LIMIT" in refused.stderr


# --- Debian


@pytest.fixture(scope="module")
def root(packages, tmp_path_factory):
    """All packages, unpacked into one tree."""
    folder = tmp_path_factory.mktemp("root")
    for path in packages.glob("*.deb"):
        run("dpkg-deb", "--extract", path, folder)
    return folder


def test_debian_packages_contain_all_files(packages, root):
    fields = {path.name.split("_")[0]: dict(re.findall(r"^([\w-]+): (.*)$", run("dpkg-deb", "--field", path), re.M)) for path in packages.glob("*.deb")}
    assert set(fields) == {"husk", "husk-jupyter", "libhusk0", "libhusk-dev", "python3-husk"}
    assert {its["Version"] for its in fields.values()} == {VERSION}
    for word in ("libuv1", "libpq5", "libarchive13", "libc6", "libcurl4", "python3"):
        assert word in fields["husk"]["Depends"]
    assert "libzmq5" in fields["husk-jupyter"]["Depends"] and "zmq" not in fields["husk"]["Depends"]
    assert "jansson" in fields["husk"]["Built-Using"] and f"libhusk0 (= {VERSION})" in fields["libhusk-dev"]["Depends"]
    for name in (*COMPLETIONS, "share/man/man1/husk.1.gz", "share/man/man3/libhusk.3.gz", "share/doc/husk/copyright", "share/husk/images.json",
                 "share/man/man1/husk-jupyter-face.1.gz", "bin/husk-client", "bin/husk-jupyter-face"):
        assert (root / "usr" / name.replace("site-functions", "vendor-completions")).is_file(), name
    assert (root / "usr" / "libexec" / "husk" / "husk-emulator").is_file() and list(root.glob("usr/lib/*/husk/husk-emulator"))
    assert "libvterm" in fields["libhusk0"]["Built-Using"] and "jansson" not in fields["libhusk0"]["Built-Using"]
    text = (root / "usr" / "share" / "doc" / "husk" / "copyright").read_text()
    assert "The Husk authors" in text and "parts of libjansson.a" in text and "GNU C Library" in text
    assert not [path for path in root.rglob("*") if path.stat().st_mode & stat.S_IWOTH and not path.is_symlink()]


def test_debian_package_runs_from_its_tree(root, tmp_path):
    husk = root / "usr" / "bin" / "husk"
    assert run(husk, "--version") == f"husk {VERSION}\n"
    check_setup([husk], tmp_path)


def test_images_can_be_built_from_the_debian_recipes(root, tmp_path):
    """The images get other names, as if there were none yet. husk-client is the one in bin/."""
    made = f"husk-disttest:{os.getpid()}"
    recipes = root / "usr" / "share" / "husk"
    one = next(one for one in json.loads((recipes / "images.json").read_text()) if one["name"] == "node")
    (recipes / "test.json").write_text(json.dumps([{**one, "name": "disttest", "tag": made}]))
    try:
        run(recipes / "setup-docker.sh", "--images", recipes / "test.json", "--logs", tmp_path)
        assert docker("run", "--rm", "--label", TEST_LABEL, "--network", "none", "--entrypoint", "sha256sum", made, "/opt/husk/husk-client").split()[0] \
            == hashlib.sha256((root / "usr" / "bin" / "husk-client").read_bytes()).hexdigest()
    finally:
        docker("rmi", made, check=False)
        (recipes / "test.json").unlink()


def test_debian_library_is_found_by_pkg_config(root, tmp_path):
    (tmp_path / "a.c").write_text('#include <husk.h>\n#include <stdio.h>\nint main(void)\n{\n\tputs(husk_version());\n}\n')
    folder = next(root.glob("usr/lib/*/pkgconfig"))
    env = clean_env(tmp_path, PKG_CONFIG_LIBDIR=folder, PKG_CONFIG_SYSROOT_DIR=root)
    words = run("pkg-config", "--cflags", "--libs", "libhusk", env=env).split()
    run("cc", tmp_path / "a.c", "-o", tmp_path / "a", *words)
    assert run(tmp_path / "a", env=clean_env(tmp_path, LD_LIBRARY_PATH=folder.parent)) == f"{VERSION}\n"


# --- tests that take minutes


if LONG:

    def test_debian_packages_on_a_clean_system(packages):
        """In Debian's next release, one line of apt installs the packages and their dependencies."""
        said = in_container(image("debian_tag"), packages, """
            export DEBIAN_FRONTEND=noninteractive
            apt-get update -qq >/dev/null
            apt-get install -qq -y --no-install-recommends /dist/*.deb gcc libc6-dev pkgconf >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
            husk --version
            python3 -c 'import husk; print("module", husk.version())'
            printf '#include <husk.h>\\n#include <stdio.h>\\nint main(void) { return puts(husk_version()) < 0; }\\n' >/tmp/a.c
            cc /tmp/a.c -o /tmp/a $(pkgconf --cflags --libs libhusk) && /tmp/a
            husk doctor || echo "doctor $?"
            husk run - </dev/null || echo "run $?"
            printf %s "$LIST_TOOLS" | husk mcp
            apt-get remove -qq -y 'husk' 'libhusk*' >/tmp/log 2>&1
            test ! -e /usr/share/husk -a ! -e /usr/bin/husk && echo removed""", network="host", timeout=600)
        for line in (f"husk {VERSION}", f"module {VERSION}", VERSION, "doctor 1", "run 111", "removed"):
            assert line in said.splitlines(), said
        assert listed(said) == TOOLS and "husk setup" in said

    def test_lintian_finds_nothing(packages):
        """Two complaints are expected: the maintainer has no mail address (DEBEMAIL sets it for a release), and these
        packages are not compressed.
        """
        said = in_container(image("debian_tag"), packages, """
            export DEBIAN_FRONTEND=noninteractive
            apt-get update -qq >/dev/null
            apt-get install -qq -y --no-install-recommends lintian >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
            lintian --allow-root --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \\
                --suppress-tags uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball /dist/*.deb 2>&1 || true""",
                            network="host", timeout=600)
        assert said.strip() == "", said

    def test_uvx(wheel, serve, tmp_path):
        run(sys.executable, "-m", "venv", tmp_path / "uv")
        run(tmp_path / "uv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "uv", timeout=300)
        check_session(serve([tmp_path / "uv" / "bin" / "uvx", "--offline", "--from", wheel, "husk", "mcp"]))

    def test_a_bundle_can_be_packed_again(bundle, modules, tmp_path):
        run("node", modules / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js", "pack", bundle, tmp_path / "again.mcpb", timeout=300)
        assert (tmp_path / "again.mcpb").stat().st_size > 5_000_000

    def test_make_install(tmp_path):
        """An install by hand, with DESTDIR and PREFIX. The images keep their names."""
        build = build_dir().relative_to(ROOT)
        run("make", "install", f"BUILD={build}", f"DESTDIR={tmp_path}", "PREFIX=/opt/husk", cwd=ROOT, timeout=600)
        tree = tmp_path / "opt" / "husk"
        assert (tree / "share" / "man" / "man1" / "husk.1").exists() and [path.name for path in tmp_path.iterdir()] == ["opt"]
        assert run(tree / "bin" / "husk", "--version") == f"husk {VERSION}\n"
        assert "prefix=/opt/husk\n" in next(tree.rglob("libhusk.pc")).read_text()
        check_setup([tree / "bin" / "husk"], tmp_path)

    def test_make_dist_makes_the_same_again(tmp_path):
        """The packages are compressed, like those of a release."""
        for name in ("one", "two"):
            run("make", "dist", f"BUILD={build_dir().relative_to(ROOT)}", cwd=ROOT, timeout=600, env={**os.environ, "SOURCE_DATE_EPOCH": "1800000000"})
            pathlib.Path(build_dir() / "dist").rename(tmp_path / name)
        files = sorted(path.name for path in (tmp_path / "one").iterdir())
        assert len(files) == 8
        for file in files:
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
