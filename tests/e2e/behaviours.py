"""The rows of the table of behaviours. Each function is one behaviour of a session. Its docstring is the sentence in
docs/behaviours.md. Its arguments after `session` are the fields of a language's cell (tests/e2e/languages).

The rows of a language run one after the other in one small container. `session` runs in it. It has a variable and a
file, so that a row can check whether they were kept or lost. Fields are code unless their name says otherwise.
"""

import inspect
import re

from behaviours_session import shown

ROWS = {}  # name -> function
TEXT_MAX = 20_000  # characters of an answer, whatever the code does


def row(function):
    ROWS[function.__name__] = function
    return function


def fields_of(function):
    return list(inspect.signature(function).parameters)[1:]


def sentence_of(function):
    return " ".join(inspect.getdoc(function).split())


def has_error(ended, kind):
    assert (ended.is_error, ended.success, ended.ending) == (False, False, "error"), ended.text
    assert ended.error["type"] == kind, ended.error
    assert "/opt/husk" not in ended.text and "\x1b" not in ended.text, ended.text


def says_what_is_left(ended):
    """A checkpoint, if there is one, takes the place of an interpreter that has died."""
    back = f"Variables are as they were after run {ended.fields['restored']['run']}" if "restored" in ended.fields else None
    assert (back or "variables are gone") in ended.text, ended.text


def died(ended, *words):
    assert (ended.is_error, ended.ending) == (False, "kernel_died"), ended.text
    for word in words:
        assert word in ended.text, ended.text
    says_what_is_left(ended)


# --- values and state


@row
def state(session, set, get, value):
    """Variables stay from cell to cell."""
    session.code(set).ok()
    assert shown(session.code(get).ok()) == value


@row
def last_value(session, code, value):
    """The value of the last expression is the result, as the language's own prompt shows it."""
    ended = session.code(code).ok()
    assert (ended.value, ended.stdout, ended.error) == (value, "", None), ended.text


@row
def no_value(session, code, comment):
    """If a cell has no value, its result says so, even if the cell is only a comment or white space."""
    for text in (code, comment, " \n  \n"):
        ended = session.code(text).ok()
        assert (ended.result, ended.text) == (None, "(no output)"), ended.text


@row
def definitions(session, first, second, use, values):
    """Functions and constants can be redefined with other values in later cells."""
    session.code(first).ok()
    assert shown(session.code(use).ok()) == values[0]
    session.code(second).ok()
    assert shown(session.code(use).ok()) == values[1]


@row
def unicode(session, code, value):
    """Text beyond ASCII is passed on unchanged: source, stdout, stderr and values."""
    ended = session.code(code).ok()
    assert ended.stdout == "größe → 日本 🎈\n" and ended.stderr == "größe → 日本 🎈\n" and ended.value == value, ended.text


@row
def line_ends(session, code, value):
    """Source may start with a byte order mark and have the line ends of other systems."""
    assert session.code(code).ok().value == value


@row
def long_source(session, first, line, get, value):
    """A cell of five thousand lines runs."""
    assert shown(session.code("\n".join([first, *[line] * 5000, get]), 60).ok()) == value


@row
def big_value(session, code):
    """A value of five million characters is cut, with a note."""
    ended = session.code(code).ok()
    assert 1000 < len(ended.text) < TEXT_MAX and "zzzz" in ended.text
    assert "characters cut …⟧" in ended.text or "more characters" in ended.text, ended.text[:300]


@row
def asynchronous(session, code, value):
    """Top-level await works, and a value that is a promise is awaited."""
    ended = session.code(code).ok()
    assert ended.value == value, ended.text


@row
def packages(session, code):
    """All packages that the tool's description promises are installed."""
    session.code(code, 120).ok()


@row
def queued(session, first, second, value):
    """Cells that are sent at the same time run one after the other, in order."""
    running = [session.start_code(first), *(session.start_code(second) for _ in range(5))]
    assert [shown(answer.tool().ok()) for answer in running][-1] == value


# --- errors


@row
def error(session, code, type, message, line):
    """An error is reported with its type, its message (once) and a traceback that has only the user's lines."""
    ended = session.code(code)
    has_error(ended, type)
    assert ended.error["message"] == message
    assert line in ended.error["traceback"], ended.error["traceback"]
    assert ended.text.startswith(f"⟦error⟧ {type}: {message}\n") and ended.text.count(f": {message}") == 1, ended.text


