#!/usr/bin/env python3
"""Refuses wording that readers stumble over: tests/lint/prose.py [TREE]

Checks Markdown, man pages, comments, messages, the names of files and tests, and the subjects of commits.
`--self-test` shows that each pattern refuses its example and accepts its near miss. `--count` prints how often the
patterns match in each page and in the sources of each folder."""

import ast
import collections
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tokenize

# The last commit whose subject is not judged.
LAST_UNCHECKED = "b1b8f13"
SUBJECT_MAX = 72

# (reason, pattern, an example, a near miss). A space in a pattern is any white space.
PATTERNS = [
    ("begin with the subject, not with What, Who or Of",
     r"(?:^|(?<=[.!?] ))(?:What|Who|Whose|Of) (?![^.!?]*\?)[A-Za-z]",
     "What an engine refuses is started again.", "What does a session cost?"),
    ("name who it is", r"\b[Ww]hoever\b", "whoever uses cells alone", "the client that uses cells"),
    ("name who it is", r"\b(?:only|of|by|for|from|to|with|behind) who\b", "only who has taken the second", "only those who have"),
    ("name who it is", r"(?:\A|(?<=; ))who [a-z]+", "who breaks the protocol is dropped", "a client who reads; those who write"),
    ("name who it is", r"\bwho comes? late\b", "for a client who comes late", "a reply that comes late"),
    ("'go on' is unclear: continue, stay, keep running", r"\b(?:[Gg]o|[Gg]oes|went|gone) on(?! (?:to|the|a|an|port|fd)\b)\b", "and the cell goes on",
     "the address goes on the network"),
    ("'stands' is unclear: say what it does or where it is", r"\b(?:stands|stood)\b(?! out)", "How a run stands", "it understands frames"),
    ("'comes to' is unclear", r"\bcomes to\b", "a call that comes to nothing", "what comes today"),
    ("say who reports what to whom", r"\b(?:is|are|was|were|be|been) told\b", "Ends are told once", "it told the client"),
    ("say what is reported", r"\b(?:tells?|told|says? nothing) of\b", "an answer has told of it", "it told the client"),
    ("say what owns it", r"\bnobody's\b", "a member that is nobody's", "nobody owns it"),
    ("use a plain verb", r"\b(?:has|have) a say\b", "PID 1 has a say", "they have a saying"),
    ("use 'down', 'disconnected' or 'missing'", r"\b(?:is|are|was|were) away\b", "A store that is away", "it is always there"),
    ("negate the verb: 'is not a'", r"(?<!here )\b(?:is|are|was|were) no\b(?! (?:longer|more|less|fewer|later|different|better|worse)\b)",
     "is no number", "there is no session"),
    ("negate the verb", r"(?<!here )\b(?:is|are|was|were) none\b", "standard input is none", "there are none"),
    ("negate the verb: 'does not run'", r"\b(?!is |was |does |has )[a-z]+s not (?:at all|yet)\b", "runs not at all", "does not run at all"),
    ("put 'more' first: 'one more line'",
     r"\b(?:[Aa]n?|[Oo]ne) (?!bit|lot|little|few|third|quarter|half|fifth|tenth|hundred|thousand|great|no|any|or|and|is|more)[a-z]+ more\b(?! than)",
     "A language more", "one more language"),
    ("say 'limit reached'", r"\bas there may be\b", "as many terminals as there may be", "there may be more"),
    ("name the limit", r"\bthan (?:there )?may be\b", "more was typed than may be under way", "it may be more than that"),
    ("name the limit", r"\bgets? no further\b|\bby none of\b", "gets no further than its limit", "none of these tricks got past it"),
    ("say what is not started or given", r"\b(?:has|have|gets?) no more after\b", "has no more after the fourth", "there is no more after that line"),
    ("say 'vulnerability'", r"\ba hole in\b", "which takes a hole in the kernel", "a hole of a sparse file"),
    ("put the object first: 'check what it did with X'", r"\bSee with\b", "See with execute_terminal what it did", "See the page with it"),
    ("the word is 'client'", r"\bguests?\b", "a guest that says nothing", "they guessed it"),
    ("name the thing", r"\bpassengers?\b", "the passenger of an operation", "the pass of a parser"),
    ("the word is 'session'", r"\b(?:a|the|fresh|each|one) sandbox\b(?! user)", "runs in a fresh sandbox", "as the sandbox user"),
    ("a title names its topic", r"\A#+ (?:Who|Whoever|An? [\w ]+ is)\b", "# A warm container is a member", "# A warm container"),
]
COMPILED = [(reason, re.compile(pattern.replace(" ", r"\s")), bad, good) for reason, pattern, bad, good in PATTERNS]

