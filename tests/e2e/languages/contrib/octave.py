"""The column of GNU Octave with octave_kernel (metakernel), which types cells into Octave at its own terminal."""

from .. import absent
from . import AS_TEXT, ENVIRONMENT, NO_VALUES, VARIABLES, none_of

COLUMN = {
    # values and state
    "state": dict(set="kept = 41;", get="disp(kept + 1)", value="42"),
    "no_value": dict(code="x = 5;", comment="# nothing"),
    "definitions": dict(first="f = @() 1; C = 1;", second="f = @() 2; C = 2;", use="disp([f(), C])", values=["   1   1", "   2   2"]),
    **none_of(NO_VALUES, "last_value big_value forked_child workers table"),
    **none_of(AS_TEXT, "unicode streams order_of_streams redirected_streams warning order html json display_before_an_error big_html"),
    **none_of("octave_kernel types a cell into a terminal, which takes lines of a few thousand characters and no carriage return.",
              "line_ends long_source long_line many_lines full_text junk nul_bytes labels"),
    "asynchronous": absent("Octave has no await."),
    "packages": absent("The image contains only Octave."),
    "queued": dict(first="count = 0; pause(0.1);", second="count += 1; disp(count)", value="5"),
    # errors
    **none_of("octave_kernel prints Octave's error message, and reports that the cell succeeded.",
              "error work_before_an_error syntax_error broken_value recursion huge_allocation full_disk figure"),
    "keyboard": dict(code='input("name? ", "s")', words="does not support input requests"),
    "asking": absent("octave_kernel detects a prompt only if the cell has printed nothing before."),
    "exit_call": absent("octave_kernel ends with Octave; the answer says that the interpreter died."),
    # time
    "endless_loop": dict(code='disp("before"); while true, end'),
    **none_of("Octave passes on its output when the program that it waits for ends. After an interrupt that output is lost.",
              "endless_wait outliving endless_child"),
    "new_interpreter": dict(code='disp("fresh")'),
    "variables": VARIABLES,
    "cancelled": dict(code='disp("before"); while true, end'),
    "deaf": absent("Octave can always be interrupted."),
    # output
    "progress_bar": dict(code=r'for i = 0:6:600, printf("\r%3d%%", i / 6); end; disp("")'),
    "cleared_output": absent("Octave cannot clear output."),
    "updated_display": absent("Octave cannot update a display."),
    "child_output": absent("The output of Octave and of programs comes in the order of the terminal."),
    "ansi": dict(code=r'printf("\033[31mred\033[0m\n")'),
    **none_of("octave_kernel reads its terminal while a cell runs; later output is somewhere in the next cell's output.",
              "late_child late_output"),
    "closed_streams": absent("octave_kernel treats an Octave that has lost its terminal as ended."),
    # displays
    "image": dict(code="plot(1:3)"),
    "order_of_figures": absent("octave_kernel draws a figure at the end of its cell."),
    # processes and memory
    "memory_bomb": absent("Only Octave is killed. octave_kernel stays alive without it, and its cells fail."),
    "child_memory_bomb": dict(code='system("head -c 2G /dev/zero | tail");'),
    "fork_bomb": absent("Octave can fork only with system(), as the row `child memory bomb` shows."),
    "hidden_link": dict(code='system("for f in /proc/self/fd/*; do readlink $f; done; env; readlink /proc/self/fd/0 </dev/null");'),
    **none_of("Octave ends, but octave_kernel does not, and its cells then fail.", "hard_exit crash abort"),
    "killed": dict(code='system("kill -9 $(ps -o ppid= -p $PPID)"); pause(100)'),
    # files and surroundings
    "surroundings": dict(code='puts([pwd, "\\n", getenv("HOME"), "\\n", getenv("USER"), "\\n", getenv("LANG"), "\\n"]); system("env | grep ^HUSK");'),
    "environment": ENVIRONMENT,
    "shared_files": dict(write='f = fopen("cell.txt", "w"); fprintf(f, "from a cell\\n"); fclose(f);', read='puts(fileread("terminal.txt"));'),
    "terminal_beside": dict(code='while ! exist("go", "file"), system("sleep 0.05"); end; disp("went")'),
    "terminal_language": dict(command="octave-cli --eval 'disp(6 * 7)'"),
    "program": dict(code="disp(2 * str2double(fgetl(stdin)))\nexit(3)"),
    "deleted_workspace": dict(code='system("rm -rf /workspace/* /workspace/.[a-z]*");',
                              write='f = fopen("/workspace/cell.txt", "w"); fprintf(f, "from a cell\\n"); fclose(f);'),
    "sessions": dict(set="mine = %d; pause(0.2);", get="disp(mine)", values=["0", "1"]),
}
