"""A cell's value is awaited if it is a promise (Node) or a coroutine (Python). Then the same with asyncio, for two sessions at once."""

import asyncio

import husk

with husk.Session("node") as node:
    print("node:", node.run("async function f() { return 6 * 7 }; f()").value)

with husk.Session("python") as python:
    print("python:", python.run("async def f(): return 'awaited'\nf()").value)


async def main() -> None:
    async with husk.aio.SandboxManager() as manager:
        async def square(n: int) -> str:
            async with husk.aio.Session("python", manager=manager) as session:
                return (await session.run(f"{n} ** 2")).value or ""

        print("asyncio:", await asyncio.gather(square(3), square(4)))
        async with husk.aio.Session("python", manager=manager) as session:
            async for kind, text in session.stream("print('streamed')\n'the end'"):
                if kind == "result" or text.strip():
                    print(kind, text.value if kind == "result" else text.strip())

asyncio.run(main())
