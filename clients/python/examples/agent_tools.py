"""Tool functions for agent frameworks: plain functions with types and a docstring. Here a script calls them instead of a model."""

import inspect
from typing import Any, Callable, Dict, List

import husk

session = husk.Session("python")


def run_python(code: str) -> str:
    """Run Python code in a persistent interpreter and return its output and the value of the last expression."""
    return str(session.run(code)) or "done"


def run_shell(command: str) -> str:
    """Run a bash command in the same session and return its output and exit code."""
    result = session.shell(command)
    return f"{result}\nexit code {result.exit_code}"


def write_file(path: str, content: str) -> str:
    """Write a text file below /workspace of the session."""
    return session.write(path, content)[0].error or f"wrote {path}"


def describe(function: Callable[..., str]) -> Dict[str, Any]:
    """The schema that a framework shows to its model."""
    parameters = {name: {"type": "string"} for name in inspect.signature(function).parameters}
    return {"name": function.__name__, "description": inspect.getdoc(function),
            "parameters": {"type": "object", "properties": parameters, "required": list(parameters)}}


TOOLS = {function.__name__: function for function in (run_python, run_shell, write_file)}
print([describe(tool)["name"] for tool in TOOLS.values()])

calls: List[Any] = [  # as a model would send them
    ("write_file", {"path": "primes.py", "content": "def primes(n): return [p for p in range(2, n) if all(p % d for d in range(2, p))]\n"}),
    ("run_python", {"code": "from primes import primes\nfound = primes(30)\nlen(found)"}),
    ("run_python", {"code": "found[-1] / 0"}),
    ("run_shell", {"command": "wc -l <primes.py"}),
]
for name, arguments in calls:
    print(f"{name}: {TOOLS[name](**arguments).splitlines()[-1]}")
session.stop()