@row
def work_before_an_error(session, code, get, value):
    """Output and effects of a cell before its error are kept."""
    ended = session.code(code)
    assert ended.ending == "error" and session.own(ended.stdout) == "before\n", ended.text
    assert shown(session.code(get).ok()) == value


@row
def syntax_error(session, code, type, where, get):
    """If the source does not parse, the error says where, and none of it runs."""
    ended = session.code(code)
    has_error(ended, type)
    assert where in ended.text, ended.text
    assert session.code(get).ending == "error"


@row
def broken_value(session, code, words):
    """If a value's display code fails, the cell fails; the session continues."""
    ended = session.code(code)
    assert ended.ending == "error" and words in ended.text, ended.text
    session.kept()


@row
def warning(session, code, words):
    """A warning is shown once, on stderr, and the cell continues."""
    ended = session.code(code).ok()
    assert ended.stderr.count(words) == 1, ended.text


@row
def recursion(session, code, words):
    """Endless recursion fails with a short traceback, and variables are kept."""
    ended = session.code(code, 60)
    assert ended.ending == "error" and words in ended.text, ended.text
    assert len(ended.error["traceback"]) < 10_000
    session.kept()


@row
def huge_allocation(session, code, words):
    """A single allocation that is too large raises an error in the language; variables are kept."""
    ended = session.code(code)
    assert ended.ending == "error" and words in ended.text, ended.text
    session.kept()


@row
def keyboard(session, code, words):
    """Reading from the keyboard never waits: it ends at once with an empty text or an error that gives the reason."""
    ended = session.code(code)
    assert ended.ending in ("ok", "error") and words in ended.text, ended.text
    session.kept()


@row
def asking(session, code, prompt, value):
    """With `interactive` a cell can prompt: the answer contains the prompt, and `input` continues the cell with its
    variables and its output.
    """
    asks = session.code(code, interactive=True)
    assert (asks.ending, asks.prompt, asks.stdout) == ("waiting", prompt, "before\n"), asks.text
    ended = session.code(run=asks.run, input="Bob ü").ok()
    assert (ended.value, ended.stdout) == (value, "after\n"), ended.text
    session.kept()


@row
def exit_call(session, code, words):
    """The language's own call to exit ends the cell, not the session, and its result has the exit code."""
    ended = session.code(code)
    assert ended.ending == "error" and words in ended.text, ended.text
    assert session.stock or ("session keeps its variables" in ended.text and ended.exit_code == 4), ended.text
    session.kept()


# --- time


@row
def endless_loop(session, code):
    """A loop that never ends is interrupted at its time limit; output until then and variables are kept."""
    timed_out(session, code)


@row
def endless_wait(session, code):
    """A cell that waits is interrupted in the same way."""
    timed_out(session, code)


@row
def outliving(session, code):
    """With `wait` the answer comes while the cell runs, with its output so far. The next answer has the new output. An interrupt ends the cell."""
    session.mark()
    begun = session.code(code, wait=0)
    text = begun.stdout
    while text != "before\n":
        assert begun.ending == "running" and "before\n".startswith(text), begun.text  # output may arrive in pieces
        text += session.code(run=begun.run, wait=1).stdout
    again = session.code(run=begun.run, wait=0)
    assert (again.ending, again.stdout, again.run) == ("running", "", begun.run), again.text
    ended = session.code(run=begun.run, interrupt=True)
    assert (ended.ending, ended.run) == ("interrupted", begun.run) and (session.stock or ended.stdout == ""), ended.text
    session.kept()


@row
def endless_child(session, code):
    """A cell that waits for a program is interrupted in the same way, and the program ends too."""
    timed_out(session, code)
    assert session.shell("grep -lx sleep /proc/[0-9]*/comm").stdout == ""


def timed_out(session, code):
    ended = session.code(code, 1)
    assert (ended.is_error, ended.success, ended.ending) == (False, False, "timeout"), ended.text
    assert ended.text.startswith("⟦timeout⟧") and session.own(ended.stdout) == "before\n", ended.text
    session.kept()


@row
def cancelled(session, code):
    """A call that the client cancels is interrupted, and variables are kept."""
    token = f"cancelled-{session.language}"
    running = session.start_code(code, 60, progress=token)
    session.server.wait_for(lambda server: server.progress_of(token))
    session.server.cancel(running)
    session.kept()
    assert not running.done


@row
def deaf(session, code):
    """A cell that ignores interrupts is killed with its interpreter. A checkpoint or a new interpreter takes its place,
    files are kept, and the result says so.
    """
    ended = session.code(code, 1)
    assert ended.ending == "timeout" and "before" in ended.stdout, ended.text
    says_what_is_left(ended)
    session.lost(ended)


