"""IPython's InteractiveShell without a terminal: no prompts, no colours, no files, no threads."""

import __future__

import ast
import builtins
import codeop
import functools
import inspect
import linecache
import operator
import os
import re
import shlex
import sys
import warnings

from IPython.core import interactiveshell
from IPython.core.autocall import ExitAutocall
from IPython.core.builtin_trap import BuiltinTrap
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import UsageError
from IPython.core.formatters import DisplayFormatter
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.core.profiledir import ProfileDir
from IPython.lib import pretty
from IPython.utils.text import LSString, SList
from traitlets import Any, default, observe
from traitlets.config import Config
from traitlets.config.configurable import Configurable

from . import charts, commands, errors, stdin
from .display import TEXT_MAX
from .interrupts import interrupts
from .lean import Lean

OUTPUTS_KEPT = 3  # Out[n] and _n, and thus _, __ and ___: each may hold a lot of memory
INPUTS_KEPT = 100
SOURCE_BYTES_KEPT = 16 << 20  # for tracebacks and inspect.getsource

_FUTURE = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
PLAIN_TYPES = {int, float, complex, bool, str, bytes, list, tuple, dict, set}
_PRINTED_BY_REPR = {int, str, bytes}
_BUILTINS = vars(builtins)
_NO_RESULT = ExecutionResult(None)
_NO_KEYBOARD = "%{} needs somebody at a keyboard, and stdin is closed in this session."
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Compiler(CachingCompiler):
    """Gives cells readable file names and drops the oldest sources."""

    def __init__(self):
        super().__init__()
        # codeop's flag for incomplete input is left out: it turns "'(' was never closed" into "incomplete input".
        self.flags = codeop.PyCF_DONT_IMPLY_DEDENT
        self._sizes = {}
        self._total = 0

    def cache(self, transformed_code, number=0, raw_code=None):
        name, again, size = f"<cell {number}>", 1, len(transformed_code)
        while name in linecache.cache:  # code that a cell ran through get_ipython().run_cell
            again += 1
            name = f"<cell {number}.{again}>"
        self._filename_map[name] = number
        # Without a time, the lines are never removed as outdated.
        linecache.cache[name] = size, None, [line + "\n" for line in transformed_code.splitlines()], name
        self._sizes[name] = size
        self._total += size
        while self._total > SOURCE_BYTES_KEPT and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            self._total -= self._sizes.pop(oldest)
            linecache.cache.pop(oldest, None)
            self._filename_map.pop(oldest, None)
        return name

    def compile_nodes(self, nodes, name, shown, flags=0):
        """Compile all statements before any of them runs. The values of the last `shown` go to the display hook."""
        saved, first_shown = self.flags, len(nodes) - shown
        try:
            return [self._compile(node, name, "exec" if n < first_shown else "single", flags) for n, node in enumerate(nodes)]
        except BaseException:
            self.flags = saved  # undo any `from __future__ import …`, since nothing runs
            raise

    def _compile(self, node, name, mode, flags):
        code = compile(ast.Interactive([node]) if mode == "single" else ast.Module([node], []), name, mode, self.flags | flags, True)
        if code.co_flags & _FUTURE:
            self.flags |= code.co_flags & _FUTURE  # __future__ imports apply to the following code, also in later cells
        return code


class History(HistoryManager):
    """In, _i and _i1 without a database, its lock and its thread."""

    _i = _ii = _iii = _i00 = ""  # these and the next are plain attributes instead of traits
    input_hist_parsed = input_hist_raw = output_hist = None

    def __init__(self, shell, **kwargs):
        self.input_hist_parsed, self.input_hist_raw, self.output_hist = [""], [""], {}
        self._shell = shell
        super().__init__(shell=shell, **kwargs)

    @observe("db")
    def _db_changed(self, change):
        pass  # IPython would load sqlite3 just to check a type

    def store_inputs(self, line_num, source, source_raw=None):
        raw = (source if source_raw is None else source_raw).rstrip("\n")
        if ("exit" in raw or "quit" in raw) and self._exit_re.match(raw.strip()):
            return
        self.input_hist_parsed.append(source.rstrip("\n"))
        self.input_hist_raw.append(raw)
        self._iii, self._ii, self._i, self._i00 = self._ii, self._i, self._i00, raw
        shell, own = self._shell, f"_i{line_num}"
        for names in (shell.user_ns, shell.user_ns_hidden):
            names["_i"], names["_ii"], names["_iii"], names[own] = self._i, self._ii, self._iii, raw


