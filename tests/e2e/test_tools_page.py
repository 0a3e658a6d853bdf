"""docs/tools.md against the server's tools/list: the tools, their arguments, and which values these take."""

import pathlib
import re

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\*?)`([\w.\[\]]+)`\1 \| ([^|]+) \| ([^|]+) \|$", re.M)


def sections():
    """{tool: {argument: (optional, values, meaning)}} of the page."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        name = part.split("\n", 1)[0]
        if re.fullmatch(r"[a-z]+(_[a-z]+)?", name):
            found[name] = {argument: (bool(star), values, meaning) for star, argument, values, meaning in ROW.findall(part)}
    return found


def values(schema):
    """The words of the page for the values that a schema accepts."""
    kind = schema.get("type")
    if "enum" in schema:
        words = ", ".join(f"`{value}`" for value in schema["enum"])
    elif "anyOf" in schema:
        words = "`true`, `false` or a list of texts"
        kind = "boolean"
    elif kind == "array" and schema["items"]["type"] == "string":
        words = "list of texts"
    elif kind in ("integer", "array"):
        low, high = (schema.get(name) for name in (("minimum", "maximum") if kind == "integer" else ("minItems", "maxItems")))
        words = (f"{low} to {high}" if high is not None else f"from {low}") + (" entries" if kind == "array" else "")
    else:
        words = {"boolean": "`true` or `false`", "number": "number", "object": "texts by name", "string": "text"}[kind]
    words += f", at most {schema['maxLength']} bytes" if "maxLength" in schema else ""
    default = schema.get("default")
    return words + (f"; default `{str(default).lower() if kind == 'boolean' else default}`" if default is not None else "")


def arguments(schema, prefix=""):
    """{argument: (optional, values)}; fields of entries are `files[].name`."""
    found = {}
    for name, one in schema["properties"].items():
        found[prefix + name] = (name not in schema.get("required", []), values(one))
        found.update(arguments(one["items"], f"{prefix}{name}[].") if one.get("type") == "array" and "properties" in one["items"] else {})
    return found


def test_the_page_has_every_tool_argument_default_and_bound(start):
    server = start(CONTAINER_IMAGES="NAME=image:1")
    tools = {tool["name"]: tool["inputSchema"] for tool in server.request("tools/list").result()["tools"]}
    page = {name: {argument: row[:2] for argument, row in rows.items()} for name, rows in sections().items()}
    assert page == {name: arguments(schema) for name, schema in tools.items()}


def test_the_page_has_the_default_timeout(server):
    """The schema has no default, since it depends on `wait`. The description for models names it."""
    for tool in server.request("tools/list").result()["tools"]:
        if "timeout" in tool["inputSchema"]["properties"]:
            [found] = re.findall(r"default (\d+), at most (\d+)", tool["inputSchema"]["properties"]["timeout"]["description"])
            assert "{} by default, at most {}".format(*found) in sections()[tool["name"]]["timeout"][2]