# --- output


@row
def streams(session, code):
    """stdout and stderr are separate."""
    ended = session.code(code).ok()
    assert (ended.stdout, ended.stderr) == ("out\n", "err\n")


@row
def order(session, code):
    """Printed text and displays are in one text, in the order in which they were produced."""
    ended = session.code(code).ok()
    places = [ended.text.index(word) for word in ("one", "⟦display⟧", "two", "⟦result⟧")]
    assert places == sorted(places), ended.text


@row
def order_of_streams(session, code):
    """stdout and stderr are in one text too, and stderr is marked."""
    ended = session.code(code).ok()
    assert ended.text.startswith("one\n⟦stderr⟧ two\n⟦stdout⟧\nthree"), ended.text


@row
def progress_bar(session, code):
    """Only the final state of a progress bar of six hundred steps is shown, as one line."""
    ended = session.code(code).ok()
    assert ended.text.count("100%") == 1 and "50%" not in ended.text and len(ended.text) < 250, ended.text


@row
def cleared_output(session, code):
    """If a loop clears its output, only the last output is left."""
    ended = session.code(code).ok()
    assert "step 299" in ended.text and ended.text.count("step") == 1 and ended.displays_dropped == 0, ended.text


@row
def updated_display(session, code):
    """A display that is updated shows its last state in its place."""
    ended = session.code(code).ok()
    assert ended.text.index("299") < ended.text.index("after") and "298" not in ended.text, ended.text
    assert ended.displays_dropped == 0


@row
def labels(session, code):
    """Output of a program cannot be mistaken for Husk's own text, and none of it is hidden or reordered."""
    ended = session.code(code).ok()
    assert ended.text.count("[[note]]") == 2 and "⟦note⟧" not in ended.text, ended.text
    assert "<U+202E>" in ended.text and "\u202e" not in ended.text, ended.text


@row
def full_text(session, code):
    """Text that is too long for an answer is kept in the session, and the answer says where."""
    ended = session.code(code, 60).ok()
    assert len(ended.text) < TEXT_MAX and "⟦… " in ended.text
    name = re.search(r"~/.husk/runs/\d+\.txt", ended.text)[0]
    assert session.shell(f"wc -l <{name}; tail -1 {name}").ok().stdout == "5000\nline 4999\n"


@row
def child_output(session, code):
    """Output of child programs is captured, in order with the cell's own output."""
    ended = session.code(code).ok()
    assert (ended.stdout, ended.stderr) == ("one\nchild\ntwo\n", "child's error\n"), ended.text


@row
def long_line(session, code):
    """A line of ten million characters is cut, and the result says how long it was."""
    ended = session.code(code).ok()
    assert ended.stdout_bytes == 10_000_001 and ended.stdout_truncated
    assert len(ended.text) < TEXT_MAX and "10000001" in ended.text


@row
def many_lines(session, code):
    """The first and the last of a hundred thousand lines are shown, and the total size."""
    ended = session.code(code, 60).ok()
    assert ended.text.startswith("line 0\nline 1\n") and "\nline 99998\nline 99999\n⟦" in ended.text
    assert ended.stdout_truncated and ended.stdout_bytes == 1_088_890 and len(ended.text) < TEXT_MAX


@row
def junk(session, code):
    """All 256 byte values on stdout become valid text, and the connection stays open."""
    ended = session.code(code).ok()
    assert "ABC" in ended.stdout and "\ufffd" in ended.stdout and ended.stdout_bytes == 256
    session.kept()


@row
def nul_bytes(session, code):
    """NUL bytes on stdout do not end a text."""
    stdout = session.code(code).ok().stdout
    assert stdout.startswith("a") and stdout.endswith("b\n"), stdout


@row
def ansi(session, code):
    """Escape sequences that the code prints are removed."""
    assert session.code(code).ok().stdout == "red\n"


@row
def late_child(session, code):
    """Output that a background program writes after its cell has ended is at the start of the next cell's output."""
    session.shell("rm -f go went").ok()
    ended = session.code(code).ok()
    assert "late" not in ended.stdout
    session.shell("touch go; until [ -e went ]; do sleep 0.02; done").ok()
    assert session.code(session.column["child_output"]["code"]).ok().stdout == "late\none\nchild\ntwo\n"