class Hook(DisplayHook):
    """sys.displayhook while a cell runs: keeps the last value for the kernel instead of printing it."""

    value = None  # a plain attribute: traitlets would compare values, which is slow for a large table
    exec_result = None
    number = 0

    def __init__(self, shell, **kwargs):
        self._shell = shell  # a plain attribute: `shell` is a trait, which is slower to read
        super().__init__(shell=shell, **kwargs)

    @property
    def prompt_count(self):
        return self.number

    def __call__(self, result=None):
        self.check_for_underscore()
        if result is None or self.quiet():
            return
        if self.value is not None:  # ast_node_interactivity = "all"
            self._shell.show(self.value)
        self.value = result
        self.fill_exec_result(result)

    def quiet(self):
        cells = self._shell.history_manager.input_hist_parsed
        return bool(cells) and ";" in cells[-1] and self.semicolon_at_end_of_expression(cells[-1])

    def take(self):
        value, self.value = self.value, None
        return value

    def update_user_ns(self, result):
        shell, names = self._shell, self._shell.user_ns
        outputs = names.setdefault("_oh", shell.history_manager.output_hist)  # missing after globals().clear()
        if result is outputs:
            return
        if len(outputs) >= OUTPUTS_KEPT:
            self.cull_cache()
        last, before, oldest = self._, self.__, self.___
        new = {f"_{self.number}": result}
        # A user's own `_`, as a variable or from gettext, is kept.
        if "_" not in builtins.__dict__ and (
            names.get("_", last) is last and names.get("__", before) is before and names.get("___", oldest) is oldest
        ):
            new.update(_=result, __=last, ___=before)
        self._, self.__, self.___ = result, last, before
        names.update(new)
        shell.user_ns_hidden.update(new)
        outputs[self.number] = result

    def cull_cache(self):
        outputs = self._shell.user_ns.get("_oh", {})
        while len(outputs) >= OUTPUTS_KEPT:
            number = min(outputs)
            self._shell.forget(f"_{number}")
            del outputs[number]


class Formatter(DisplayFormatter):
    """Adds to an object's own forms: a description of figures and tables, a picture or a summary of charts."""

    def format(self, obj, include=None, exclude=None):
        data, metadata = super().format(obj, include=include, exclude=exclude)
        if data and not include and not exclude:
            charts.complete(obj, data)
            if WIDGET in data:
                self.parent.kernel_widget(obj, data)
        return data, metadata


WIDGET = "application/vnd.jupyter.widget-view+json"


class Builtins(BuiltinTrap):
    """Adds get_ipython for all modules and removes Python's own exit. These changes stay between cells: while no name
    is added or removed, Python need not look up the builtins of every function again.
    """

    def __enter__(self):
        names = vars(builtins)
        if "exit" in names or "quit" in names or names.get("get_ipython") != self.auto_builtins["get_ipython"]:
            self.activate()
        return self

    def __exit__(self, *_exc):
        return False


class Displays:
    """IPython's DisplayTrap without traits. If several are nested, the outermost sets sys.displayhook. Lean.run() is
    another outermost one.
    """

    def __init__(self, hook):
        self.hook, self.old_hook = hook, None
        self.nested_level = 0

    def __enter__(self):
        if self.nested_level == 0:
            self.old_hook, sys.displayhook = sys.displayhook, self.hook
        self.nested_level += 1
        return self

    def __exit__(self, *_exc):
        self.nested_level -= 1
        if self.nested_level == 0:
            sys.displayhook = self.old_hook
        return False


