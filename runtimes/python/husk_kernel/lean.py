"""The fast path for a cell: does the same as IPython's run_cell for plain Python when no hooks are registered.

IPython tokenizes every cell twice to find magics, and keeps records that only its terminal reads. That takes half a
millisecond per cell. Any cell that might behave differently here takes the slow path.
"""

import keyword
import re
import sys

from IPython.core.autocall import IPyAutocall
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell
from IPython.core.macro import Macro

from .early import SPECIAL

_FIRST_WORD = re.compile(r"[\w.*]*")
# Methods that a cell may have replaced on the shell object.
_METHODS = frozenset({"run_cell", "_run_cell", "run_cell_async", "run_ast_nodes", "run_code", "transform_cell", "transform_ast",
                      "showsyntaxerror", "should_run_async"})
_RUN_CELL = InteractiveShell.run_cell


# A line of ASCII that `eval` accepts unchanged, and that IPython does not change either: nothing in it makes it a
# statement, matches SPECIAL or causes a warning of the parser. The group is its first word.
EXPRESSION_MAX = 200  # characters
_STATEMENTS = "|".join(set(keyword.kwlist) - {"None", "True", "False", "not"})
_EXPRESSION = re.compile(
    rf"(?!(?:{_STATEMENTS})\b|[\s%!,/>]|\.\.\.|In \[|\[(?:nav|ins)\])(?=([\w.*]*))"
    r"(?:[^\n=:;?\\\d\r\x0b\x0c\x1c-\x1e]|\d+(?!\w))+\n?\Z"
)


class Lean:
    """Caches have become cold when a cell arrives after a pause, and each function that it needs then takes
    microseconds. So run() and what it calls do much in few functions.
    """

    def __init__(self, shell):
        self._shell = shell
        self._callbacks = shell.events.callbacks
        self._before = list(self._callbacks["pre_execute"])  # IPython's own, which reset warnings for each cell
        self._names_only = self._before == [shell._clear_warning_registry]
        manager = shell.input_transformer_manager
        self._cleanups, self._lines = list(manager.cleanup_transforms), list(manager.line_transforms)
        self._tokens = list(manager.token_transformers)
        self._checkers = list(shell.prefilter_manager.checkers)
        for name in ("ast_transformers", "input_transformers_post", "ast_node_interactivity", "autocall"):
            getattr(shell, name)  # makes the trait store its default value
        self._magics = shell.magics_manager.magics
        self._untouched = False  # what look() has found
        self._traits = shell._trait_values  # the stored values; reading them here skips the traits' checks

    def look(self):
        """Called before each run(), and after all of the user's code that runs before it."""
        self._shell.builtin_trap.__enter__()
        self._untouched = self._is_untouched()

    def _is_untouched(self):
        """True if nothing is registered that takes part in running a cell."""
        shell, traits, callbacks = self._shell, self._traits, self._callbacks
        manager, prefilter = traits["input_transformer_manager"], shell.prefilter_manager
        return (
            callbacks["pre_execute"] == self._before
            and not (callbacks["pre_run_cell"] or self._is_awaited())
            and not (traits["ast_transformers"] or traits["input_transformers_post"] or prefilter.transformers)
            and manager.cleanup_transforms == self._cleanups
            and manager.line_transforms == self._lines
            and manager.token_transformers == self._tokens
            and prefilter.checkers == self._checkers
            and traits["ast_node_interactivity"] == "last_expr"
            and not (traits["autocall"] or shell.trio_runner or shell.logger.log_active or shell.custom_exceptions)
            and _METHODS.isdisjoint(vars(shell))
            and type(shell).run_cell is _RUN_CELL
        )

    def _is_awaited(self):
        """True if a callback for the end of a cell is registered."""
        return self._callbacks["post_run_cell"] or self._callbacks["post_execute"]

    def _is_plain(self, cell):
        """True if the text means the same to Python and to IPython."""
        if not cell or SPECIAL.search(cell):
            return False
        return cell.find("\n") not in (-1, len(cell) - 1) or not self._is_command(_FIRST_WORD.match(cell).group())

    def _is_command(self, word):
        """Single lines such as `ls -l` and `exit` are valid Python but mean something else to IPython."""
        value = self._shell.user_ns.get(word)
        return word in self._magics["line"] or word in self._magics["cell"] or isinstance(value, (IPyAutocall, Macro))

    def run(self, cell):
        """Run a cell and record it as run_cell(cell, store_history=True) does. Return False, having done nothing, if
        the cell needs the slow path.
        """
        expression = None
        if len(cell) <= EXPRESSION_MAX and cell.isascii() and not ("await" in cell or "async" in cell or "run_line_magic" in cell):
            expression = _EXPRESSION.match(cell)
        if not self._untouched or (self._is_command(expression[1]) if expression else not self._is_plain(cell)):
            return False
        shell = self._shell
        if self._names_only:
            shell.user_ns.pop("__warningregistry__", None)
        else:
            for callback in self._before:
                callback()
        number, source = shell.execution_count, cell if cell.endswith("\n") else cell + "\n"
        shell.history_manager.store_inputs(number, source, cell)
        name = shell.compile.cache(source, number, cell)
        trap, outer = shell.display_trap, sys.displayhook  # a cell that this cell runs finds the hook in place
        trap.nested_level += 1
        sys.displayhook = shell.displayhook
        try:
            if not (expression and shell.run_expression(source, name)):
                shell.run_plain(source, name)
        finally:
            sys.displayhook = outer
            trap.nested_level -= 1
            shell.execution_count = number + 1
        if self._callbacks["post_run_cell"] or self._callbacks["post_execute"]:  # registered by the cell itself
            self._tell(cell)
        return True

    def _tell(self, cell):
        result = ExecutionResult(ExecutionInfo(cell, True, False, True, None))
        result.execution_count = self._shell.execution_count - 1
        result.error_in_exec = self._shell.failure
        result.result = self._shell.displayhook.value
        self._shell.events.trigger("post_execute")
        self._shell.events.trigger("post_run_cell", result)