@row
def late_output(session, code, until):
    """Output that the interpreter's own threads or timers write after their cell has ended is in the next cell's
    output.
    """
    session.shell("rm -f go went").ok()
    assert "late" not in session.code(code).ok().stdout
    session.shell("touch go").ok()
    assert "late\n" in session.code(until).ok().stdout


@row
def closed_streams(session, code):
    """If a cell closes file descriptors 1 and 2, they are open again in the next cell."""
    session.code(code)
    assert session.code(session.column["streams"]["code"]).ok().stdout == "out\n"
    assert session.code(session.column["child_output"]["code"]).ok().stdout == "one\nchild\ntwo\n"
    session.kept()


@row
def redirected_streams(session, code):
    """If a cell redirects output inside the language, the redirection is undone in the next cell."""
    session.code(code)
    ended = session.code(session.column["streams"]["code"]).ok()
    assert (ended.stdout, ended.stderr) == ("out\n", "err\n")


# --- displays


@row
def image(session, code):
    """A picture is returned as an image."""
    (kind, data), = session.code(code, 120).ok().images
    assert kind == "image/png" and data.startswith(b"\x89PNG")


@row
def figure(session, code):
    """A plot becomes a picture without a call to show it, even if the cell fails later."""
    ended = session.code(code, 120)
    assert ended.ending == "error" and len(ended.images) == 1
    session.kept()


@row
def order_of_figures(session, code):
    """A plot is placed among the prints where it was drawn."""
    ended = session.code(code).ok()
    places = [ended.text.index(word) for word in ("one", "⟦picture 1⟧", "two")]
    assert places == sorted(places), ended.text


@row
def html(session, code):
    """HTML is returned as a display."""
    assert {"type": "text/html", "data": "<b>bold</b>"} in plain(session.code(code).ok())


@row
def json(session, code):
    """JSON is returned as a display, as data."""
    assert {"type": "application/json", "data": '{"a":[1,2]}'} in plain(session.code(code).ok())


@row
def display_before_an_error(session, code):
    """Displays before an error are shown."""
    ended = session.code(code)
    assert ended.ending == "error" and {"type": "text/html", "data": "<b>bold</b>"} in plain(ended)


@row
def big_html(session, code):
    """Three megabytes of HTML do not flood the text."""
    ended = session.code(code).ok()
    assert len(ended.text) < 3000 and "text/html" in [shown["type"] for shown in plain(ended)]


@row
def table(session, code):
    """A table of data is shown as text, with HTML for clients that can show it."""
    ended = session.code(code).ok()
    assert "name" in ended.value and "count" in ended.value and "<table" not in ended.text
    assert "<table" in ended.result["text/html"]


def plain(ended):
    return [{"type": d["type"], "data": d.get("data")} for d in ended.display_outputs]


# --- processes and memory


@row
def memory_bomb(session, code):
    """Code that uses up all memory ends as `oom`, and the result names the limit; a new interpreter starts, and files
    are kept.
    """
    ended = session.code(code, 120)
    assert (ended.is_error, ended.ending) == (False, "oom"), ended.text
    assert "memory limit of 640 MiB" in ended.text, ended.text
    says_what_is_left(ended)
    session.lost(ended)


@row
def child_memory_bomb(session, code):
    """If a program uses up all memory, only the program is killed, and the result says so; variables are kept."""
    ended = session.code(code, 120)
    assert ended.ending in ("ok", "error") and "memory limit of 640 MiB" in ended.text, ended.text
    session.kept()


@row
def fork_bomb(session, code):
    """A fork bomb ends with its cell; cells and commands work after it."""
    session.code(code, 2)
    for _ in range(2):  # the first one may report that the interpreter was restarted
        ended = session.code(session.column["state"]["set"])
    ended.ok()
    session.kept()
    assert session.shell("echo fine").ok().stdout.endswith("fine\n")


@row
def forked_child(session, code, value):
    """If a forked copy of the interpreter runs to the end of the cell, it sends no result."""
    assert session.code(code).ok().value == value
    for _ in range(3):
        session.kept()


@row
def workers(session, code, value):
    """The language's own parallel workers run, print and return their values, but send no results of their own."""
    ended = session.code(code, 60).ok()
    assert ended.value == value and sorted(ended.stdout) == sorted("worker\n" * 2), ended.text  # the workers' lines may be interleaved
    session.kept()


@row
def hidden_link(session, code):
    """A child program finds neither the kernel's link nor its token."""
    ended = session.code(code).ok()
    assert "socket:" not in ended.stdout and "HUSK_" not in ended.stdout and "/dev/null" in ended.stdout, ended.stdout


