#!/usr/bin/env python3
"""Checks the Markdown pages of a tree: tests/lint/pages.py [TREE]

Links lead to files and headings that exist, sources mention only pages that exist, text is wrapped at 100 columns, paragraphs have at most
five lines, every code block says what it is, and the pages that people read first stay short."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import prose  # noqa: E402

COLUMNS_MAX = 100
PARAGRAPH_MAX = 5
WORDS_MAX = {"README.md": 900, "ARCHITECTURE.md": 1800}
FENCE = re.compile(r"^\s*(```+)(.*)$")
LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|<img[^>]*\ssrc=\"([^\"]+)\"|^\[[^\]]+\]:\s+(\S+)", re.M)
# A page that a source, a message or another page mentions by its path from the top.
MENTION = re.compile(r"(?<![\w./-])docs/[\w./-]*\w\.(?:md|svg|png|json)\b")
# Languages of code blocks; tests/scripts/pages.py runs some of them.
LANGUAGES = {"c", "dockerfile", "ini", "json", "output", "python", "sh", "text", "yaml"}


def without_code(text):
    """The page with its code blocks and code spans blanked. Line numbers stay the same."""
    lines, fence = [], None
    for line in text.splitlines():
        found = FENCE.match(line)
        if fence or found:
            if fence:
                fence = None if found and found[1] == fence and not found[2].strip() else fence
            else:
                fence = found[1]
            line = ""
        lines.append(line)
    return re.sub(r"`[^`\n]*`", lambda span: "X" * len(span[0]), "\n".join(lines))


def anchors(text):
    """The names that GitHub gives to headings."""
    seen, names = {}, set()
    for title in re.findall(r"^#+ (.*)$", re.sub(r"(?ms)^\s*```.*?^\s*```\s*$", "", text), re.M):
        plain = re.sub(r"\]\([^)]*\)", "]", title).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        names.add(f"{slug}-{count}" if count else slug)
    return names | set(re.findall(r"<a (?:name|id)=\"([^\"]+)\"", text))


def link_problems(page, text):
    blank = without_code(text)
    for found in LINK.finditer(blank):
        target = found[1] or found[2] or found[3]
        line = blank.count("\n", 0, found.start()) + 1
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        path = pathlib.Path(os.path.normpath(page.parent / name)) if name else page
        if not path.exists() or str(path).startswith(".."):
            yield line, f"the link '{target}' leads nowhere"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
            yield line, f"{path} has no heading '#{anchor}'"


def wrap_problems(text):
    number = 0
    for line in without_code(text).splitlines():
        number += 1
        if len(line) > COLUMNS_MAX and not line.lstrip().startswith("|") and not re.fullmatch(r"\s*\S+", line):
            yield number, f"{len(line)} columns, at most {COLUMNS_MAX}"
    for number, paragraph in prose.markdown(text):
        lines = paragraph.count("\n") + 1
        if lines > PARAGRAPH_MAX:
            yield number, f"a paragraph of {lines} lines, at most {PARAGRAPH_MAX}"


def fence_problems(text):
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if not found:
            continue
        if fence:
            fence = None if found[1] == fence and not found[2].strip() else fence
            continue
        fence = found[1]
        language, _, rest = found[2].strip().partition(" ")
        if language not in LANGUAGES:
            yield number, f"a code block in '{language}', which is not one of {', '.join(sorted(LANGUAGES))}"
        if rest.startswith("not run") and not re.match(r"not run: \S+ \S+", rest):
            yield number, "a code block that is not run, without a reason"


def word_problems(page, text):
    words = len(re.findall(r"\S*\w\S*", text))
    if words > WORDS_MAX.get(str(page), words):
        yield 1, f"{words} words, at most {WORDS_MAX[str(page)]}"


def mention_problems(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    for found in MENTION.finditer(text):
        if not pathlib.Path(found[0]).exists():
            yield text.count("\n", 0, found.start()) + 1, f"there is no {found[0]}"


def check():
    found = []
    for path in prose.files():
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            problems = [*link_problems(path, text), *word_problems(path, text), *wrap_problems(text), *fence_problems(text)]
        else:
            problems = []
        # The self-test names missing pages on purpose.
        if (path.suffix in (".md", ".1", ".3") or prose.reader_of(path)) and not str(path).startswith("tests/lint/"):
            problems += mention_problems(path)
        found += [f"{path}:{line}: {problem}" for line, problem in problems]
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    os.chdir(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).resolve().parents[2])
    sys.exit(check())
