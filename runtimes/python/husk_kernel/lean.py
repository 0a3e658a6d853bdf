"""The fast path for a cell: does the same as IPython's run_cell for plain Python when no hooks are registered.

IPython tokenizes every cell twice to find magics, and keeps records that only its terminal reads. That takes half a
millisecond per cell. Any cell that might behave differently here takes the slow path.
"""

import re

from IPython.core.autocall import IPyAutocall
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell
from IPython.core.macro import Macro

from .early import SPECIAL

_FIRST_WORD = re.compile(r"[\w.*]*")
# Methods that a cell may have replaced on the shell object.
_METHODS = frozenset({"run_cell", "_run_cell", "run_cell_async", "run_ast_nodes", "run_code", "transform_cell", "transform_ast",
                      "showsyntaxerror", "should_run_async"})
_RUN_CELL = InteractiveShell.run_cell


class Lean:
    def __init__(self, shell):
        self._shell = shell
        self._callbacks = shell.events.callbacks
        self._before = list(self._callbacks["pre_execute"])  # IPython's own, which reset warnings for each cell
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
        if cell.find("\n") not in (-1, len(cell) - 1):
            return True
        # Single lines such as `ls -l` and `exit` are valid Python but mean something else to IPython.
        word = _FIRST_WORD.match(cell).group()
        return not (word in self._magics["line"] or word in self._magics["cell"] or isinstance(self._shell.user_ns.get(word), (IPyAutocall, Macro)))

    def run(self, cell):
        """Run a cell and record it as run_cell(cell, store_history=True) does. Return False, having done nothing, if
        the cell needs the slow path.
        """
        if not self._untouched or not self._is_plain(cell):
            return False
        for callback in self._before:
            callback()
        shell, number = self._shell, self._shell.execution_count
        source = cell if cell.endswith("\n") else cell + "\n"
        shell.history_manager.store_inputs(number, source, cell)
        with shell.builtin_trap, shell.display_trap:
            name = shell.compile.cache(source, number, cell)
            try:
                shell.run_plain(source, name)
            finally:
                shell.execution_count = number + 1
        if self._is_awaited():  # callbacks that the cell itself has registered
            self._tell(cell)
        return True

    def _tell(self, cell):
        result = ExecutionResult(ExecutionInfo(cell, True, False, True, None))
        result.execution_count = self._shell.execution_count - 1
        result.error_in_exec = self._shell.failure
        result.result = self._shell.displayhook.value
        self._shell.events.trigger("post_execute")
        self._shell.events.trigger("post_run_cell", result)
