// Every SDK client runs this scenario: one session from its creation to its end, with everything that a model or a person
// may do on the way. Each file beside this one provides a client. The result is one JSON report, which test_clients.py
// checks.
//
//   node CLIENT.mjs SERVER [MODE]      SERVER is husk, run with this process's environment, or an address of HTTP,
//                                      with the key in HUSK_KEY

import { once } from "node:events";

const PATIENCE = 60_000;
const CLIENT_TIMEOUT = 1_000;
const INFO = { name: "husk-tests", version: "1" };
const WAITING =
  "print('begun', flush=True)\nimport os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('ended')";
const ENDLESS = "print('endless', flush=True)\nimport time\nwhile True: time.sleep(0.02)";
const PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('squares');";

/** A promise with its own resolve. */
function event() {
  let fire;
  const happened = new Promise((resolve) => (fire = resolve));
  return { happened, fire };
}

/** Records all messages of a transport. The transport keeps its class, because client 2.x probes a subclass
 * differently. */
function record(transport) {
  const wire = [];
  const send = transport.send.bind(transport);
  transport.send = (message, ...more) => {
    wire.push({ from: "client", message });
    return send(message, ...more);
  };
  // Both SDKs also call a handler that was set before theirs.
  transport.onmessage = (message) => wire.push({ from: "server", message });
  return wire;
}

/** The rejection of a call that must not succeed. */
async function rejection(promise) {
  try {
    await promise;
  } catch (error) {
    return { code: error.code ?? null, name: error.name, message: error.message };
  }
  throw new Error("a call that was to fail came back");
}

async function timed(promise) {
  const began = performance.now();
  const result = await promise;
  return { result, ms: performance.now() - began };
}

/** A cell prints and waits for a file that is created when its first progress message arrives. */
async function progressWhileRunning(call, session_id) {
  const messages = [];
  const first = event();
  const running = call(
    "execute_code",
    { session_id, code: WAITING, timeout: 30 },
    {
      onprogress: (progress) => {
        messages.push(progress);
        first.fire();
      },
    },
  );
  await Promise.race([first.happened, running]);
  const before = messages.length;
  await call("execute_terminal", { session_id, command: "touch go" });
  return { before, messages, result: await running };
}

/** A cell that keeps running after its call was answered, and a second wait for it. */
async function outliving(call, session_id) {
  const begun = await call("execute_code", { session_id, code: WAITING.replaceAll("go", "went"), wait: 0 });
  const { run } = begun._meta["dev.husk/result"];
  const waiting = call("execute_code", { session_id, run, wait: 60 });
  await call("execute_terminal", { session_id, command: "touch went" });
  return { begun, ended: await waiting };
}

/** A cell and a command with prompts, which are answered. */
async function asking(call, session_id) {
  const numberOf = (result) => result._meta["dev.husk/result"].run;
  const code = "name = input('Name? ')\nprint('hi', name)";
  const cell = await call("execute_code", { session_id, code, interactive: true });
  const greeted = await call("execute_code", { session_id, run: numberOf(cell), input: "Bob" });
  const command = await call("execute_terminal", {
    session_id,
    command: "read -p 'Go on? ' a; echo $a",
    interactive: true,
  });
  const went = await call("execute_terminal", { session_id, run: numberOf(command), input: "yes" });
  return { cell, greeted, command, went };
}

/** Cancels a running cell in the way that `how` names, then sends the next request at once. */
async function cancelled(call, session_id, how) {
  await call("execute_code", { session_id, code: "kept = 'kept'" });
  const error = await how();
  return {
    error,
    shell: await timed(call("execute_terminal", { session_id, command: "echo at once" })),
    cell: await timed(call("execute_code", { session_id, code: "kept" })),
  };
}

async function session(call, report) {
  const created = await call("create_session", { network: false });
  const session_id = (report.created = created).structuredContent.session_id;
  const code = (text, options) => call("execute_code", { session_id, code: text }, options);

  report.cells = [await code("x = 40\nprint('set')"), await code("x + 2")];
  report.raised = await code("def f(): return 1 / 0\nf()");
  report.plot = await code(PLOT);
  report.terminal = await call("execute_terminal", { session_id, command: "pwd; echo to stderr >&2; exit 3" });
  report.progress = await progressWhileRunning(call, session_id);
  report.runs = await outliving(call, session_id);
  report.asking = await asking(call, session_id);
  report.timeout = await cancelled(call, session_id, () =>
    rejection(code(ENDLESS, { timeout: CLIENT_TIMEOUT, onprogress: () => {} })),
  );
  report.abort = await cancelled(call, session_id, () => {
    const controller = new AbortController();
    return rejection(code(ENDLESS, { signal: controller.signal, onprogress: () => controller.abort() }));
  });
  report.bad = {
    argument: await call("execute_code", { session_id, code: 7 }),
    missing: await call("execute_code", { session_id }),
    timeout: await call("execute_code", { session_id, code: "1", timeout: 301 }),
    session: await call("execute_code", { session_id: "nobody", code: "1" }),
    tool: await rejection(call("no_such_tool", {})),
  };
  report.stopped = await call("stop_session", { session_id });
  report.after = await code("x");
}

/** Runs the scenario. `Client`, `Transport` and `HttpTransport` are classes of the SDK, `options` are for its client, `callTool`
 * calls a tool, and `negotiated` returns what the client knows of the protocol after connecting. */
export async function main({ Client, Transport, HttpTransport, options, callTool, negotiated }) {
  const server = process.argv[2];
  const http = server.startsWith("http://");
  const headers = { Authorization: `Bearer ${process.env.HUSK_KEY}` };
  const transport = http
    ? new HttpTransport(new URL(server), { requestInit: { headers } })
    : new Transport({ command: server, args: ["mcp"], env: process.env, stderr: "pipe" });
  const client = new Client(INFO, options);
  const report = { wire: record(transport), errors: [], stderr: "" };
  const ended = http || once(transport.stderr, "end");
  transport.stderr?.on("data", (chunk) => (report.stderr += chunk));
  client.onerror = (error) => report.errors.push(String(error));

  const call = (name, args, more) => callTool(client, { name, arguments: args }, { timeout: PATIENCE, ...more });
  try {
    report.connectMs = (await timed(client.connect(transport))).ms;
    report.negotiated = negotiated(client, transport);
    report.server = client.getServerVersion();
    report.capabilities = client.getServerCapabilities();
    report.instructions = client.getInstructions();
    report.tools = (await client.listTools()).tools;
    await session(call, report);
  } finally {
    await transport.terminateSession?.();
    report.closeMs = (await timed(client.close())).ms;
  }
  await ended;
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
