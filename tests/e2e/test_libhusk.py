"""The installed libhusk: the symbols that it exports, and its examples, compiled and run as a user would."""

import os
import re
import subprocess

import pytest
from harness import PATIENCE, ROOT, build_dir, clean_env, docker, store_label, wait_until

EXAMPLES = ROOT / "libhusk" / "examples"


def run(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=PATIENCE * 3, stdin=subprocess.DEVNULL,
                          check=False, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The compiler's flags for a library that is installed in its own prefix."""
    folder = tmp_path_factory.mktemp("prefix")
    run(["meson", "install", "-C", build_dir(), "--no-rebuild", "--quiet", "--destdir", folder])
    pc = next(folder.rglob("libhusk.pc"))
    env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(folder)}
    return pc.parents[1], env


def flags(installed, *options):
    return run(["pkg-config", *options, "libhusk"], env=installed[1]).split()


def header_functions():
    text = (ROOT / "libhusk" / "husk.h").read_text()
    return set(re.findall(r"^[a-z].*?\b(husk_[a-z_]+)\(", text, re.M))


def test_only_the_functions_of_the_header_are_exported(installed):
    listed = run(["nm", "-D", "--defined-only", "--with-symbol-versions", installed[0] / "libhusk.so.0"]).split("\n")
    symbols = {line.split()[2] for line in listed if len(line.split()) == 3 and line.split()[1] != "A"}
    assert {symbol.split("@@")[0] for symbol in symbols} == header_functions()
    later = {"husk_branch", "husk_checkpoint", "husk_checkpoint_drop", "husk_checkpoints_free", "husk_keep", "husk_list_all", "husk_status",
             "husk_status_free", "husk_undo"}
    assert {symbol for symbol in symbols if not symbol.endswith("@@HUSK_0.1")} == {f"{name}@@HUSK_0.2" for name in later}
    static = run(["nm", "-g", "--defined-only", installed[0] / "libhusk.a"])
    assert set(re.findall(r" [A-Z] (\S+)", static)) == header_functions()


def test_the_header_compiles_alone(installed, tmp_path):
    """The header compiles in C and in C++, with every warning on, and without the headers of any other library."""
    for name, compiler, standard in (("a.c", "cc", "-std=c99"), ("a.cc", "c++", "-std=c++11")):
        (tmp_path / name).write_text("#include <husk.h>\nint main(void) { return husk_version()[0] == 0; }\n")
        cflags = flags(installed, "--cflags")
        run([compiler, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", *cflags, "-fsyntax-only", tmp_path / name])
    assert set(re.findall(r"^#include (.*)", (ROOT / "libhusk" / "husk.h").read_text(), re.M)) == {"<stddef.h>", "<stdint.h>"}


@pytest.fixture
def compiled(installed, tmp_path):
    def compile_one(name, static=False):
        program = tmp_path / name
        link = flags(installed, "--libs", "--static") if static else flags(installed, "--libs")
        link = ["-l:libhusk.a" if static and flag == "-lhusk" else flag for flag in link]
        run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", EXAMPLES / f"{name}.c", *flags(installed, "--cflags"), *link, "-pthread",
             "-o", program])
        env = clean_env(tmp_path / "home", LD_LIBRARY_PATH=installed[0])
        out = run([program], env=env)
        wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", store_label(env)), what="the end of its containers")
        return out

    return compile_one


@pytest.mark.parametrize("static", [False, True])
def test_hello(compiled, static):
    assert compiled("hello", static) == "42\n"


def test_stream(compiled):
    assert compiled("stream").splitlines() == ["a second", "ended: timeout", "for ever", "cancelled", "x is still 1"]


def test_files(compiled):
    assert compiled("files").splitlines() == [
        "imported: /workspace/table.csv, 19 bytes", "exported: /workspace/sorted.csv; missing: invalid", "node reads: 'b,2'"]


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.c")} == {"hello", "stream", "files"}


def test_a_missing_engine_is_reported(compiled, installed, tmp_path):
    compiled("hello")
    env = clean_env(tmp_path / "home", LD_LIBRARY_PATH=installed[0], DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    done = subprocess.run([tmp_path / "hello"], env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("no_engine: ")
    assert "husk setup" in done.stderr
