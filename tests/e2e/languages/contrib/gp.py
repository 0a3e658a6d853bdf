"""The column of PARI/GP with xeus-gp, which does arithmetic and little else."""

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
    "line_ends": absent("GP reads one line at a time, and a carriage return does not end a line."),
    "long_source": absent("GP reads one line at a time: five thousand of them take minutes in xeus-gp."),
    "asynchronous": absent("GP has no await and no promises."),
    "packages": absent("The image contains only PARI/GP."),
    "queued": dict(first="count = 0;", second="print(count += 1)", value="5"),
    # errors
    **none_of("xeus-gp reports an error as the text that GP printed, without a type.", "error syntax_error broken_value"),
    "work_before_an_error": absent("GP undoes the assignments of a line that fails."),
    "recursion": dict(code="g(n) = g(n + 1)\ng(0)", words="deep recursion"),
    "huge_allocation": dict(code="vector(10^13)", words="overflow"),
    **none_of("GP reads its standard input, which is at its end, again and again until the cell times out.", "keyboard asking"),
    "exit_call": absent("quit ends GP's process, and so the kernel; the answer says so."),
    # time
    "endless_loop": dict(code='print("before"); while(1,)'),
    "endless_wait": absent("GP waits only for programs, as the row `endless child` shows."),
    "new_interpreter": dict(code='print("fresh")'),
    "variables": VARIABLES,
    "outliving": dict(code='print("before"); while(1,)'),
    "endless_child": absent("xeus-gp waits for programs that GP started, and does not interrupt them; it is killed after the grace period."),
    "cancelled": dict(code='print("before"); while(1,)'),
    "deaf": absent("GP can always be interrupted."),
    # output
    "progress_bar": absent("GP cannot write a carriage return."),
    "labels": absent("GP writes bytes, and cannot produce characters that are not in the source."),
    "full_text": dict(code="for(i = 0, 4999, print(\"line \", i))"),
    "child_output": absent("xeus-gp does not capture the output of programs."),
    "long_line": absent("GP cannot produce a line of this length in a reasonable time."),
    "many_lines": absent("xeus publishes each line as a message, and drops messages beyond a queue of a thousand on a busy machine."),
    **none_of("GP cannot write such bytes.", "junk nul_bytes ansi"),
    **none_of("xeus-gp does not capture the output of programs, and GP has no threads.", "late_child late_output closed_streams"),
    # processes and memory
    "memory_bomb": absent("GP has a stack of fixed size, and fails with an error before the memory is used up."),
    **none_of("xeus-gp does not capture the output of programs.", "child_memory_bomb fork_bomb hidden_link surroundings full_disk"),
    "hard_exit": absent("GP cannot end itself outside the language's control."),
    **none_of("GP can send signals only through programs, as in the row `killed`.", "crash abort"),
    "killed": dict(code='system("kill -9 $PPID")'),
    # files and surroundings
    "environment": ENVIRONMENT,
    "shared_files": dict(write='write("cell.txt", "from a cell")', read='print(externstr("cat terminal.txt")[1])'),
    "terminal_beside": absent("GP can wait for a file only through programs, whose output xeus-gp does not capture."),
    "terminal_language": dict(command="echo 'print(6 * 7)' | gp --quiet"),
    "program": dict(code="print(2 * input()); quit(3)"),
    "deleted_workspace": dict(code='system("rm -rf /workspace/* /workspace/.[a-z]*")', write='write("/workspace/cell.txt", "from a cell")'),
    "sessions": dict(set="mine = %d;", get="print(mine)", values=["0", "1"]),
}
