#!/usr/bin/env python3
"""Lists, for each promise of SECURITY.md, the tests that show it: `tools/evidence.py [--check] [FOLDER]
>docs/evidence.md`.

A promise is a list item of SECURITY.md that ends in `<!-- promise: ID -->`. A test shows it if the comment
`evidence: ID, …` is above or beside it. At the head of a file the comment applies to the whole file. `--check`
fails if the page is out of date, a promise has no test, or a mark names an unknown promise.
"""

import pathlib
import re
import sys
import textwrap

MARK = re.compile(r"^.*?(?:#|/\*) evidence: ([a-z0-9, -]+?)(?: \*/)?$")
PROMISE = re.compile(r"^- \*\*(.+?)\*\*.*?<!-- promise: ([a-z0-9-]+) -->$")
TEST = re.compile(r"^(?:async )?def (test_\w+)|^static void (\w+)\(void \*\*")
SOURCES = ("*.py", "*.c", "*.sh", "meson.build")
# The maximum distance in lines between a mark and its test, with decorators and a comment in between.
REACH = 40


def read_promises(root):
    """[(section, [(id, title)])] in the order of the page."""
    sections, item = [], ""
    for line in (root / "SECURITY.md").read_text().splitlines():
        if line.startswith("### "):
            sections.append((line[4:], []))
        item = line if line.startswith("- ") else f"{item} {line.strip()}"
        if found := PROMISE.match(item):
            title, name = found.groups()
            sections[-1][1].append((name, title.rstrip(".:,")))
            item = ""
    return [section for section in sections if section[1]]


def test_below(lines, at):
    """The name of the test below a mark; None for a whole file."""
    if not any(TEST.match(line) for line in lines[:at]) and not any(
            TEST.match(line) for line in lines[at:at + 3]) and head_ends(lines, at):
        return None
    for line in lines[at:at + REACH]:
        if found := TEST.match(line):
            return found[1] or found[2]
    return None


def head_ends(lines, at):
    """Whether a mark is in the head of a file: imports or includes follow it, or no test at all."""
    below = next((line for line in lines[at:] if line.strip() and not line.startswith(("#!", "# ", "/*", " *"))), "")
    return below.startswith(("import ", "from ", "#include", ".", "fuzzing", "set "))


def read_marks(root):
    """{id: [place]} and the problems found."""
    marks = {}
    for path in sorted(path for pattern in SOURCES for path in (root / "tests").rglob(pattern)):
        lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines):
            if found := MARK.match(line):
                beside = TEST.match(line)
                name = (beside[1] or beside[2]) if beside else test_below(lines, number + 1)
                place = str(path.relative_to(root)) + (f"::{name}" if name else "")
                for mark in re.split(r",\s*", found[1]):
                    marks.setdefault(mark, []).append(place)
    return marks


def write_page(sections, marks):
    lines = ["# Evidence", "",
             *textwrap.wrap("The tests that show each promise of [SECURITY.md](../SECURITY.md). `tools/evidence.py` writes this page from the marks "
                            "beside the tests, and a lint check compares them.", 100)]
    for title, promises in sections:
        lines += ["", f"## {title}", "", "| promise | tests |", "|---|---|"]
        for name, promise in promises:
            lines.append(f"| {promise} | {', '.join(f'`{place}`' for place in marks.get(name, []))} |")
    return "\n".join(lines) + "\n"


def check(root, sections, marks):
    names = [name for _, promises in sections for name, _ in promises]
    problems = [f"SECURITY.md: no test shows '{name}'" for name in names if name not in marks]
    problems += [f"SECURITY.md: '{name}' occurs twice" for name in sorted({n for n in names if names.count(n) > 1})]
    problems += [f"{places[0]}: evidence for '{name}', which SECURITY.md does not promise" for name, places in marks.items() if name not in names]
    page = root / "docs" / "evidence.md"
    if not page.exists() or page.read_text() != write_page(sections, marks):
        problems.append("docs/evidence.md: old; run tools/evidence.py >docs/evidence.md")
    return problems


def main():
    arguments = sys.argv[1:]
    checking = arguments[:1] == ["--check"]
    folders = arguments[1:] if checking else arguments
    root = pathlib.Path(folders[0] if folders else pathlib.Path(__file__).resolve().parent.parent)
    if not (root / "SECURITY.md").exists():
        return 0
    sections, marks = read_promises(root), read_marks(root)
    if not checking:
        print(write_page(sections, marks), end="")
        return 0
    problems = check(root, sections, marks)
    print("".join(f"{problem}\n" for problem in problems), end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