SUBJECT = re.compile(r"[a-z0-9][A-Za-z0-9._/+-]*(?:, [a-z0-9][A-Za-z0-9._/+-]*)*: (\S+)(.*)")
# Beginnings of a subject that are not a verb in the imperative.
NOT_VERBS = set("what how who whose why when where the a an no one each every all some more less many its it this that of for in on with".split())
# Verbs that look like a participle, a gerund or a third person.
VERBS = set("""need feed embed speed shed seed exceed proceed succeed bleed breed heed weed bring ring string sing wing process pass address access
compress express guess miss press dismiss suppress discuss focus bypass cross toss stress bias canvas""".split())

# Names that do not say what is inside: words of a file's stem, and words of a test's name.
VAGUE_FILES = set("door peer wall letter passenger lift stir look everything guest".split())
VAGUE_TESTS = re.compile(r"(?:^|_)(?:who|whoever|guests?|nobodys?|passengers?)(?:_|$)|^(?:test_)?(?:what|of)_")
TEST = re.compile(r"^\s*(?:async )?def (test_\w+)|^static void (\w+)\(void \*\*", re.M)


def match(text):
    """(offset, reason, words) of each pattern in a paragraph."""
    for reason, pattern, _, _ in COMPILED:
        for found in pattern.finditer(text):
            yield found.start(), reason, " ".join(found.group().split())


def subject_problem(subject):
    if re.match(r'Merge |Revert "', subject):
        return None
    if len(subject) > SUBJECT_MAX:
        return f"{len(subject)} characters, at most {SUBJECT_MAX}"
    parsed = SUBJECT.fullmatch(subject)
    if not parsed:
        return "not of the form 'area: do this'"
    verb = parsed[1].strip(",;:").lower()
    if verb in NOT_VERBS or (verb not in VERBS and re.search(r"(?:[a-z]{2}ed|[a-z]{2}ing|[^su]s)$", verb)):
        return f"'{parsed[1]}' is not a verb in the imperative"
    return None


# --- text of files, as (line, paragraph)


def markdown(text):
    """Paragraphs, list items, headings and rows of tables, without code and targets of links."""
    lines, fence, block, began = text.splitlines(), None, [], 1
    for number, line in enumerate([*lines, ""], 1):
        if fence:
            fence = None if line.strip() == fence else fence
            line = ""
        elif opened := re.match(r"\s*(```+)", line):
            fence, line = opened[1], ""
        new = re.match(r"\s*(?:[-*] |\d+\. |#|\||>)", line)
        if block and (new or not line.strip()):
            yield began, "\n".join(block)
            block = []
        if line.strip():
            began = began if block else number
            block.append(re.sub(r"^\s*(?:[-*]|\d+\.|>)\s", "", line) if new else line.strip())


def plain(paragraph):
    """A paragraph of Markdown without code, link targets and markup; cells of a row become sentences. Line breaks
    stay.
    """
    text = re.sub(r"`[^`]*`", lambda code: "X" + "\n" * code[0].count("\n"), paragraph)
    text = re.sub(r"\]\([^)]*\)", "]", text).replace("**", "")
    if text.startswith("|"):
        text = re.sub(r"\s*\|\s*", ". ", text).strip(". ")
    return text