class Publisher(DisplayPublisher):
    """display(): sends bundles over the link, in order with printed output."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_kwargs):
        self.shell.kernel_display(data, display_id=(transient or {}).get("display_id"), update=update)

    def clear_output(self, wait=False):
        self.shell.kernel_clear(bool(wait))


class Profile(ProfileDir):
    """Returns paths and creates nothing: a kernel must also start on a full disk."""

    @observe("location")
    def _location_changed(self, change):
        pass


class InlineBackend(Configurable):
    """Makes `%config InlineBackend.figure_format = "retina"`, which is common in notebooks, harmless."""

    figure_format = Any().tag(config=True)
    figure_formats = Any().tag(config=True)
    close_figures = Any().tag(config=True)
    print_figure_kwargs = Any().tag(config=True)
    rc = Any().tag(config=True)


class Exit(ExitAutocall):
    """exit and quit: same as sys.exit(), so that a cell ends there."""

    def __call__(self, code=None):
        raise SystemExit(code)


class Shell(InteractiveShell):
    compiler_class = Compiler
    # Plain attributes instead of traits, which check each value, notify nobody here and are slow to read.
    builtin_trap = display_formatter = display_trap = history_manager = magics_manager = prefilter_manager = None
    execution_count = 1
    last_execution_succeeded = True
    last_execution_result = _NO_RESULT

    def __init__(self, events, display, clear, widget, **kwargs):
        self._events = events
        self.kernel_display = display
        self.kernel_clear = clear
        self.kernel_widget = widget
        self.failure = None  # an exception that a magic caught and showed instead of passing it on
        self._format_errors = None
        self._formatters = self._printers = None
        self._is_text_first = False
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "NoColor"
        config.InteractiveShell.autocall = 0
        config.InteractiveShell.cache_size = OUTPUTS_KEPT
        # %store and %bookmark would write files; %cd writes its history.
        interactiveshell.PickleShareDB = lambda _path: {}
        interactiveshell._modified_open = stdin.opens_keyboard(interactiveshell._modified_open)
        super().__init__(config=config, displayhook_class=Hook, display_pub_class=Publisher, **kwargs)
        self.db = {}
        self.loop_runner = events.run
        self.set_hook("show_in_pager", _print_page, 99)
        self.register_magics(commands.Scripts)
        for name in ("pdb", "edit", "ed"):
            self.register_magic_function(_refuse(name), "line", name)
        self.register_magic_function(_tb, "line", "tb")
        self.register_magic_function(_debug, "line_cell", "debug")
        self.register_magic_function(self._pip, "line", "pip")
        self.configurables.append(InlineBackend(parent=self))
        self.lean = Lean(self)

    # Features that a kernel does not need.

    def init_ipython_dir(self, ipython_dir):
        self.ipython_dir = os.path.expanduser("~/.ipython")

    @observe("ipython_dir")
    def _ipython_dir_changed(self, change):
        pass  # IPython would create the folder

    def init_profile_dir(self, profile_dir):
        self.profile_dir = Profile(location=os.path.join(self.ipython_dir, "profile_default"))

    def init_history(self):
        self.history_manager = History(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def init_builtins(self):
        super().init_builtins()
        self.builtin_trap = Builtins(shell=self)

    def init_displayhook(self):
        super().init_displayhook()
        self.display_trap = Displays(self.displayhook)

    def init_display_formatter(self):
        self.display_formatter = Formatter(parent=self)
        self.configurables.append(self.display_formatter)

    def init_completer(self):
        self.Completer = None

    def init_virtualenv(self):
        pass

    def _format_exception_for_storage(self, *_args, **_kwargs):
        return {}  # IPython 9 would keep all exceptions, with their frames

    def debugger(self, force=False):
        if not stdin.is_open():
            stdin.no_debugger()
        super().debugger(force=force)

    def enable_gui(self, gui=None):
        if gui:
            raise UsageError(f"there is no screen here, so no {gui} windows. Matplotlib figures are shown as pictures.")

    def enable_matplotlib(self, gui=None):
        if gui not in (None, "auto", "inline", "agg"):
            print(f"There is no screen here for {gui}: figures are shown as pictures.", file=sys.stderr)
        return "inline", "inline"

    @default("exiter")
    def _exiter_default(self):
        return Exit(self)

    # Running code.

    def warm_up(self):
        """Runs an empty cell, so that the user's first cell need not load the code for it."""
        self.run_cell("None", silent=True)
        linecache.clearcache()  # so that the user's first cell is cell 1
        self.format(Ellipsis)

    def take_over(self, ran):
        """Record a cell that ran before IPython was loaded (early.py)."""
        number = self.execution_count
        self.history_manager.store_inputs(number, ran.source, ran.cell)
        self.compile.cache(ran.source, number, ran.cell)
        self.execution_count = number + 1
        self.displayhook.value, self.failure = ran.value, ran.error

    def start_cell(self):
        self.failure = None
        self.displayhook.value = None
        self.displayhook.number = self.execution_count

    def should_run_async(self, raw_cell, *, transformed_cell=None, preprocessing_exc_tuple=None):
        # IPython would compile the cell just for this check, and show every SyntaxWarning in it twice.
        if transformed_cell is None or not re.search(r"\b(await|async)\b", transformed_cell):
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().should_run_async(
                raw_cell, transformed_cell=transformed_cell, preprocessing_exc_tuple=preprocessing_exc_tuple
            )

    def run_plain(self, source, name):
        """Run the source of a cell that is plain Python."""
        try:
            nodes = self.compile.ast_parse(source, filename=name).body
            codes = self.compile.compile_nodes(nodes, name, bool(nodes) and isinstance(nodes[-1], ast.Expr))
        except (OverflowError, SyntaxError, ValueError, TypeError, MemoryError) as error:
            return self._fail(error)
        del nodes
        try:
            held = interrupts.held
            for code in codes:
                interrupts.held = 0  # only the user's code can be interrupted
                interrupts.raise_pending()
                exec(code, self.user_global_ns, self.user_ns)
                interrupts.held = held
        except BaseException as error:
            interrupts.held = held
            self._fail(error)

    def run_expression(self, source, name):
        """Run a cell that is a single expression, compiled without a tree. Return False if it must be parsed."""
        try:
            code = compile(source, name, "eval", self.compile.flags, True)
        except Exception:
            return False
        hook, held = self.displayhook, interrupts.held
        try:
            interrupts.held = 0
            if interrupts.pending:
                interrupts.raise_pending()
            value = eval(code, self.user_module.__dict__, self.user_ns)
            if sys.displayhook is hook and hook.value is None and "_" not in _BUILTINS:
                hook.value = value
            else:
                sys.displayhook(value)
            interrupts.held = held
        except BaseException as error:
            interrupts.held = held
            self._fail(error)
        return True

    async def run_ast_nodes(self, nodelist, cell_name, interactivity="last_expr", compiler=compile, result=None):
        if not isinstance(compiler, Compiler):
            return await super().run_ast_nodes(nodelist, cell_name, interactivity, compiler, result)
        if interactivity == "last_expr_or_assign":
            nodelist = _with_last_target(nodelist)
        shown = {"none": 0, "last": 1, "all": len(nodelist)}.get(interactivity, bool(nodelist) and isinstance(nodelist[-1], ast.Expr))
        try:
            codes = compiler.compile_nodes(nodelist, cell_name, shown, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if self.autoawait else 0)
        except Exception as error:
            if result is not None:
                result.error_before_exec = error
            self._fail(error)
            return True
        for code in codes:
            if await self.run_code(code, result, async_=bool(code.co_flags & inspect.CO_COROUTINE)):
                return True
        return False

    async def run_code(self, code_obj, result=None, *, async_=False):
        try:
            held, interrupts.held = interrupts.held, 0  # only the user's code can be interrupted
            interrupts.raise_pending()
            if async_:
                await eval(code_obj, self.user_global_ns, self.user_ns)
            else:
                exec(code_obj, self.user_global_ns, self.user_ns)
            interrupts.held = held
            return False
        except BaseException as error:
            interrupts.held = held
            if self._events.interrupted and self._events.is_cancellation(error):
                error = KeyboardInterrupt().with_traceback(error.__traceback__)
            self._failed(error, result)
            return True

    def _failed(self, error, result):
        if result is not None:
            result.error_in_exec = error
        self._fail(error)

    def _fail(self, error):
        if self.failure is not None and self.failure is not error:
            errors.print_plain(self.failure)
        self.failure = error

    def finish_cell(self):
        """Drop data that would otherwise accumulate over many cells."""
        self.failure = None
        self.last_execution_result = _NO_RESULT  # only magics such as %xdel read the real one, to free a value
        old = self.displayhook.number - INPUTS_KEPT
        if old > 0:
            history = self.history_manager
            self.forget(f"_i{old}")
            for inputs in (history.input_hist_parsed, history.input_hist_raw):
                if old < len(inputs):
                    inputs[old] = ""

    def forget(self, name):
        self.user_ns.pop(name, None)
        self.user_ns_hidden.pop(name, None)

    # Errors. The kernel reports the error that ends the cell; other errors go to stderr.

    def showtraceback(self, exc_tuple=None, *_args, **_kwargs):
        error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        caller = sys._getframe(1).f_globals["__name__"]
        if error is None:
            _tb()
        elif caller == "IPython.core.formatters" and self._format_errors is not None:
            self._format_errors.append(error)
        elif caller.startswith("IPython.core.") and caller != "IPython.core.formatters":
            self._fail(error)  # %time and %run catch exceptions of the user's code
        else:
            errors.print_plain(error)

    def showsyntaxerror(self, filename=None, running_compiled_code=False):
        self._fail(sys.exc_info()[1])

    def showindentationerror(self):
        self.showsyntaxerror()

    # Values.

    def format(self, value):
        """Return the MIME bundle of a value. A failing repr is an error; a failing rich form is not."""
        self._format_errors = []
        try:
            data = self._format_plain(value)
            if data is None:
                data, _metadata = self.display_formatter.format(value)
            failed = self._format_errors
        finally:
            self._format_errors = None
        if failed and "text/plain" not in data:
            raise failed[0]
        for error in failed:
            errors.print_plain(error)
        return data

    def plain_text(self, value):
        """Return the text of a value if it is its repr() in ASCII, without any code of the user; None otherwise."""
        kind = type(value)
        if kind not in _PRINTED_BY_REPR:
            return None
        printers = self._text_printers(kind)
        if printers is None or printers.get(kind) is not pretty._repr_pprint:
            return None
        try:
            text = repr(value)
        except ValueError:  # a number with too many digits
            return None
        return text if len(text) <= TEXT_MAX and text.isascii() else None

    def _format_plain(self, value):
        """Skips eleven formatters that do nothing for plain values and take half the time of a small cell."""
        kind = type(value)
        printers = self._text_printers(kind) if kind in PLAIN_TYPES else None
        if printers is None:
            return None
        if kind in _PRINTED_BY_REPR and printers.get(kind) is pretty._repr_pprint:
            return {"text/plain": repr(value)}
        text = self._formatters[0](value)
        return {"text/plain": text} if text is not None else {}

    def _text_printers(self, kind):
        """Return the functions that print values as text, by type; None if this type has other forms too."""
        formatters = list(self.display_formatter._trait_values["formatters"].values())
        if formatters != self._formatters:
            self._formatters, self._printers = formatters, [formatter.type_printers for formatter in formatters]
            self._is_text_first = formatters[0].format_type == "text/plain"
        if not self._is_text_first:
            return None
        plain, *rich = self._printers
        for printers in rich:
            if kind in printers:
                return None
        return plain

    def show(self, value):
        data = self.format(value)
        if data:
            self.kernel_display(data)

    # Commands.

    def system(self, cmd):
        self.user_ns["_exit_code"], _ = commands.shell(self.var_expand(cmd, depth=1))

    system_raw = system_piped = system

    def _pip(self, line):
        """%pip. IPython's own version ends with advice to restart the kernel, which users cannot do here."""
        self.system(f"{shlex.quote(sys.executable)} -m pip {line}")

    def getoutput(self, cmd, split=True, depth=0):
        if cmd.rstrip().endswith("&"):
            raise OSError("a background command has no output to wait for: use !command & without an assignment")
        command = self.var_expand(cmd, depth=depth + 1)
        _, output = commands.shell(command, stdout=commands.PIPE, stderr=commands.STDOUT)
        text = output.decode("utf-8", "backslashreplace")
        return SList(text.splitlines()) if split else LSString(text)


