"""The column of PARI/GP by xeus-gp: arithmetic, and little else."""

from .. import absent
from . import AS_TEXT, ENVIRONMENT, NO_VALUES, VARIABLES, none_of

COLUMN = {
    # values and state
    "state": dict(set="kept = 41;", get="print(kept + 1)", value="42"),
    "no_value": dict(code="x = 5;", comment="\\\\ nothing"),
    "definitions": dict(first="f() = 1; C = 1;", second="f() = 2; C = 2;", use="print([f(), C])", values=["[1, 1]", "[2, 2]"]),
    **none_of(NO_VALUES, "last_value big_value forked_child workers table"),
    **none_of(AS_TEXT, "unicode streams order_of_streams redirected_streams warning order html json display_before_an_error big_html "
                       "image figure order_of_figures updated_display cleared_output"),
    "line_ends": absent("GP reads one line at a time, and a carriage return is no line end to it."),
    "long_source": absent("GP reads one line at a time: five thousand of them take minutes in xeus-gp."),
    "asynchronous": absent("GP has no await: it waits for nothing."),
    "packages": absent("The image promises PARI/GP alone."),
    "queued": dict(first="count = 0;", second="print(count += 1)", value="5"),
    # errors
    **none_of("xeus-gp tells an error by what GP prints, without a type.", "error syntax_error broken_value"),
    "work_before_an_error": absent("GP takes back what a line had assigned before its error."),
    "recursion": dict(code="g(n) = g(n + 1)\ng(0)", words="deep recursion"),
    "huge_allocation": dict(code="vector(10^13)", words="overflow"),
    **none_of("GP reads its own standard input, which is at its end, again and again: the cell runs until its time is over.", "keyboard asking"),
    "exit_call": absent("quit ends GP's process, and with it the kernel, which the answer tells."),
    # time
    "endless_loop": dict(code='print("before"); while(1,)'),
    "endless_wait": absent("GP has nothing that waits but programs: endless_child."),
    "new_interpreter": dict(code='print("fresh")'),
    "variables": VARIABLES,
    "outliving": dict(code='print("before"); while(1,)'),
    "endless_child": absent("xeus-gp waits for programs that GP started, and does not interrupt them: it is killed after its grace."),
    "cancelled": dict(code='print("before"); while(1,)'),
    "deaf": absent("GP can always be interrupted."),
    # output
    "progress_bar": absent("GP writes no carriage return."),
    "labels": absent("GP writes bytes, and knows no other characters than those of the source."),
    "full_text": dict(code="for(i = 0, 4999, print(\"line \", i))"),
    "child_output": absent("What programs print goes past xeus-gp."),
    "long_line": absent("GP breaks no lines, and makes none of this length in a reasonable time."),
    "many_lines": absent("xeus publishes each line by itself, and drops what its queue of a thousand does not hold on a busy machine."),
    **none_of("GP has no way to write such bytes.", "junk nul_bytes ansi"),
    **none_of("What programs print goes past xeus-gp, and GP has no threads.", "late_child late_output closed_streams"),
    # processes and memory
    "memory_bomb": absent("GP has a stack of fixed size: it ends with an error before the memory does."),
    **none_of("What programs print goes past xeus-gp.", "child_memory_bomb fork_bomb hidden_link surroundings full_disk"),
    "hard_exit": absent("GP cannot end behind its own back."),
    **none_of("GP sends no signals but by programs: killed.", "crash abort"),
    "killed": dict(code='system("kill -9 $PPID")'),
    # files and surroundings
    "environment": ENVIRONMENT,
    "shared_files": dict(write='write("cell.txt", "from a cell")', read='print(externstr("cat terminal.txt")[1])'),
    "terminal_beside": absent("GP has nothing that waits for a file but programs, whose output goes past xeus-gp."),
    "terminal_language": absent("Debian has the interactive gp in another package than the library."),
    "deleted_workspace": dict(code='system("rm -rf /workspace/* /workspace/.[a-z]*")', write='write("/workspace/cell.txt", "from a cell")'),
    "sessions": dict(set="mine = %d;", get="print(mine)", values=["0", "1"]),
}
