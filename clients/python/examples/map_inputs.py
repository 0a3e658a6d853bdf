"""Apply a function to 100 inputs in 4 sessions, each with its own interpreter."""

import concurrent.futures
import json
import queue

import husk

SESSIONS = 4
FUNCTION = """
import json
def work(n):
    return sum(d for d in range(1, n) if n % d == 0) == n  # is it perfect?
"""

settings = {"CONTAINER_MAX_SESSIONS_PER_THREAD": SESSIONS, "CONTAINER_MEMORY_LIMIT": "1g", "CONTAINER_TMPFS_SIZE": "100m"}
with husk.SandboxManager(settings) as manager, concurrent.futures.ThreadPoolExecutor(SESSIONS) as threads:
    idle: "queue.Queue[husk.Session]" = queue.Queue()

    def prepare(_: int) -> None:
        session = husk.Session("python", manager=manager, network=False)
        session.run(FUNCTION).check()
        idle.put(session)

    def work(n: int) -> bool:
        session = idle.get()
        try:
            return json.loads(session.run(f"print(json.dumps(work({n})))").check().stdout)
        finally:
            idle.put(session)

    list(threads.map(prepare, range(SESSIONS)))
    answers = list(threads.map(work, range(1, 101)))
    print(len(answers), "answers from", idle.qsize(), "sessions; perfect:", [n for n, yes in enumerate(answers, 1) if yes])
