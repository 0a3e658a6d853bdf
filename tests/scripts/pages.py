"""Runs the code blocks of a Markdown page as a reader would, from top to bottom, in one folder.

The first word after the fence says what a block is:
- `sh` and `python` are run. `sh not run: REASON` is for people: it needs a desktop, another machine or a person.
- `output` is the output of the block before it, both streams together. `…` within a line matches any text, and a line with only `…`
  matches any lines.
- A language with a file name, such as `json runtime.json`, is written to that file.
- All others, `text` for instance, are only shown."""

import os
import re
import subprocess
import sys

from conftest import ROOT
from harness import clean_env

BLOCK = re.compile(r"^```(\w+)(?: +(\S[^\n]*))?\n(.*?)^```$", re.M | re.S)
SECONDS = 600


def blocks(text):
    """(line, language, the rest of the fence, content) of each block."""
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1], found[2] or "", found[3]


def environment(home, **more):
    """An environment like on a machine with Husk installed: `husk`, its library and its module are found, and nothing
    of the tester's own.
    """
    installed = {"PYTHONPATH": ROOT / "clients" / "python", "PYTHONDONTWRITEBYTECODE": 1, "HUSK_LIBRARY": os.environ["HUSK_LIBRARY"]}
    return clean_env(home, **{**installed, **more})


def execute(language, code, folder, env):
    command = ["bash", "-euo", "pipefail", "-c", code] if language == "sh" else [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=SECONDS, check=False)


def pattern(said):
    """A regular expression for the text of an `output` block."""
    lines = [r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r"[ \t]*\n" for line in said.splitlines()]
    return "".join(lines)


def run_page(text, folder, env):
    """Runs the page and returns the number of blocks that were run. Fails with the line of the block whose output
    differs.
    """
    ran, last = 0, None
    for line, language, rest, content in blocks(text):
        if language in ("sh", "python") and not rest:
            done = execute(language, content, folder, env)
            assert done.returncode == 0, f"line {line}: exit code {done.returncode}\n{content}\n{done.stdout}"
            ran, last = ran + 1, done.stdout
        elif language == "output":
            assert last is not None, f"line {line}: the output of nothing"
            assert re.fullmatch(pattern(content), last), f"line {line}: the page says\n{content}\nand this came:\n{last}"
        elif rest and not rest.startswith("not run"):
            (folder / rest).parent.mkdir(parents=True, exist_ok=True)
            (folder / rest).write_text(content)
    return ran
