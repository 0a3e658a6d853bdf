"""Delays the loading of other people's modules, and adapts them to the kernel once they are loaded."""

import importlib
import os
import subprocess
import sys
import threading
from importlib.machinery import PathFinder
from types import ModuleType


class _OwnModules(threading.local):
    """`with own_modules`: this thread imports modules from the image only, whatever the session has put on the import
    path or into the folders on it.
    """

    _path = tuple(sys.path)  # as kernel.py leaves it
    _depth = 0

    def __enter__(self):
        self._depth += 1

    def __exit__(self, *_exc):
        self._depth -= 1

    @property
    def are_wanted(self):
        return self._depth > 0

    def find_spec(self, name, path):
        return PathFinder.find_spec(name, self._path) if self.are_wanted and path is None else None


own_modules = _OwnModules()


def _own(name, attribute):
    with own_modules:
        return getattr(importlib.import_module(name), attribute)


class Deferred:
    """Modules that IPython loads while it starts, though a kernel without a terminal needs them late or never.

    While IPython is being imported, they are replaced by functions that load the real module at their first call.
    Afterwards the replacements are removed, so that `import jedi` or `import prompt_toolkit` finds the real module.
    """

    FUNCTIONS = (
        ("IPython.terminal.embed", ["embed"]),  # prompt_toolkit: two thirds of IPython's import time
        ("logging.config", ["dictConfig"]),
        ("urllib.parse", ["urlencode"]),
        ("urllib.request", ["Request", "urlopen"]),
        ("pygments", ["highlight"]),  # for colours, which are not shown here
        ("pygments.formatters", ["HtmlFormatter"]),
        ("pygments.formatters.terminal256", ["Terminal256Formatter"]),
        ("pygments.lexers", ["PythonLexer"]),
        ("pygments.styles", ["get_style_by_name"]),
    )
    ABSENT = ("jedi", "readline")  # IPython works without jedi's completion, and there is no terminal
    # IPython uses these modules only as `name.something`, and only when it needs them. asyncio alone loads ssl and
    # forty other modules. shutil only checks whether bz2 and lzma exist.
    LAZY = ("stack_data", "asyncio", "asyncio.exceptions", "bz2", "cProfile", "hashlib", "html", "lzma", "mimetypes", "pstats",
            "pydoc", "sqlite3")

    def __enter__(self):
        for name, functions in self.FUNCTIONS:
            self._put(name, _stand_in(name, functions))
        for name in self.ABSENT:
            self._put(name, None)
        for name in self.LAZY:
            self._put(name, _LazyModule(name))

    @staticmethod
    def _put(name, module):
        sys.modules.setdefault(name, module)

    def __exit__(self, *_exc):
        for name in [*dict(self.FUNCTIONS), *self.ABSENT, *self.LAZY]:
            if isinstance(sys.modules.get(name), (_StandIn, _LazyModule, type(None))):
                sys.modules.pop(name, None)


class _StandIn(ModuleType):
    pass


def _stand_in(name, functions):
    module = _StandIn(name)
    for function in functions:

        def late(*args, _function=function, **kwargs):
            return _own(name, _function)(*args, **kwargs)

        setattr(module, function, late)
    return module


class _LazyModule(ModuleType):
    def __getattr__(self, attribute):
        if attribute.startswith("__"):  # asked by the import machinery
            raise AttributeError(attribute)
        if sys.modules.get(self.__name__) is self:  # IPython does use it while it is being imported
            del sys.modules[self.__name__]
        return _own(self.__name__, attribute)


