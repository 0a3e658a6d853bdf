"""What the kernel does about other people's modules: not load them too early, adapt them when they are loaded."""

import importlib
import sys
from types import ModuleType


class Deferred:
    """IPython loads these while it starts, though a kernel without a terminal needs them late or never.

    For as long as IPython is being imported, functions that load the real module at their first call stand in for
    them. Afterwards the stand-ins are gone and `import jedi` or `import prompt_toolkit` find the real thing.
    """

    FUNCTIONS = (
        ("IPython.terminal.embed", ["embed"]),  # prompt_toolkit: two thirds of IPython's import time
        ("logging.config", ["dictConfig"]),
        ("urllib.parse", ["urlencode"]),
        ("urllib.request", ["Request", "urlopen"]),
        ("pygments", ["highlight"]),  # colours, which nobody sees here
        ("pygments.formatters", ["HtmlFormatter"]),
        ("pygments.formatters.terminal256", ["Terminal256Formatter"]),
        ("pygments.lexers", ["PythonLexer"]),
        ("pygments.styles", ["get_style_by_name"]),
    )
    ABSENT = ("jedi", "readline")  # IPython copes without completion, and there is no terminal
    # Only used as name.something, when there is something to do: asyncio alone loads ssl and forty more.
    # shutil only looks whether bz2 and lzma are there.
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
            return getattr(importlib.import_module(name), _function)(*args, **kwargs)

        setattr(module, function, late)
    return module


class _LazyModule(ModuleType):
    def __getattr__(self, attribute):
        if attribute.startswith("__"):  # the import machinery looking around
            raise AttributeError(attribute)
        if sys.modules.get(self.__name__) is self:  # used after all while IPython is being imported
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), attribute)


class ImportHooks(dict):
    """Module name -> function to call with the module, once, right after its first import. First to hear of each import."""

    stale = False  # what is known of the folders on the path may be old

    def install(self):
        for name in [name for name in self if name in sys.modules]:
            self._adapt(name, sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if ImportHooks.stale:
            _forget_folders()
        if name not in self:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not self else None
            if spec is not None:
                break
        else:
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
            pass  # a module that has changed its ways still works, if less well


def forget_folders():
    """Modules that a cell or a terminal command has just written or installed are found: the next import looks anew."""
    ImportHooks.stale = True


def _forget_folders():
    """importlib.invalidate_caches() does the same after loading 15 ms worth of importlib.metadata."""
    ImportHooks.stale = False
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            sys.path_importer_cache.pop(path, None)
        elif hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


def add_user_site(path):
    """Puts the folder of `pip install --user` on the path even if nothing is in it yet."""
    import site

    folder = site.getusersitepackages()
    if site.ENABLE_USER_SITE is not False and folder not in path:
        system = [i for i, entry in enumerate(path) if entry.endswith(("site-packages", "dist-packages"))]
        path.insert(system[0] if system else len(path), folder)
    return path
