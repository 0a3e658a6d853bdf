"""Puts a document, its styles and its modules into one text, for clients that show it without a server (mcp/apps.h).

Each module becomes a function that returns what the module exports. This supports the few forms of import and export
that our modules and the libraries use; anything else is an error.
"""

import re
import sys

IMPORT = re.compile(r"""(?:^|(?<=[;}\s]))import\s*(?P<clause>[\w$]+|\{[^}]*\})\s*from\s*(["'])(?P<name>[^"'\n]+)\2;?""", re.MULTILINE)
EXPORT_LIST = re.compile(r"(?:^|(?<=[;}\s]))export\s*\{(?P<names>[^}]*)\}\s*;?", re.MULTILINE)
EXPORT_DEFAULT = re.compile(r"(?:^|(?<=[;}\s]))export\s+default\s+", re.MULTILINE)
EXPORT = re.compile(r"^export\s+(?P<kind>const|let|class|function|async function)\s+(?P<name>[\w$]+)", re.MULTILINE)
PLACE = re.compile(r"/\* (?P<name>[\w.-]+\.(?:css|mjs)) \*/")


def fail(text):
    sys.exit(f"page/bundle.py: {text}")


def _pairs(clause):
    """The pairs of `a as b, c`: (a, b), (c, c)."""
    for word in filter(None, (word.strip() for word in clause.split(","))):
        outer, _, inner = word.partition(" as ")
        yield outer.strip(), (inner or outer).strip()


class Bundle:
    def __init__(self, find):
        self.find = find  # (path, name of an import) -> path
        self.names = {}  # path -> name of its constant
        self.parts = []

    def add(self, path):
        """Adds a module after those that it imports. Returns the name of what it exports."""
        if path in self.names:
            return self.names[path]
        text = re.sub(r"^//# sourceMappingURL=.*$", "", path.read_text(), flags=re.MULTILINE)
        exported = {}

        def take_import(match):
            module = self.add(self.find(path, match["name"]))
            if match["clause"][0] != "{":
                return f"const {match['clause']} = {module}.default;"
            names = ", ".join(f"{a}: {b}" if a != b else a for a, b in _pairs(match["clause"][1:-1]))
            return f"const {{ {names} }} = {module};"

        def take_list(match):
            exported.update({outer: inner for inner, outer in _pairs(match["names"])})
            return ""

        def take_default(_):
            exported["default"] = "$default"
            return "const $default = "

        def take_export(match):
            exported[match["name"]] = match["name"]
            return f"{match['kind']} {match['name']}"

        text = IMPORT.sub(take_import, text)
        text = EXPORT_LIST.sub(take_list, text)
        text = EXPORT_DEFAULT.sub(take_default, text)
        text = EXPORT.sub(take_export, text)
        if left := re.search(r"^\s*(?:import\s*[\w{*\"']|export\s).*$", text, re.MULTILINE):
            fail(f"{path.name}: '{left[0].strip()[:80]}' is not supported")
        name = f"m{len(self.parts)}"
        self.names[path] = name
        returned = ", ".join(f"{outer}: {inner}" for outer, inner in exported.items())
        self.parts.append(f"const {name} = (() => {{\n{text.strip()}\nreturn {{ {returned} }};\n}})();")
        return name


def bundle(document, find_style, find):
    """The document with the styles and modules that it names in comments."""
    def place(match):
        if match["name"].endswith(".css"):
            return find_style(match["name"]).read_text()
        made = Bundle(find)
        made.add(document.parent / match["name"])
        script = '"use strict";\n' + "\n".join(made.parts)
        if "</script" in script.lower() or "<!--" in script:
            fail(f"{match['name']}: a script in a document cannot contain '</script' or '<!--'")
        return script

    return PLACE.sub(place, document.read_text())
