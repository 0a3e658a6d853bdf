"""Checks every message that the server sends against the specification's schemas, if a checkout of them is available.

They are looked for in $HUSK_SCHEMA_DIR and in `shared/mcp-schema` beside the repository; without them only the envelope is checked.
"""

import functools
import json
import os
import pathlib
import re

import jsonschema

from harness import ROOT

RESULTS = {
    "initialize": "InitializeResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "ping": "EmptyResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}


# Written from the tasks extension, whose schema is separate from the specification's.
_TASK = {
    "type": "object",
    "properties": {
        "taskId": {"type": "string", "minLength": 16},
        "createdAt": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
        "lastUpdatedAt": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
        "ttlMs": {"type": ["integer", "null"], "minimum": 1},
        "pollIntervalMs": {"type": "integer", "minimum": 1},
    },
    "required": ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
    "oneOf": [
        {"properties": {"status": {"const": "working"}, "result": False, "error": False}},
        {"properties": {"status": {"const": "cancelled"}, "result": False, "error": False}},
        {"properties": {"status": {"const": "completed"}, "error": False}, "required": ["result"]},
    ],
}


def _task_errors(task, era):
    for error in jsonschema.Draft202012Validator(_TASK).iter_errors(task):
        yield f"a task: {error.json_path}: {error.message[:300]}"
    if "result" in task:
        yield from _errors(era, "CallToolResult", task["result"])


def folder():
    for candidate in (os.environ.get("HUSK_SCHEMA_DIR"), ROOT.parent / "shared" / "mcp-schema"):
        if candidate and pathlib.Path(candidate).is_dir():
            return pathlib.Path(candidate)
    return None


@functools.cache
def _document(era):
    where = folder()
    path = where / f"{era}.json" if where else None
    return json.loads(path.read_text()) if path and path.exists() else None


@functools.cache
def validator(era, name):
    document = _document(era)
    if document is None:
        return None
    key = "$defs" if "$defs" in document else "definitions"
    if name not in document[key]:
        return None
    schema = {**document, "$ref": f"#/{key}/{name}"}
    return jsonschema.validators.validator_for(document)(schema)


def _errors(era, name, value):
    check = validator(era, name)
    if check is None:
        return
    for error in check.iter_errors(value):
        yield f"{name} of {era}: {error.json_path}: {error.message[:300]}"


def _envelope(message):
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        yield "not a JSON-RPC 2.0 object"
        return
    kinds = [k for k in ("method", "result", "error") if k in message]
    if len(kinds) != 1:
        yield f"one of method, result, error; got {kinds}"
    if "id" in message and (message["id"] is None or isinstance(message["id"], (bool, float, dict, list))):
        yield "id is neither a string nor an integer"
    if "method" in message and "id" in message:
        yield "a server sends no requests"


def problems(line, method, era):
    """Returns the problems of one emitted line; `method` is that of the request it answers. Answers that differ only
    in their id are checked once: a list of tools takes milliseconds, and a test may request it thousands of times.
    """
    if method:
        line = _ID.sub(rb'"id":0', line, 1)
    return _problems(line, method, era)


# An id as our answers write it. It never matches inside a string, where the quotes would be escaped.
_ID = re.compile(rb'(?<=[{,])"id":(?:-?\d+|"(?:[^"\\]|\\.)*")')


@functools.lru_cache(maxsize=1000)
def _problems(line, method, era):
    return list(_find_problems(line, method, era))


def _find_problems(line, method, era):
    if not line.endswith(b"\n"):
        yield "no newline at its end"
    if len(line) > 10 * 1024 * 1024:
        yield "longer than the clients' read buffer"
    try:
        message = json.loads(line.decode("utf-8"))
    except ValueError as error:
        yield f"not JSON: {error}"
        return
    if isinstance(message, list):
        for one in message:
            yield from _envelope(one)
        return
    yield from _envelope(message)
    era = era or "2025-11-25"
    if not isinstance(message, dict):
        return
    if "error" in message:
        name = "JSONRPCErrorResponse" if era >= "2025-11-25" else "JSONRPCError"
        yield from _errors(era, name, message)
    elif "result" in message:
        name = "JSONRPCResultResponse" if era >= "2025-11-25" else "JSONRPCResponse"
        yield from _errors(era, name, message)
        if method == "tasks/get" or message["result"].get("resultType") == "task":
            yield from _task_errors(message["result"], era)
            if (method, message["result"]["resultType"]) not in (("tasks/get", "complete"), ("tools/call", "task")):
                yield f"{message['result']['resultType']} for {method}"
        elif message["result"].get("resultType") == "input_required":
            yield from _errors(era, "InputRequiredResult", message["result"])
        elif method in RESULTS:
            yield from _errors(era, RESULTS[method], message["result"])
    elif "method" in message:
        yield from _errors(era, "JSONRPCNotification", message)
        if message["method"] == "notifications/tasks":
            yield from _task_errors(message["params"], era)
        else:
            yield from _errors(era, "ServerNotification", message)


def check(servers):
    """Checks all messages that these servers sent."""
    bad = []
    for server in servers:
        for line, method, era in server.lines:
            bad += [f"{p}: {line[:300]!r}" for p in problems(line, method, era)]
    assert not bad, "the server emitted bad messages:\n" + "\n".join(bad[:10])