C_TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`|/\*.*?\*/|//[^\n]*', re.S)


def c_comments(text):
    def found(begin):
        for token in C_TOKENS.finditer(text):
            if token[0].startswith(begin):
                words = re.sub(r"(?m)^[ \t]*(?:/\*+|\*+/?|//+)[ \t]?|[ \t]*\*+/$", "", token[0])
                yield text.count("\n", 0, token.start()) + 1, words
    yield from found("/*")
    yield from join_lines(found("//"))


def c_messages(text):
    """String literals; adjacent ones are one message."""
    code = re.sub(C_TOKENS, lambda token: "\n" * token[0].count("\n") if token[0].startswith(("/*", "//")) else token[0], text)
    for literal in re.finditer(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*', code):
        words = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', literal[0])).replace("\\n", "\n")
        yield code.count("\n", 0, literal.start()) + 1, words


def join_lines(found):
    """Joins comments on consecutive lines."""
    began, block, last = 0, [], -1
    for number, words in found:
        if number != last + 1 and block:
            yield began, "\n".join(block)
            block = []
        began = began if block else number
        block.append(words)
        last = number
    if block:
        yield began, "\n".join(block)


def hash_comments(text):
    def lines():
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r"(?:[^'\"#]*\s)?#+(?!!)[ ']?(.*)", line)
            if found:
                yield number, found[1]
    return join_lines(lines())


def python_comments(text):
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        tree = ast.parse(text)
    except (SyntaxError, tokenize.TokenError):
        return
    yield from join_lines((token.start[0], token.string.lstrip("#! ")) for token in tokens if token.type == tokenize.COMMENT)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node, clean=False):
            yield node.body[0].lineno, ast.get_docstring(node, clean=False)


def python_messages(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def man(text):
    """Lines of a man page that are not macros."""
    return join_lines((number, line) for number, line in enumerate(text.splitlines(), 1) if line and not line.startswith("."))


def is_sentence(words):
    """True for a text of some words, which is not code or a name."""
    return len(re.findall(r"(?<![\w/.-])[a-z][a-z']+(?![\w/(=-])", words)) >= 4


MESSAGES = {".c": c_messages, ".h": c_messages, ".mjs": c_messages, ".cjs": c_messages, ".py": python_messages}
READERS = {".c": c_comments, ".h": c_comments, ".mjs": c_comments, ".cjs": c_comments, ".js": c_comments, ".py": python_comments,
           ".sh": hash_comments, ".R": hash_comments, ".build": hash_comments, ".toml": hash_comments, ".yml": hash_comments, ".yaml": hash_comments}
# Readers for scripts without a suffix, by a word of their first line.
INTERPRETERS = {b"python": python_comments, b"bash": hash_comments, b"/sh": hash_comments}
MAN = (".1", ".3")


def files():
    if pathlib.Path(".git").exists():
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
        return [pathlib.Path(name) for name in sorted(listed.splitlines()) if pathlib.Path(name).is_file()]
    return sorted(path for path in pathlib.Path(".").rglob("*") if path.is_file())


def reader_of(path):
    if path.suffix in READERS:
        return READERS[path.suffix]
    if path.name == "Makefile" or path.name.startswith("Dockerfile"):
        return hash_comments
    if not path.suffix:
        with path.open("rb") as opened:
            first = opened.readline(100)
        return next((reader for word, reader in INTERPRETERS.items() if first.startswith(b"#!") and word in first), None)
    return None


def problems_of(path):
    """(line, reason, words) for a page, or for the comments, messages and names of a source."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        paragraphs = [(line, plain(words)) for line, words in markdown(text)]
    elif path.suffix in MAN:
        paragraphs = list(man(text))
    else:
        paragraphs = list(reader_of(path)(text))
    if path.parts[0] not in ("tests", "bench") and path.suffix in MESSAGES:
        paragraphs += [(line, words) for line, words in MESSAGES[path.suffix](text) if is_sentence(words)]
    for line, words in paragraphs:
        for offset, reason, found in match(words):
            yield line + words.count("\n", 0, offset), reason, found
    yield from name_problems(path, text)


def name_problems(path, text):
    if VAGUE_FILES & set(re.split(r"[-_]", path.stem)):
        yield 1, "a file name that does not say what is inside", path.name
    if path.parts[0] == "tests" and path.suffix in (".c", ".py"):
        for found in TEST.finditer(text):
            name = found[1] or found[2]
            if VAGUE_TESTS.search(name):
                yield text.count("\n", 0, found.start()) + 1, "a test's name states a fact", name


def is_checked(path):
    return path.suffix == ".md" or path.suffix in MAN or (bool(reader_of(path)) and path.name != "prose.py")


def commit_problems():
    log = subprocess.run(["git", "log", "--format=%h %s", f"{LAST_UNCHECKED}..HEAD"], capture_output=True, text=True, check=False)
    if log.returncode != 0:  # not a repository, or a shallow clone without that commit
        return
    for line in log.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        problem = subject_problem(subject)
        if problem:
            yield f"commit {commit}: {problem}: {subject}"


def check():
    found = [f"{path}:{line}: {reason}: {words}" for path in files() if is_checked(path) for line, reason, words in problems_of(path)]
    found += commit_problems() if pathlib.Path(".git").exists() else []
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


def count():
    hits = collections.Counter()
    for path in files():
        if is_checked(path):
            folder = "/".join(path.parts[:2]) if path.parts[0] in ("tests", "manager", "runtimes") and len(path.parts) > 2 else path.parts[0]
            hits[str(path) if path.suffix == ".md" else folder] += sum(1 for _ in problems_of(path))
    for name, hit in sorted(hits.items(), key=lambda item: (-item[1], item[0])):
        print(f"{hit:5} {name}")
    return 0


SUBJECTS_REFUSED = ["docs: what large files take now", "tests: a heart may take 100 ms to beat", "registry: how a create starts, in one branch each",
                    "line: retried a broken stream", "line: retrying a broken stream", "line: retries a broken stream", "Retry a broken stream",
                    f"line: retry {'x' * 72}"]
SUBJECTS_ACCEPTED = ["line: retry a broken stream once", "docs, tests: update figures for large files", "kernels/init: process signals first",
                     "cli: embed the page", 'Revert "line: retry a broken stream"']


# File names and their content, with something to refuse and with nothing. Code is not prose, and a line break is white space.
FILES_REFUSED = {"docs/a.md": "a cell\ngoes\non here", "docs/a.3": ".Sh NAME\nthe cell\ngoes on\n", "base/a.c": "/* the cell goes\n * on */",
                 "base/b.c": 'f("it stops, and the cell goes "\n  "on");', "base/a.mjs": "// the cell goes\n// on", "base/a.py": "# the cell goes\n# on",
                 "base/b.py": 'x = f"the session {y} is away, so wait"', "base/a.sh": "# the cell goes\n# on", "base/the-door.c": "int x;",
                 "tests/test_a.py": "def test_who_says_nothing(box):\n    pass", "tests/test-a.c": "static void what_is_kept(void **state)"}
FILES_ACCEPTED = {"docs/a.md": "`it goes on` and\n\n```sh\nit goes on\n```\n", "docs/a.3": ".Fn it goes on\nThe cell continues.", "base/a.c": 'f("goes on", x);',
                  "base/a.py": 'x = "goes on"', "base/a.sh": "echo 'it goes on # '", "base/outlook.c": "int look;",
                  "tests/test_a.py": "def test_a_client_that_says_nothing(box):\n    y = 'it stops, and the cell goes on'", "tests/test-a.c": "static void keeps(void **state)"}


def file_problems(name, content):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.parent.mkdir()
        path.write_text(content, encoding="utf-8")
        before = os.getcwd()
        os.chdir(folder)
        try:
            return list(problems_of(pathlib.Path(name)))
        finally:
            os.chdir(before)


def self_test():
    wrong = [f"accepted: {bad}" for _, pattern, bad, _ in COMPILED if not pattern.search(bad)]
    wrong += [f"refused ({found}): {good}" for _, _, _, good in COMPILED for _, found, _ in match(good)]
    wrong += [f"accepted: {subject}" for subject in SUBJECTS_REFUSED if not subject_problem(subject)]
    wrong += [f"refused ({subject_problem(subject)}): {subject}" for subject in SUBJECTS_ACCEPTED if subject_problem(subject)]
    wrong += [f"accepted: {name}: {content!r}" for name, content in FILES_REFUSED.items() if not file_problems(name, content)]
    wrong += [f"refused: {name}: {found}" for name, content in FILES_ACCEPTED.items() for found in file_problems(name, content)]
    print("".join(f"not ok: prose.py {line}\n" for line in wrong) or f"ok: prose.py: {len(COMPILED)} patterns and the subjects of commits\n", end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:] == ["--count"]:
        sys.exit(count())
    os.chdir(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).resolve().parents[2])
    sys.exit(check())