def _with_last_target(nodes):
    """For ast_node_interactivity = "last_expr_or_assign": if the last statement assigns a variable, append a statement
    that shows the variable.
    """
    last = nodes[-1] if nodes else None
    targets = last.targets if isinstance(last, ast.Assign) else [getattr(last, "target", None)]
    if isinstance(last, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and len(targets) == 1 and isinstance(targets[0], ast.Name):
        nodes = [*nodes, ast.fix_missing_locations(ast.Expr(ast.Name(targets[0].id, ast.Load())))]
    return nodes


def _print_page(_shell, data, start=0, screen_lines=0):
    text = data.get("text/plain", "") if isinstance(data, dict) else data
    print(_ANSI.sub("", text))


def _tb(_line=""):
    """%tb: the last traceback with all its frames."""
    error = errors.last()
    if error is None:
        print("No traceback available to show.", file=sys.stderr)
    else:
        print(errors.plain_traceback(error, full=True))


def _debug(line="", cell=None):
    """%debug after an error: starts the debugger in an interactive cell; otherwise prints the traceback."""
    if stdin.is_open() and not line and not cell:
        Shell.instance().debugger(force=True)
        return
    if line or cell or errors.last() is None:
        raise UsageError(_NO_KEYBOARD.format("debug"))
    _tb()
    print("Nobody can type here: the frames and their variables are in sys.last_exc.__traceback__.")


def _refuse(name):
    def magic(line="", cell=None):
        raise UsageError(_NO_KEYBOARD.format(name))

    return magic
