"""Cells that run before IPython is loaded, which takes longer than everything else at the start of a kernel.

Such a cell consists of plain statements that use builtins and the session's own variables. It imports nothing, so it
does not depend on the changes that IPython makes to Python: `get_ipython`, `open`, hooks for modules, the import path.
Every other cell waits for IPython, and so do errors and values whose text is not simply their repr().
Shell.take_over() later records the cells that ran early in IPython's history.
"""

import _ast as ast  # without the classes of ast.py, which take a while to load
import builtins
import gc
import re
import sys
import warnings
from types import ModuleType

from .interrupts import interrupts

SOURCE_MAX = 4000  # characters; checking a longer cell takes longer than loading IPython
PRINTED_BY_REPR = {int, float, bool, str, bytes}
TEXT_MAX = 10_000

# Matches everything that IPython's transformers might change, and more. Other text means the same to them as to Python.
SPECIAL = re.compile(
    r"""\A\s                                          # empty lines and indentation, which IPython removes
      | ^[ \t]*(?:[%!?,;/>]|\.\.\.|In[ ]\[|\[(?:nav|ins)\])   # magics, commands, help, prompts
      | =[ \t]*(?:\\\n[ \t]*)?[%!]                     # x = !cmd
      | \?[ \t]*(?:$|\#)                              # x?
      | \b(?:await|async)\b
      | run_line_magic\(
      | [\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]         # line ends of str.splitlines() that Python's parser does not know
    """,
    re.VERBOSE | re.MULTILINE,
)
PARSER_FLAGS = 0x200  # codeop.PyCF_DONT_IMPLY_DEDENT

_KIND_NAMES = (
    "Add And AugAssign Assign Assert Attribute BinOp BitAnd BitOr BitXor BoolOp Break Call Compare Constant Continue Del Delete Dict "
    "DictComp Div Eq ExceptHandler Expr FloorDiv For FormattedValue FunctionDef GeneratorExp Gt GtE If IfExp In Invert Is IsNot "
    "JoinedStr LShift Lambda List ListComp Load Lt LtE Mod Module Mult Name Not NotEq NotIn Or Pass Pow RShift Raise Return Set "
    "SetComp Slice Starred Store Sub Subscript Try Tuple UAdd USub UnaryOp While arg arguments comprehension keyword"
)
_BUILTIN_NAMES = (
    "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset hash hex int "
    "isinstance issubclass iter len list map max min next object oct ord pow print range repr reversed round set slice sorted str sum "
    "tuple type zip ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NameError OverflowError "
    "RuntimeError StopIteration TypeError ValueError ZeroDivisionError"
)
_KINDS = frozenset(getattr(ast, name) for name in _KIND_NAMES.split())
_BUILTINS = frozenset(_BUILTIN_NAMES.split())
_NAMES = ("id", "attr", "arg", "name")  # the fields of a node that hold a name
_TAKEN = frozenset(["In", "Out", "exit", "quit", "get_ipython", "open"])  # IPython assigns these when it is loaded


class Ran:
    """A cell that has run."""

    def __init__(self, cell, source):
        self.cell, self.source = cell, source
        self.value = self.error = None

    @property
    def bundle(self):
        """The result of the cell, {} if it has none; None if only IPython can produce the result."""
        if self.error is not None:
            return None
        if self.value is None:
            return {}
        try:
            text = repr(self.value) if type(self.value) in PRINTED_BY_REPR else ""
        except ValueError:  # a number with too many digits
            return None
        return {"text/plain": text} if 0 < len(text) <= TEXT_MAX and text.isascii() else None


class Early:
    def __init__(self):
        self.module = ModuleType("__main__", "Automatically created module for IPython interactive environment")
        self.names = vars(self.module)
        self.names["__builtin__"] = self.names["__builtins__"] = builtins
        self.cells = []  # cells that have run to their end

    def run(self, cell):
        """Run a cell and return a Ran, or None if the cell needs IPython and did not run. The caller holds interrupts
        back.
        """
        source = cell if cell.endswith("\n") else cell + "\n"
        codes = self._compile(source, f"<cell {len(self.cells) + 1}>")
        if codes is None:
            return None
        ran = Ran(cell, source)
        self.names.pop("__warningregistry__", None)  # warnings are shown again in each cell

        def keep(value):
            ran.value = value

        hook, sys.displayhook = sys.displayhook, keep
        held = interrupts.held
        gc.enable()
        try:
            for code in codes:
                interrupts.held = 0  # only the user's code can be interrupted
                interrupts.raise_pending()
                exec(code, self.names)
                interrupts.held = held
        except BaseException as error:
            interrupts.held = held
            ran.error = error
        gc.disable()  # off again while IPython is being loaded
        sys.displayhook = hook
        return ran

    def _compile(self, source, name):
        """Return the code of each statement; None if the cell may need IPython."""
        if len(source) > SOURCE_MAX or not source.isascii() or ";" in source or SPECIAL.search(source):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # IPython compiles the cell again and shows its warnings
            try:
                nodes = compile(source, name, "exec", PARSER_FLAGS | ast.PyCF_ONLY_AST, True).body
                if not self._are_known(nodes):
                    return None
                return [_compile_statement(node, name, node is nodes[-1]) for node in nodes]
            except Exception:
                return None

    def _are_known(self, nodes):
        used, bound, todo = set(), set(), list(nodes)
        while todo:
            node = todo.pop()
            if type(node) not in _KINDS:
                return False
            for field in node._fields:
                value = getattr(node, field)
                if type(value) is list:
                    todo += [item for item in value if item is not None]
                elif isinstance(value, ast.AST):
                    todo.append(value)
                elif field in _NAMES and value is not None:
                    if value.startswith("_"):
                        return False
                    if field == "id" and type(node.ctx) is ast.Load:
                        used.add(value)
                    elif field in ("id", "name") or type(node) is ast.arg:
                        bound.add(value)
        return bound.isdisjoint(_TAKEN) and all(name in _BUILTINS or name in bound or name in self.names for name in used)


def _compile_statement(node, name, is_last):
    if is_last and type(node) is ast.Expr:
        return compile(ast.Interactive([node]), name, "single", PARSER_FLAGS, True)
    return compile(ast.Module([node], []), name, "exec", PARSER_FLAGS, True)