class ImportHooks(dict):
    """Module name -> function to call with the module, once, right after its first import. This is the first finder
    that every import asks.
    """

    stale = False  # True if cached listings of the folders on the path may be outdated

    def install(self):
        for name in [name for name in self if name in sys.modules]:
            self._adapt(name, sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if ImportHooks.stale:
            _forget_folders()
        spec = own_modules.find_spec(name, path)
        if name not in self:
            return spec
        for finder in sys.meta_path if spec is None else ():
            spec = finder.find_spec(name, path, target) if finder is not self else None
            if spec is not None:
                break
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self._adapt(name, module)

        spec.loader.exec_module = exec_module
        return spec

    def _adapt(self, name, module):
        hook = self.pop(name, None)
        try:
            if hook is not None:
                hook(module)
        except Exception:
            pass  # another version of the module still works, if less well


def forget_folders():
    """Makes sure that modules just written or installed by a cell or a terminal command are found: the next import
    reads the folders again.
    """
    ImportHooks.stale = True


def _forget_folders():
    """Does the same as importlib.invalidate_caches(), which would load importlib.metadata and take 15 ms."""
    ImportHooks.stale = False
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            sys.path_importer_cache.pop(path, None)
        elif hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


PTH_BYTES_MAX = 64 << 10
PTH_FILES_MAX = 1000
LATE = "HUSK_LATE_"


def late_environment():
    """Restores variables that must not be set when the interpreter starts. PID 1 has prefixed their names."""
    for name in [name for name in os.environ if name.startswith(LATE)]:
        os.environ[name.removeprefix(LATE)] = os.environ.pop(name)
    sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX") or sys.pycache_prefix


class UserSite:
    """The user's site-packages, which Python was started without. `path` is the import path of cells. An import asks
    this finder last.

    Lines of .pth files that name folders apply from the start. Lines that are code (editable installs) run only
    when a cell imports a module that is not found without them, so a new interpreter has run no code of the session.
    """

    def __init__(self, path):
        import site

        self._site = site
        self._done = set()  # .pth files whose code has run
        self._busy = False
        self._folder = None
        given = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        self.path = [*dict.fromkeys([*given, *path])]
        # A virtual environment or the variable disables the user's site-packages.
        if sys.prefix == sys.base_prefix and not os.environ.get("PYTHONNOUSERSITE"):
            self._folder = site.getusersitepackages()
            site.ENABLE_USER_SITE = True
            system = [i for i, entry in enumerate(self.path) if entry.endswith(("site-packages", "dist-packages"))]
            at = system[0] if system else len(self.path)
            self.path[at:at] = [entry for entry in (self._folder, *self._folders()) if entry not in self.path]
        # Child processes of multiprocessing may use the user's site-packages, so they must not inherit -s.
        flags = subprocess._args_from_interpreter_flags
        subprocess._args_from_interpreter_flags = lambda: [flag for flag in flags() if flag != "-s"]

    def _files(self):
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".pth") and not name.startswith("."))
        except OSError:
            return []
        return [os.path.join(self._folder, name) for name in names[:PTH_FILES_MAX]]

    @staticmethod
    def _lines(file):
        try:
            with open(file, "rb") as opened:
                return opened.read(PTH_BYTES_MAX).decode("utf-8-sig", "replace").splitlines()
        except OSError:
            return []

    def _folders(self):
        found = []
        for line in [line for file in self._files() for line in self._lines(file)]:
            folder = os.path.join(self._folder, line.rstrip())
            if line.strip() and not line.startswith(("#", "import ", "import\t")) and "\0" not in line and os.path.isdir(folder):
                found.append(os.path.abspath(folder))
        return [*dict.fromkeys(found)]

    def find_spec(self, name, path=None, target=None):
        if path is not None or self._busy or self._folder is None or own_modules.are_wanted:
            return None
        new = [file for file in self._files() if file not in self._done]
        if not new:
            return None
        self._busy = True
        try:
            self._done.update(new)
            for file in new:
                self._site.addpackage(self._folder, os.path.basename(file), None)
            found = (finder.find_spec(name, path, target) for finder in list(sys.meta_path) if finder is not self)
            return next((spec for spec in found if spec is not None), None)
        finally:
            self._busy = False
