"""The stock ipykernel's column: Python's, except where IPython's own kernel differs."""

from .. import absent
from ..python import COLUMN as PYTHON
from . import ENVIRONMENT, VARIABLES, none_of

COLUMN = {
    **PYTHON,
    "asynchronous": dict(code="import asyncio\nasync def later(): return await asyncio.sleep(0, 7)\ny = await later()\nassert y == 7\n"
                              "await later()", value="7"),
    "order_of_streams": absent("ipykernel collects the output of each stream, and sends one after the other."),
    **none_of("ipykernel reads the output of programs in a separate thread, so that it may come late, even with the next cell.",
              "child_output late_child closed_streams junk"),
    "hidden_link": dict(code="import subprocess\nprint(subprocess.run('for f in /proc/self/fd/*; do readlink $f; done; env', shell=True,\n"
                             "                     capture_output=True, text=True).stdout)"),
    "hard_exit": absent("Output that ipykernel has not sent yet is lost with its process; the rows `crash`, `abort` and `killed` show that its end is reported."),
    "environment": ENVIRONMENT,
    "variables": VARIABLES,
}

QUICK = """state last_value unicode line_ends big_value asynchronous error work_before_an_error syntax_error keyboard asking exit_call
    endless_wait outliving endless_child cancelled order progress_bar cleared_output updated_display late_output order_of_figures html
    big_html forked_child hidden_link crash killed new_interpreter surroundings terminal_beside program""".split()
