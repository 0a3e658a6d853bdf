"""A user's script with a Python client over HTTP. Prints a JSON report.

    python python_http.py CLIENT URL      CLIENT is mcp1, mcp2, mcp2-legacy or fastmcp; the key is in HUSK_KEY
"""

import asyncio
import contextlib
import json
import os
import sys

ENDLESS = "print('endless', flush=True)\nimport time\nwhile True: time.sleep(0.02)"
WAITING = "print('begun', flush=True)\nimport os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('ended')"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('squares');"
PATIENCE = 1.5
HEADERS = {"Authorization": f"Bearer {os.environ['HUSK_KEY']}"}


@contextlib.asynccontextmanager
async def mcp1(url):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url, HEADERS) as (read, write, _), ClientSession(read, write) as session:
        started = await session.initialize()
        yield started.protocolVersion, session.list_tools, lambda name, arguments, progress=None: session.call_tool(
            name, arguments, progress_callback=progress
        )


@contextlib.asynccontextmanager
async def mcp2(url, mode="auto"):
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client.protocol_version, client.list_tools, lambda name, arguments, progress=None: client.call_tool(
            name, arguments, progress_callback=progress
        )


@contextlib.asynccontextmanager
async def fastmcp(url):
    from fastmcp import Client

    async with Client(url, auth=os.environ["HUSK_KEY"]) as client:
        yield client.protocol_version, client.list_tools_mcp, lambda name, arguments, progress=None: client.call_tool_mcp(
            name, arguments, **({"progress_handler": progress} if progress else {})
        )


CLIENTS = {"mcp1": mcp1, "mcp2": mcp2, "mcp2-legacy": lambda url: mcp2(url, mode="legacy"), "fastmcp": fastmcp}


def seen(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def progress_while_running(call, own):
    """A cell prints and waits for a file, which is made when its first progress message arrives."""
    messages, first = [], asyncio.Event()

    async def on_progress(progress, total=None, message=None):
        messages.append({"progress": progress, "message": message})
        first.set()

    running = asyncio.ensure_future(call("execute_code", {**own, "code": WAITING}, on_progress))
    await asyncio.wait([running, asyncio.ensure_future(first.wait())], return_when=asyncio.FIRST_COMPLETED)
    before = len(messages)
    await call("execute_terminal", {**own, "command": "touch go"})
    return {"before": before, "messages": messages, "result": seen(await running)}


async def give_up(call, own):
    """Abandons an endless cell and runs the next one."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(call("execute_code", {**own, "code": ENDLESS, "timeout": 300}), PATIENCE)
    return seen(await call("execute_code", {**own, "code": "'after'", "wait": 3}))


async def main(which, url):
    async with CLIENTS[which](url) as (version, list_tools, call):
        created = seen(await call("create_session", {"network": False}))
        own = {"session_id": created["structuredContent"]["session_id"]}
        report = {"revision": version, "tools": [tool.name for tool in (await list_tools()).tools]}
        report["cells"] = [seen(await call("execute_code", {**own, "code": code})) for code in ("x = 40\nprint('set')", "x + 2")]
        report["raised"] = seen(await call("execute_code", {**own, "code": "1 / 0"}))
        report["plot"] = seen(await call("execute_code", {**own, "code": PLOT}))
        report["progress"] = await progress_while_running(call, own)
        report["after"] = await give_up(call, own)
        report["stopped"] = seen(await call("stop_session", own))
    print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
