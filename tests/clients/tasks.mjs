// Tasks with the official client 2.x and the official package for the extension: a task that is waited for, one that is cancelled, and
// one whose server ends and that the next client resumes. Prints one JSON report, which test_clients.py checks.
//
//   node tasks.mjs HUSK      the servers run with this process's environment

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

const VERSION = "2026-07-28";
const INFO = { name: "husk-tests", version: "1" };
const WAITING = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nos.remove('go')\nprint('ended')";
const report = { wire: [], errors: [] };

/** Sends requests of the extension over the client's connection. The client itself does not know the extension. */
function beside(transport) {
  const open = new Map();
  const toClient = transport.onmessage;
  let n = 0;
  transport.onmessage = (message, ...more) => {
    const answer = open.get(message.id);
    if (!answer) return toClient(message, ...more);
    report.wire.push({ from: "server", message });
    open.delete(message.id);
    answer("error" in message ? { kind: "error", error: message.error } : { kind: "result", result: message.result });
  };
  return (request) => {
    const message = { jsonrpc: "2.0", id: `task-${report.wire.length}-${n++}`, ...request };
    report.wire.push({ from: "client", message });
    return new Promise((resolve) => {
      open.set(message.id, resolve);
      transport.send(message);
    });
  };
}

async function connect() {
  const transport = new StdioClientTransport({ command: process.argv[2], args: ["mcp"], env: process.env });
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: VERSION } } });
  client.onerror = (error) => report.errors.push(String(error));
  await client.connect(transport);
  const tasks = createTaskSessionFromClient(client, {
    endpointId: "husk",
    rawDispatch: beside(transport),
    v2RequestFraming: { protocolVersion: VERSION, clientInfo: INFO, clientCapabilities: {} },
  });
  const call = (name, args) => client.callTool({ name, arguments: args });
  return { client, tasks, call };
}

let { client, tasks, call } = await connect();
const session_id = (await call("create_session", { network: false })).structuredContent.session_id;
const go = () => call("execute_terminal", { session_id, command: "touch go" });

const waited = await tasks.callTool("execute_code", { session_id, code: WAITING });
report.kind = waited.kind;
report.view = await tasks.task(waited.handle.taskId).snapshot();
await go();
report.waited = (await waited.settle()).outcome;
report.again = await tasks.task(waited.handle.taskId).result();

// This cell waits for another file: it runs until it is interrupted, which happens after the answer.
const cancelled = await tasks.callTool("execute_code", { session_id, code: WAITING.replaceAll("'go'", "'never'") });
await cancelled.cancel();
report.cancelled = (await cancelled.settle()).outcome;

const left = await tasks.callTool("execute_code", { session_id, code: `${WAITING}\n1 / 0` });
const reference = left.serializeReference();
// tasks.close() would cancel the tasks that it began.
await left.detach();
await client.close();

({ client, tasks, call } = await connect());
const resumed = await tasks.resumeTask(reference);
await go();
report.resumed = (await resumed.settle()).outcome;
report.stopped = await call("stop_session", { session_id });
await tasks.close();
await client.close();
process.stdout.write(`${JSON.stringify(report)}\n`);
