"""A user's script with the official Python client: calls that the client abandons, and the calls after them. Prints a
JSON report.

    python python_client.py HUSK      the server runs with this process's environment
"""

import asyncio
import datetime
import json
import os
import sys

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client

ENDLESS = "print('endless', flush=True)\nimport time\nwhile True: time.sleep(0.02)"
# The client's timeout. It is longer than the time between parallel calls, and the client sends nothing when it expires.
PATIENCE = 1.5


async def time_out(session, arguments):
    try:
        await session.call_tool("execute_code", arguments, read_timeout_seconds=datetime.timedelta(seconds=PATIENCE))
    except McpError as error:
        return str(error)


async def cancel(session, arguments):
    try:
        await asyncio.wait_for(session.call_tool("execute_code", arguments), PATIENCE)
    except asyncio.TimeoutError:
        return "cancelled"


def seen(result):
    return {"text": "\n".join(block.text for block in result.content), "fields": (result.meta or {}).get("dev.husk/result")}


async def give_up(session, how):
    """Runs an endless cell that the client abandons, then the next cell, and interrupts the old one as that answer
    suggests.
    """
    created = await session.call_tool("create_session", {"network": False})
    own = {"session_id": created.structuredContent["session_id"]}
    error = await how(session, {**own, "code": ENDLESS, "timeout": 300})
    following = seen(await session.call_tool("execute_code", {**own, "code": "'after'"}))
    ahead, run = following["fields"].get("behind"), following["fields"]["run"]
    interrupted = seen(await session.call_tool("execute_code", {**own, "run": ahead, "interrupt": True})) if ahead else None
    ended = seen(await session.call_tool("execute_code", {**own, "run": run, "wait": 60})) if ahead else None
    await session.call_tool("stop_session", own)
    return {"error": error, "next": following, "interrupted": interrupted, "ended": ended}


async def main(husk):
    server = StdioServerParameters(command=husk, args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        started = await session.initialize()
        timeout, cancelled = await asyncio.gather(give_up(session, time_out), give_up(session, cancel))
    print(json.dumps({"revision": started.protocolVersion, "timeout": timeout, "cancel": cancelled}))


asyncio.run(main(sys.argv[1]))
