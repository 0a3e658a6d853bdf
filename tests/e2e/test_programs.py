"""Programs that the system call filter and Landlock must not break: numerics, threads, processes, sockets, fast file
access.
"""
# evidence: container-fallocate, fewer-calls

import pytest

PYTHON = r"""
import asyncio, concurrent.futures, mmap, multiprocessing, os, socket, socketserver, sqlite3, subprocess, sys, tempfile, threading
import numpy as np, pandas as pd

rng = np.random.default_rng(1)
a = rng.random((400, 400))
assert np.allclose(np.linalg.inv(a) @ a, np.eye(400), atol=1e-6)  # OpenBLAS and its threads
np.save('/tmp/a.npy', a)
assert np.load('/tmp/a.npy', mmap_mode='r')[7, 7] == a[7, 7]
frame = pd.DataFrame({'k': list('abab'), 'v': range(4)})
frame.to_csv('/tmp/f.csv', index=False)
assert pd.read_csv('/tmp/f.csv').groupby('k').v.sum().tolist() == [2, 4]
with sqlite3.connect('/tmp/f.db') as db:
    frame.to_sql('f', db)
    assert pd.read_sql('select sum(v) s from f', db).s[0] == 6
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert sum(pool.map(len, ['x' * n for n in range(100)])) == 4950
with multiprocessing.get_context('fork').Pool(2) as pool:  # semaphores and shared memory
    assert pool.map(abs, range(-4, 0)) == [4, 3, 2, 1]

async def both():
    process = await asyncio.create_subprocess_exec('cat', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = await process.communicate(b'through a pipe')
    server = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    return out, await reader.read()

assert await both() == (b'through a pipe', b'')
assert socket.getaddrinfo('localhost', 80) and socket.if_nameindex()  # netlink route
assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout == b'1\n'
threading.Thread(target=lambda: None, name='named').start()
os.rename('/tmp/f.csv', '/tmp/g.csv')
with open(os.path.expanduser('~/room'), 'wb') as f:
    os.posix_fallocate(f.fileno(), 0, 1 << 20)  # the C library writes zeros where fallocate is refused
    assert os.fstat(f.fileno()).st_blocks >= 2048
lines = np.memmap(os.path.expanduser('~/lines'), dtype='f8', mode='w+', shape=(1000,))
lines[:] = 1; lines.flush()
print('fine')
"""

NODE = r"""
const fs = require('node:fs'), os = require('node:os'), http = require('node:http');
const { Worker } = require('node:worker_threads');
const { execFileSync, spawn } = require('node:child_process');
const once = require('node:events').once;
await Promise.all([...Array(50).keys()].map((i) => fs.promises.writeFile(`/tmp/f${i}`, String(i))));  // libuv, which has io_uring
const read = await Promise.all([...Array(50).keys()].map((i) => fs.promises.readFile(`/tmp/f${i}`, 'utf8')));
console.assert(read.join() === [...Array(50).keys()].join());
const worker = new Worker('require("node:worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
console.assert((await once(worker, 'message'))[0] === 42);
console.assert(execFileSync('echo', ['child']).toString() === 'child\n');
const server = http.createServer((q, a) => a.end('served')).listen(0, '127.0.0.1');
await once(server, 'listening');
console.assert(await (await fetch(`http://127.0.0.1:${server.address().port}`)).text() === 'served');
server.close();
console.assert(os.networkInterfaces().lo);
const watcher = fs.watch('/tmp');
watcher.close();
console.assert(require('node:crypto').scryptSync('a', 'b', 8).length === 8);
console.log('fine');
"""

R = r"""
m <- matrix(runif(40000), 200); stopifnot(max(abs(solve(m) %*% m - diag(200))) < 1e-6)
stopifnot(identical(unlist(parallel::mclapply(1:4, sqrt, mc.cores = 2)), sqrt(1:4)))
stopifnot(system2("echo", "child", stdout = TRUE) == "child")
f <- tempfile(); saveRDS(mtcars, f); stopifnot(identical(readRDS(f), mtcars)); stopifnot(file.rename(f, paste0(f, "2")))
suppressMessages(library(dplyr)); stopifnot(nrow(count(mtcars, cyl)) == 3)
con <- DBI::dbConnect(RSQLite::SQLite(), tempfile()); DBI::dbWriteTable(con, "m", mtcars)
stopifnot(DBI::dbGetQuery(con, "select count(*) n from m")$n == 32); DBI::dbDisconnect(con)
cluster <- parallel::makePSOCKcluster(1)
stopifnot(parallel::clusterCall(cluster, function() 1 + 1)[[1]] == 2)
parallel::stopCluster(cluster)
cat("fine\n")
"""


@pytest.mark.parametrize("language, code", [("python", PYTHON), ("node", NODE), ("r", R)], ids=["python", "node", "r"])
def test_programs_work_in_a_session(start, language, code):
    reply = start().session(language=language, network=False).code(code, 100).ok()
    assert reply.text.rstrip().endswith("fine") and "Assertion" not in reply.text, reply.text
