"""The column of Bash with bash_kernel, which types cells into a shell at its own terminal."""

from .. import absent
from . import ENVIRONMENT, NO_VALUES, VARIABLES, none_of

COLUMN = {
    # values and state
    "state": dict(set="kept=41", get="echo $((${kept:?} + 1))", value="42"),
    "no_value": dict(code="x=5", comment="# nothing"),
    "definitions": dict(first="f() { echo 1; }; C=1", second="f() { echo 2; }; C=2", use='echo "$(f) $C"', values=["1 1", "2 2"]),
    **none_of(NO_VALUES, "last_value big_value workers forked_child table image"),
    **none_of("bash_kernel types a cell into a terminal, which has one stream for both.", "unicode streams order_of_streams redirected_streams warning"),
    **none_of("bash_kernel types a cell into a terminal, line by line, which takes lines of a few thousand characters and no carriage return.",
              "line_ends long_source full_disk"),
    "asynchronous": absent("Bash has no await: a command returns when it is done."),
    "packages": dict(code="command -v git gcc python3 jq rg"),
    "queued": dict(first="count=0; sleep 0.1", second="echo $((++count))", value="5"),
    # errors
    **none_of("An error in Bash is a command's exit status; the message is the command's output.",
              "error syntax_error broken_value recursion huge_allocation"),
    "work_before_an_error": dict(code="echo before; half=done; false", get="echo $half", value="done"),
    "keyboard": absent("`read` waits at the terminal of bash_kernel, where nobody can type, until the cell times out."),
    "asking": absent("bash_kernel has no input requests."),
    "exit_call": absent("bash_kernel starts another shell, and says so in the output; variables are lost."),
    # time
    "endless_loop": dict(code="echo before; while :; do :; done"),
    "endless_wait": dict(code="echo before; sleep 100"),
    "new_interpreter": dict(code="echo fresh"),
    "variables": VARIABLES,
    "outliving": dict(code="echo before; sleep 100"),
    "endless_child": dict(code="echo before; bash -c 'sleep 100; :'; sleep 100"),
    "cancelled": dict(code="echo before; while :; do :; done"),
    "deaf": absent("bash_kernel abandons a shell that ignores interrupts, and does not start another."),
    # output
    "order": absent("bash_kernel displays only pictures and HTML, and its cells have no values to show after them."),
    "progress_bar": dict(code="for i in $(seq 0 6 600); do printf '\\r%3d%%' $((i / 6)); done; echo"),
    "cleared_output": absent("bash_kernel cannot clear output."),
    "updated_display": absent("bash_kernel updates displays by its own functions, with html in a file."),
    "labels": dict(code="printf '\\u27e6note\\u27e7 all is well \\u202e\\n'; printf '\\u27e6note\\u27e7\\n'"),
    "full_text": dict(code="for i in $(seq 0 4999); do echo line $i; done"),
    "child_output": absent("All output comes from programs, in the order of the terminal."),
    **none_of("bash_kernel reads its terminal line by line, a few thousand lines per second.", "long_line many_lines"),
    **none_of("The shell is connected to the kernel by a terminal, which changes such bytes.", "junk nul_bytes"),
    "ansi": dict(code="printf '\\033[31mred\\033[0m\\n'"),
    **none_of("bash_kernel reads its terminal while a cell runs; later output is somewhere in the next cell's output.",
              "late_child late_output"),
    "closed_streams": absent("bash_kernel treats a shell that has lost its terminal as ended, and starts another."),
    # displays
    "figure": absent("Bash cannot draw plots."),
    "order_of_figures": absent("Bash cannot draw plots."),
    "html": dict(code="printf '<b>bold</b>' | displayHTML"),
    "json": absent("bash_kernel displays pictures, html and Javascript."),
    "display_before_an_error": dict(code="printf '<b>bold</b>' | displayHTML; false"),
    "big_html": dict(code="head -c 3000000 /dev/zero | tr '\\0' h | displayHTML"),
    # processes and memory
    "memory_bomb": absent("Only the shell is killed if it uses up all memory, and bash_kernel starts another."),
    "child_memory_bomb": dict(code="head -c 2G /dev/zero | tail"),
    "fork_bomb": dict(code="f() { f | f & }; f"),
    "hidden_link": dict(code="for f in /proc/self/fd/*; do readlink $f; done; env; readlink /proc/self/fd/0 </dev/null"),
    **none_of("bash_kernel starts another shell when its own has ended, and says so in the output; the kernel stays alive.",
              "hard_exit crash abort"),
    "killed": dict(code="kill -9 $PPID; sleep 100"),
    # files and surroundings
    "surroundings": dict(code="pwd; echo ~; echo $USER; echo $LANG; env | grep ^HUSK; true"),
    "environment": ENVIRONMENT,
    "shared_files": dict(write="echo from a cell >cell.txt", read="cat terminal.txt"),
    "terminal_beside": dict(code="until [ -e go ]; do sleep 0.01; done; echo went"),
    "terminal_language": dict(command="bash -c 'echo $((6 * 7))'"),
    "program": dict(code="read -r n\necho $((2 * n))\nexit 3"),
    "deleted_workspace": dict(code="rm -rf /workspace/* /workspace/.[a-z]*", write="echo from a cell >/workspace/cell.txt"),
    "sessions": dict(set="mine=%d; sleep 0.2", get="echo $mine", values=["0", "1"]),
}

QUICK = """state no_value work_before_an_error endless_wait cancelled progress_bar html killed surroundings
    shared_files program""".split()
