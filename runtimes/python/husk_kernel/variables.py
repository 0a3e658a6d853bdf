"""Lists the variables of a session: name, type, shape or length, bytes; largest first, with limits on time and number.

Nothing here runs user code. Attributes and methods are only used if an object's type is exactly one of the types
below, whose attributes and methods have no side effects. For any other value only the type is listed.
"""

import itertools
import sys
import time
from types import BuiltinFunctionType, FunctionType, ModuleType

from .text import valid_text

NAME_MAX = 100
SAMPLE = 20  # elements of a container that are measured

_SCALARS = (int, float, str, bool, bytes, complex, type(None))
_CONTAINERS = (list, dict, tuple, set, frozenset)
_SIZED = (str, bytes, bytearray, range, *_CONTAINERS)
_CODE = (FunctionType, BuiltinFunctionType, type)
_type_name = type.__dict__["__name__"].__get__  # a metaclass may redefine it
_type_module = type.__dict__["__module__"].__get__


def listing(names, hidden=(), seconds=0.1, count=100):
    """{"variables": [{"name", "type", "shape" or "length", "bytes"}, …], "more": number of those left out}. `names` is
    a namespace, `hidden` are names in it that the user did not define.
    """
    deadline = time.monotonic() + seconds
    found, more = [], 0
    for name, value in list(names.items()):
        if not _is_users(name, value, hidden):
            continue
        if time.monotonic() > deadline:
            more += 1
            continue
        found.append(_described(name, value))
    found.sort(key=lambda entry: (-entry.get("bytes", -1), entry["name"]))
    more += max(0, len(found) - count)
    return {"variables": found[:count], "more": more} if more else {"variables": found[:count]}


def told(names, hidden=()):
    """Return the listing in the link's format, in which a shape is text."""
    try:
        found = listing(names, hidden)
    except Exception:  # a thread may change the names meanwhile; the kernel must survive that
        found = {"variables": []}
    for entry in found["variables"]:
        if "shape" in entry:
            entry["shape"] = " x ".join(map(str, entry["shape"]))
        elif "length" in entry:
            entry["shape"] = str(entry.pop("length"))
        entry["name"], entry["type"] = valid_text(entry["name"]), valid_text(entry["type"])
    return found


def _is_one_of(kind, kinds):
    return any(kind is one for one in kinds)  # `in` would call a metaclass's __eq__


def _is_users(name, value, hidden):
    if type(name) is not str or name.startswith("_") or type(value) is ModuleType:
        return False
    return name not in hidden or hidden[name] is not value


def _described(name, value):
    kind = type(value)
    entry = {"name": name[:NAME_MAX], "type": _name_of(kind)}
    if _is_one_of(kind, _SIZED):
        entry["length"] = len(value)
    try:
        if _is_one_of(kind, _SCALARS) or _is_one_of(kind, _SIZED):
            entry["bytes"] = _weight(value, kind)
        elif not _is_one_of(kind, _CODE):
            entry |= _measured(value, kind)
    except Exception:  # another version of a library, or a container that a thread is changing
        pass
    return entry


def _name_of(kind):
    name, module = _type_name(kind), _type_module(kind)
    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    return f"{module.partition('.')[0]}.{name}"


def _weight(value, kind):
    """Return the size in bytes of a built-in value; for a container, extrapolated from its first elements."""
    size = sys.getsizeof(value)
    if not _is_one_of(kind, _CONTAINERS) or not value:
        return size
    elements = itertools.chain.from_iterable(itertools.islice(value.items(), SAMPLE)) if kind is dict else itertools.islice(value, SAMPLE)
    sizes = [sys.getsizeof(element) if _is_one_of(type(element), _SCALARS) else 0 for element in elements]
    return size + sum(sizes) * len(value) // min(len(value), SAMPLE)


def _array(value):
    return {"shape": list(value.shape), "dtype": str(value.dtype), "bytes": value.nbytes}


def _frame(value):
    return {"shape": list(value.shape), "bytes": sum(getattr(block.values, "nbytes", 0) for block in value._mgr.blocks)}


def _polars(value):
    return {"shape": list(value.shape), "bytes": value.estimated_size()}


def _tensor(value):
    return {"shape": list(value.shape), "dtype": str(value.dtype), "bytes": value.nelement() * value.element_size()}


# Types by their module and name, so that a user's class called DataFrame does not match.
_KNOWN = {
    ("numpy", "ndarray"): _array,
    ("pandas", "DataFrame"): _frame,
    ("pandas", "Series"): _frame,
    ("polars", "DataFrame"): _polars,
    ("polars", "Series"): _polars,
    ("torch", "Tensor"): _tensor,
}


def _measured(value, kind):
    for (module, name), measure in _KNOWN.items():
        library = sys.modules.get(module)
        if type(library) is ModuleType and vars(library).get(name) is kind:
            return measure(value)
    return {}