@row
def hard_exit(session, code):
    """If the interpreter's process exits outside the language's control, its status and its last output are reported,
    and it is restarted.
    """
    ended = session.code(code)
    died(ended, "status 3", "last words")
    session.lost(ended)


@row
def crash(session, code):
    """A segmentation fault is reported with its signal."""
    ended = session.code(code)
    died(ended, "signal 11")
    session.lost(ended)


@row
def abort(session, code):
    """An abort is reported with its signal."""
    ended = session.code(code)
    died(ended, "signal 6")
    session.lost(ended)


@row
def killed(session, code):
    """A kill by another process of the session is reported with its signal."""
    ended = session.code(code)
    died(ended, "signal 9")
    session.lost(ended)


@row
def new_interpreter(session, code):
    """With `restart` a cell runs in a new interpreter, and the answer names the lost variables. `restart` without code does the same."""
    session.mark()
    for text in (code, None):
        ended = session.code(text, restart=True).ok()
        assert "variables are gone" in ended.text and ("fresh" in ended.stdout) is (text is not None), ended.text
        assert session.stock or "kept (" in ended.fields["lost_variables"], ended.text
        session.lost()


@row
def variables(session, code, variables):
    """session_info lists the variables by name, type and shape, the largest first."""
    session.code(code).ok()
    info = session.server.call("session_info", {"session_id": session.plain.id}).fields
    listed = {v["name"]: (v["type"], v.get("shape")) for v in info["usage"]["variables"]}
    assert {name: listed.get(name) for name in variables} == variables, listed
    sizes = [v.get("bytes", 0) for v in info["usage"]["variables"]]
    assert sizes == sorted(sizes, reverse=True), sizes


# --- files and surroundings


@row
def surroundings(session, code):
    """A cell starts in /workspace as the user `sandbox` with a home directory, in UTF-8 and without Husk's own
    variables.
    """
    lines = session.code(code).ok().stdout.splitlines()
    assert lines[:4] == ["/workspace", "/home/sandbox", "sandbox", "C.UTF-8"] and "HUSK" not in " ".join(lines), lines


@row
def environment(session, get, values, fail, change):
    """Environment variables of one run are set for its cell and restored after it, even if it fails; the cell's own
    changes stay.
    """
    assert session.code(get).ok().value == values["none"]
    assert session.code(get, env={"GREETING": "hello there"}).ok().value == values["given"]
    assert session.code(fail, env={"GREETING": "hello there"}).ending == "error"
    assert session.code(get).ok().value == values["none"]
    session.code(change, env={"GREETING": "hello there", "OTHER": "1"}).ok()
    assert session.code(get).ok().value == values["changed"]


@row
def shared_files(session, write, read):
    """Cells and the terminal share files."""
    session.code(write).ok()
    assert session.shell("cat cell.txt").ok().stdout == "from a cell\n"
    session.shell("echo from the terminal >terminal.txt").ok()
    assert session.code(read).ok().stdout == "from the terminal\n"


@row
def terminal_beside(session, code):
    """The terminal does not wait for a running cell."""
    session.shell("rm -f go").ok()
    running = session.start_code(code, 60)
    session.shell("touch go").ok()
    assert running.tool().ok().stdout == "went\n"


@row
def terminal_language(session, command):
    """The language's interpreter can also be run in the terminal."""
    assert session.shell(command).ok().stdout == "42\n"


@row
def program(session, code):
    """`husk run` runs a file as a program: it can read standard input, and its exit code is passed on."""
    done = session.run_program(code, "21\n")
    assert (done.returncode, done.stdout) == (3, "42\n"), done


@row
def deleted_workspace(session, code, write):
    """After everything in /workspace has been deleted, cells and commands still work there."""
    session.code(code)
    assert session.shell("pwd; ls -A").ok().stdout == "/workspace\n"
    session.code(write).ok()
    assert session.shell("cat cell.txt").ok().stdout == "from a cell\n"
    session.mark()


@row
def full_disk(session, code, words):
    """If /workspace is full, the cell fails with an error, and variables are kept."""
    ended = session.code(code)
    assert ended.ending == "error" and words in ended.text, ended.text
    session.shell("rm -f big").ok()
    session.kept()


@row
def sessions(session, set, get, values):
    """Two sessions run at once and do not affect each other."""
    with session.another() as other:
        running = [b.start_code(set % n) for n, b in enumerate((session, other))]
        for answer in running:
            answer.tool().ok()
        assert [shown(b.code(get).ok()) for b in (session, other)] == values
