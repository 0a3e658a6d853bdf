"""Runs the commands of every page, from top to bottom, beside an agent with a session called `sales`. Part of `make
test-long`.
"""

import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT
from harness import Server, build_dir, docker, husk_binary, store_label, wait_until
from pages import blocks, environment, run_page

pytestmark = pytest.mark.timeout(1800)
# Pages whose commands are run by other tests, since they need images or a separate tree.
ELSEWHERE = {"README.md": "tests/scripts/test_readme.py", "docs/images.md": "tests/e2e/test_own_images.py",
             "docs/runtimes.md": "tests/e2e/test_new_runtime.py"}


def listed():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in sorted(names.stdout.split()) if name not in ELSEWHERE and any(
        language in ("sh", "python") and not rest for _, language, rest, _ in blocks((ROOT / name).read_text(encoding="utf-8")))]


@pytest.fixture
def agent(tmp_path):
    """The home of a person whose client has a session."""
    # The default places of these folders, where the pages expect them.
    folders = {"XDG_CONFIG_HOME": tmp_path / ".config", "XDG_STATE_HOME": tmp_path / ".local/state", "XDG_DATA_HOME": tmp_path / ".local/share"}
    env = environment(tmp_path, **folders)
    with Server(tmp_path, **folders) as server:
        server.session(name="sales", network=False)
        label = store_label(env)
        yield env
        subprocess.run([husk_binary(), "stop", "--all"], env=env, check=True, capture_output=True)
    wait_until(lambda: not docker("ps", "--all", "--quiet", "--filter", label), what="the end of the page's sessions")


@pytest.mark.parametrize("name", listed())
def test_commands_of_the_page_run(name, agent, tmp_path):
    work = tmp_path / "work"
    if name == "CONTRIBUTING.md":
        subprocess.run(["git", "clone", "--quiet", ROOT, work], check=True)
    else:
        work.mkdir()
    text = (ROOT / name).read_text(encoding="utf-8")
    env = {**agent, "PATH": f"{build_dir() / 'venv' / 'bin'}:{agent['PATH']}"}
    assert run_page(text, work, env) > 0
    shutil.rmtree(work)


def test_pages_tested_elsewhere_are_listed():
    for page, test in ELSEWHERE.items():
        assert (ROOT / page).is_file() and pathlib.PurePath(page).name in (ROOT / test).read_text(encoding="utf-8")
