"""Cells with all features of IPython; loaded after the kernel has said hello (main.py)."""

import os
import sys
import time

from IPython.core import magic_arguments
from IPython.core.magics.execution import ExecutionMagics
from IPython.utils.capture import capture_output

from . import commands, describe, display, errors, machine, stdin, widgets
from .charts import Charts, complete_plotly
from .environment import Environment
from .events import Events
from .figures import Figures
from .imports import ImportHooks, own_modules
from .interrupts import interrupts
from .link import NoCell, TooLong
from .shell import PLAIN_TYPES, Shell
from .widgets import Widgets

LATE_DISPLAYS_MAX = 20
DISPLAY_ID_MAX = 256
DRAWING_SECONDS = 2.5  # to draw an interrupted cell's figures: half of the time that PID 1 gives the cell to end


class Cells:
    def __init__(self, link, streams, module):
        """`module` is the user's module. It has the variables of the cells that ran before IPython was loaded."""
        self._link = link
        self._streams = streams
        self._events = Events()
        self._unrecorded = None  # the value of a cell that is not yet in Out
        self._late = []  # displays of threads and tasks between two cells
        self._widgets = Widgets(self.display)
        self._figures = Figures(self._publish)
        self._charts = Charts(self.display)
        self._shell = Shell.instance(events=self._events, display=self.display, clear=self.clear, widget=self._widgets.made,
                                     user_module=module)
        self._shell.register_magic_function(self._capture, "cell", "capture")
        formatters = self._shell.display_formatter.formatters
        formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", self._figures.format_png)
        formatters["text/plain"].for_type_by_name("pandas.io.formats.style", "Styler", _print_styler)
        formatters["text/html"].for_type_by_name("bokeh.models.layouts", "LayoutDOM", self._charts.format_bokeh)

    def adapt_modules(self):
        commands.install()
        hooks = ImportHooks()
        self._events.on_import(hooks)
        stdin.on_import(hooks)
        self._figures.on_import(hooks)
        hooks["pandas"] = _adapt_pandas
        self._charts.on_import(hooks)
        machine.on_import(hooks)
        widgets.on_import(hooks)
        hooks.install()

    def warm_up(self):
        self._shell.warm_up()

    def take_over(self, cells):
        """Record cells that ran, and whose results were sent, before IPython was loaded."""
        for ran in cells:
            self._shell.start_cell()
            self._shell.take_over(ran)
            value = self._shell.displayhook.take()
            if value is not None:
                self._shell.displayhook.update_user_ns(value)
            self._shell.finish_cell()

    @property
    def hidden(self):
        """The names in the user's module that the user did not define."""
        return self._shell.user_ns_hidden

    def wait(self, fd):
        """Let background tasks run until the descriptor is readable."""
        self._events.wait(fd)

    def answer(self, message):
        """Return the fields of the answer to a query."""
        with own_modules:
            from .queries import Queries

        return Queries(self._shell).answer(message)

    @property
    def events(self):
        return self._events

    def is_alone(self):
        """Return False if tasks of earlier cells may run before the next cell."""
        return self._events.is_alone()

    def make_ready(self):
        """Called before each cell, after all of the user's code that runs before it."""
        self._events.ready()
        self._shell.lean.look()

    def execute(self, message, ran=None):
        """Run a cell and send its result. With `ran`, the cell has already run without IPython and is only finished."""
        code, env = message["code"], message.get("env")
        if env or message.get("interactive"):
            with Environment(env), stdin.interactive(self._prompt_user if message.get("interactive") else None):
                data, error = self._run(code)
        else:
            data, error = self._run(code, ran)
        if error:
            error = {name: display.valid_text(value) if isinstance(value, str) else value for name, value in error.items()}
        try:
            self._link.done(data, error)
        except TooLong:
            _shortened(data, lambda bundle: self._link.done(bundle, error))
        interrupts.install()  # changes to the signal handling end with the cell
        if self._unrecorded is not None:
            self._record(self._unrecorded)
            self._unrecorded = None
        self._shell.finish_cell()

    def _record(self, value):
        """Make a value available as _ and in Out."""
        try:
            self._shell.displayhook.update_user_ns(value)
        except Exception:  # a cell has replaced the dictionary of outputs
            pass

    def _prompt_user(self, prompt, password):
        self._streams.flush()
        return self._link.prompt(display.valid_text(prompt), password)

    def _run(self, code, ran=None):
        """Run a cell and return its result as a bundle and its error as fields; either may be None."""
        try:
            interrupts.running, interrupts.held = True, 1  # Shell lets interrupts reach the user's code itself
            outcome = self._run_held(code, ran)
            interrupts.running = False
        except BaseException as error:
            interrupts.running = False
            self._leave_if_forked(error)
            outcome = None, errors.report(error)
        if not interrupts.are_ours():
            interrupts.install()
        return outcome

    def _run_held(self, code, ran):
        """Called with interrupts held back, until the cell has run."""
        shell, hook = self._shell, self._shell.displayhook
        shell.failure = hook.value = None
        hook.number = shell.execution_count
        if self._figures.drew:
            self._figures.start_cell()
        if self._late:
            self._send_late()
        code = code.removeprefix("\ufeff")  # a byte order mark, which some editors write
        if ran is not None:
            shell.take_over(ran)
        elif not shell.lean.run(code):
            shell.run_cell(code, store_history=True)
        interrupts.held = 0
        if interrupts.pending:
            interrupts.raise_pending()
        value, error, hook.value = hook.value, shell.failure, None
        if self._link.forked:
            self._leave_if_forked(error)
        data = None
        if error is None and value is not None:
            text = shell.plain_text(value)
            if text is not None:  # no code of the user has run for it, so the value can be recorded after the answer
                self._unrecorded, data = value, {"text/plain": text}
            else:
                data, error = self._show_value(value)
        if self._widgets.shown:
            self._widgets.finish_cell(shell.format)
        if "matplotlib.pyplot" in sys.modules or error is not None:
            error = self._show_figures(interrupted=isinstance(error, KeyboardInterrupt)) or error
        told = errors.report(error) if error is not None else None
        self._streams.flush()
        return data, told

    def _show_value(self, value):
        try:
            if type(value) not in PLAIN_TYPES and self._events.is_awaitable(value):
                value = self._events.run(_settled(value))
                if value is None:
                    return None, None
            self._record(value)
            return display.clean(self._shell.format(value)), None
        except BaseException as error:
            return None, error

    def _show_figures(self, interrupted):
        if interrupted:  # the signal is repeated until the cell ends
            interrupts.deaf_until = time.monotonic() + DRAWING_SECONDS
        try:
            self._figures.finish_cell()
        except Exception as error:  # a figure that cannot be drawn
            return None if interrupted else error
        except KeyboardInterrupt:  # the cell took too long to end and was interrupted again
            self._figures.drop()
            if not interrupted:
                raise
        return None

    def display(self, data, display_id=None, update=False):
        """Show the data of display() or a figure. Called from any thread, at any time, also in forked children."""
        if self._link.forked:
            print(data.get("text/plain", ""))
            return
        display_id = display_id or self._widgets.id_of(data)
        fields = {"display_id": display.valid_text(str(display_id)[:DISPLAY_ID_MAX])} if display_id else {}
        if update:
            fields["update"] = True
        self._streams.flush()
        bundle = display.clean(complete_plotly(data))
        if not bundle:
            return
        try:
            self._send_display(bundle, fields)
        except NoCell:
            if len(self._late) < LATE_DISPLAYS_MAX:
                self._late.append((bundle, fields))

    def _publish(self, data):
        """Send a bundle to the current receiver of displays: the link, or a %%capture."""
        self._shell.display_pub.publish(data)

    def _capture(self, line, cell):
        """%%capture that also captures figures, which would otherwise be shown at the end of the cell."""
        args = magic_arguments.parse_argstring(ExecutionMagics.capture, line)
        with capture_output(not args.no_stdout, not args.no_stderr, not args.no_display) as captured:
            self._shell.run_cell(cell)
            self._figures.show_open()
        if self._shell.displayhook.semicolon_at_end_of_expression(cell):
            self._shell.user_ns.pop(args.output, None)
        elif args.output:
            self._shell.user_ns[args.output] = captured

    def clear(self, wait):
        """clear_output(): removes the output so far, at once or with the next output."""
        if self._link.forked:
            return
        self._streams.flush()
        try:
            self._link.event("display", data={}, clear=True, wait=wait)
        except NoCell:
            self._late.clear()

    def _send_late(self):
        late, self._late = self._late, []
        for bundle, fields in late:
            self._send_display(bundle, fields)

    def _send_display(self, bundle, fields):
        _shortened(bundle, lambda bundle: self._link.event("display", data=bundle, **fields))

    def _leave_if_forked(self, error):
        """If this is a child that the cell forked, exit here, without sending a result."""
        if not self._link.forked:
            return
        if error is not None and not isinstance(error, SystemExit):
            errors.print_plain(error)
        self._streams.flush()
        os._exit(errors.exit_status(error))


def _shortened(bundle, send):
    """Send a bundle that may be too long for one message."""
    while True:
        try:
            return send(bundle)
        except TooLong:
            display.drop_largest(bundle)


async def _settled(awaitable):
    return await awaitable


def _print_styler(styler, printer, _cycle):
    printer.text(describe.styled_table(styler))


def _adapt_pandas(pandas):
    # Outside a notebook, pandas fits tables to a terminal of 80 columns and leaves out the table columns in the middle.
    pandas.set_option("display.max_columns", 20)
    pandas.set_option("display.width", 120)
