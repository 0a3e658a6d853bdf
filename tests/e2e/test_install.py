"""The files of `make install`, and a husk that works from there."""

import os
import re
import subprocess

import pytest
from harness import PATIENCE, ROOT, build_dir, clean_env


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """An installed tree; the prefix is the build's."""
    folder = tmp_path_factory.mktemp("tree")
    subprocess.run(["meson", "install", "-C", build_dir(), "--no-rebuild", "--quiet", "--destdir", folder], check=True, capture_output=True)
    return folder / "usr" / "local"


def run(tree, tmp_path, *arguments, **settings):
    return subprocess.run([tree / "bin" / "husk", *arguments], capture_output=True, text=True, timeout=PATIENCE * 2, check=False,
                          stdin=subprocess.DEVNULL, env=clean_env(tmp_path, **settings), cwd=tmp_path)


def test_all_files_are_installed(tree):
    names = {str(path.relative_to(tree)) for path in tree.rglob("*")}
    for name in ("bin/husk", "include/husk.h", "share/husk/setup-docker.sh", "share/husk/images.json", "bin/husk-client",
                 "libexec/husk/husk-fence", "libexec/husk/husk-emulator", "share/husk/runtimes/python/Dockerfile", "share/man/man1/husk.1", "share/man/man3/libhusk.3",
                 "share/bash-completion/completions/husk", "share/zsh/site-functions/_husk", "share/fish/vendor_completions.d/husk.fish"):
        assert name in names
    assert not [name for name in names if "__pycache__" in name]


def test_setup_finds_its_recipes_and_the_images_are_those_of_the_program(tree, tmp_path):
    """The images exist already under the same names, so nothing is built."""
    done = run(tree, tmp_path, "setup")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": there") >= 3 and "answers" in done.stdout
    assert (tmp_path / "state" / "husk" / "setup").is_dir()
    done = run(tree, tmp_path, "setup", "--engine-only")
    assert done.returncode == 0 and "image" not in done.stdout
    done = run(tree, tmp_path, "setup", "--runtime", "cobol")
    assert done.returncode == 64 and "python, node, r" in done.stderr
    assert run(tree, tmp_path, "setup", DOCKER_HOST="unix:///nonexistent/docker.sock").returncode == 111


def test_a_program_runs(tree, tmp_path):
    (tmp_path / "p.py").write_text("print('installed')")
    done = run(tree, tmp_path, "run", "p.py")
    assert (done.returncode, done.stdout) == (0, "installed\n"), done.stderr


def test_missing_recipes_are_reported(tree, tmp_path):
    (tmp_path / "bin").mkdir()
    os.link(tree / "bin" / "husk", tmp_path / "bin" / "husk")
    done = subprocess.run([tmp_path / "bin" / "husk", "setup"], capture_output=True, text=True, env=clean_env(tmp_path), check=False)
    assert done.returncode == 111 and "make install" in done.stderr


def complete(line):
    """Completions that bash offers at the end of a line."""
    words = line.split(" ")
    script = f'source "$1"; COMP_WORDS=({" ".join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; _husk; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", ROOT / "tools" / "completions" / "husk.bash"], capture_output=True, text=True,
                          check=True, cwd="/")
    return done.stdout.split()


def test_completion_in_bash():
    assert complete("husk do") == ["doctor"]
    assert complete("husk doctor --p") == ["--probe"]
    assert complete("husk run --lang") == ["--language"]
    assert complete("husk run --language no") == ["node"]
    assert "/etc/" in complete("husk run /et") or "/etc" in complete("husk run /et")


def test_the_programs_are_built_without_the_tests():
    """make run, make install and make dist compile only the programs that are installed, not the tests and fuzzers."""
    for target in ("run", "install", "dist"):
        planned = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert set(re.findall(r"ninja -C \S+(.*)", planned)) == {" programs"}, target
    commands = subprocess.run(["ninja", "-C", build_dir(), "-t", "commands", "programs"], capture_output=True, text=True, check=True).stdout
    assert "husk-client" in commands and "libhusk.so" in commands
    assert not [line for line in commands.splitlines() if "../tests/" in line]


@pytest.mark.parametrize("name", ["husk.bash", "_husk", "husk.fish"])
def test_completions_know_every_verb_and_option(name):
    text = (ROOT / "tools" / "completions" / name).read_text()
    def print_help(*verb):
        return subprocess.run([build_dir() / "husk", *verb, "--help"], capture_output=True, text=True, check=True).stdout

    verbs = re.findall(r"^  ([a-z]+) ", print_help().split("\nOptions:\n")[0], re.M)
    assert len(verbs) >= 10
    options = {option for verb in verbs for option in re.findall(r"^  (?:-., )?(--[a-z-]+)", print_help(verb), re.M)}
    assert len(options) >= 30
    for word in verbs:
        assert re.search(rf"\b{word}\b", text), word
    for option in options:
        assert option in text or f"-l {option[2:]}" in text, option
