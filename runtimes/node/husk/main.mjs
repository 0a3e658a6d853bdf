// The kernel: loads, says hello and runs cells until PID 1 closes the link.

import path from "node:path";
import { pathToFileURL } from "node:url";
import util from "node:util";
import { createContext, define, ownGetter } from "./context.mjs";
import { displayBundle, dropLargest, valueBundle } from "./display.mjs";
import { Errors, scriptName } from "./errors.mjs";
import { Evaluator } from "./evaluator.mjs";
import { guardExits, guardListeners } from "./exits.mjs";
import { hideOwnWarnings } from "./internals.mjs";
import { Interrupts } from "./interrupts.mjs";
import { Keyboard } from "./keyboard.mjs";
import { Link, TooLong } from "./link.mjs";
import { Imports, cellModule, loadInto, pick } from "./modules.mjs";
import { Queries } from "./queries.mjs";
import { Realms } from "./realms.mjs";
import { Sources } from "./source.mjs";
import { Streams } from "./streams.mjs";
import { afterTurns, eachTurn, nextTurn, thisTurn } from "./turns.mjs";
import { describe, pairsOf } from "./variables.mjs";

const LATE_DISPLAYS_MAX = 20;
const DISPLAY_ID_MAX = 256;
const LATE = "HUSK_LATE_";
const PARSER_AFTER_MS = 50;
const STAYS = "the cell ended here; the session keeps its variables";

const INTERRUPTED = { type: "Interrupted", message: "Execution was interrupted" };

const then = Promise.prototype.then;

class Kernel {
  #link;
  #context;
  #resolve; // the context's original Promise.resolve, even if a cell replaces it
  #evaluator;
  #interrupts;
  #realms;
  #sources;
  #imports = new Imports();
  #errors = new Errors();
  #streams = new Streams((text) => this.#errors.clean(text));
  #keyboard = new Keyboard((fields) => this.#sendPrompt(fields));
  #cell = null;
  #count = 0;
  #ended = new Set(); // numbers of terminated cells: their code may still be waiting
  #last; // the last result
  #lastError;
  #late = []; // displays between two cells
  #listeners;
  #own; // names in the context that cells did not declare
  #isAsked = false; // a message has arrived

  constructor(folder) {
    globalThis.console = this.#streams.console;
    const { context, name } = createContext();
    this.#context = context;
    this.#resolve = context.Promise.resolve.bind(context.Promise);
    this.#realms = new Realms(context);
    this.#sources = new Sources((global) => Object.getOwnPropertyDescriptor(context, global)?.configurable === false);
    const box = {};
    this.#defineGlobals(folder, box);
    this.#own = new Set(Object.getOwnPropertyNames(context));
    this.#evaluator = new Evaluator(name, box, "__husk.box", context);
    this.#interrupts = new Interrupts(
      this.#evaluator,
      () => this.#interrupted(),
      () => this.#stopping(),
    );
    loadInto(context, (text) => this.#realms.prepareFor(text));
    guardExits((what, exitCode) => this.#leave(what, exitCode));
    guardListeners((error) => this.#reportUncaught(error));
    const nodes = ["newListener", "removeListener"].flatMap((event) =>
      process.listeners(event).map((one) => [event, one]),
    );
    this.#listeners = [...nodes, ["uncaughtException", this.#onUncaught], ["removeListener", this.#onRemoved]];
    this.#listen();
  }

  /** Called again before each cell, since process.removeAllListeners() removes these listeners too, and the ones by
   * which Node notices a listener for a signal. */
  #listen() {
    for (const [event, listener] of this.#listeners)
      if (!process.listenerCount(event, listener)) process.on(event, listener);
  }

  #onRemoved = (_event, listener) => {
    if (listener === this.#onUncaught) process.on("uncaughtException", listener);
  };

  serve(address, taken) {
    // afterTurns, so that signals sent before the cell are already counted.
    const begin = (message) =>
      afterTurns(() => this.#interrupts.prepare(message.code, () => this.#guard(() => this.#begin(message))));
    const answer = (message) =>
      this.#link.send({
        op: "answer",
        id: message.id,
        ...new Queries(this.#context, this.#evaluator).answer(message),
      });
    const take = {
      look: ({ id }) => this.#listVariables(id),
      input: (message) => this.#answer(message),
      execute: begin,
      complete: answer,
      inspect: answer,
      is_complete: answer,
    };
    this.#link = new Link(address, taken, (message) => {
      this.#isAsked = true;
      take[message.op]?.(message);
    });
    this.#streams.onSwitch(() => this.#cell && this.#interrupts.hold(() => this.#link.sync(this.#cell.id)));
    this.#link.hello(process.versions.node);
    this.#rehearse();
  }

  /** Node loads and compiles code on its first use. This runs the code that the first cells will need, without lasting
   * effects, and stops when the first message arrives. The slowest step comes last, after a pause. */
  #rehearse() {
    const isWanted = () => !this.#isAsked;
    const steps = [
      () => this.#evaluator.evaluatePlain("0", () => {}),
      () => this.#link.rehearse(),
      () => this.#sources.prepare(0, "0"),
      () => nextTurn(() => {}),
      () => this.#streams.restore(),
      () => valueBundle([{ a: 0 }], this.#errors),
      () => this.#evaluator.evaluate("0", () => {}),
      () => this.#errors.report(new Error()),
    ];
    const parsing = [() => new Sources(() => false).prepare(0, "const a = await 0")];
    eachTurn(steps, isWanted);
    setTimeout(() => eachTurn(parsing, isWanted), PARSER_AFTER_MS).unref();
  }

  // ---- globals of cells

  #defineGlobals(folder, box) {
    const { module, require } = cellModule(folder);
    const file = path.join(folder, "cell.js");
    const globals = { module, exports: module.exports, require, __filename: file, __dirname: folder };
    for (const [name, value] of Object.entries(globals)) define(this.#context, name, value);
    define(this.#context, "display", (value, options) => this.#display(value, options));
    const help = Object.freeze({
      box,
      pick,
      hold: (number, value) => this.#hold(number, value),
      each: (number, iterable) => this.#each(number, iterable),
      constant: this.#constants(),
      meta: {
        __proto__: null,
        url: pathToFileURL(file).href,
        filename: file,
        dirname: folder,
        resolve: require.resolve,
      },
    });
    Object.defineProperty(this.#context, "__husk", { value: help });
    this.#defineLast(
      "_",
      ownGetter(() => this.#last),
    );
    this.#defineLast(
      "_error",
      ownGetter(() => this.#lastError),
    );
  }

  /** `_` is the last result and `_error` the last error, until a cell assigns something else. */
  #defineLast(name, get) {
    const context = this.#context;
    Object.defineProperty(context, name, {
      get,
      set(value) {
        define(context, name, value, true);
      },
      configurable: true,
    });
  }

  /** An object that throws on assignment. source.mjs redirects assignments to constants to it. */
  #constants() {
    const { TypeError } = this.#context;
    return new Proxy(
      {},
      {
        set: () => {
          throw new TypeError("Assignment to constant variable.");
        },
      },
    );
  }

  /** Wraps a value that a cell awaits at top level. The promise is kept alive meanwhile (see Evaluator.forget), and
   * never settles for a terminated cell. */
  #hold(number, value) {
    const isOver = () => this.#ended.has(number);
    const promise = Reflect.apply(then, this.#resolve(value), [
      (result) => (isOver() ? new Promise(() => {}) : result),
      (error) => (isOver() ? new Promise(() => {}) : Promise.reject(error)),
    ]);
    if (this.#cell?.number === number) this.#cell.waitsFor = promise;
    return promise;
  }

  #each(number, iterable) {
    const iterator = iterable?.[Symbol.asyncIterator]?.();
    if (!iterator) return iterable;
    const call = (name) => ({ [name]: (...args) => this.#hold(number, iterator[name](...args)) });
    const methods = Object.assign({}, ...["next", "return", "throw"].filter((name) => name in iterator).map(call));
    return { [Symbol.asyncIterator]: () => methods };
  }

  // ---- the life of a cell

  /** Ends the cell if a step of the kernel itself throws. */
  #guard(step) {
    try {
      step();
    } catch (error) {
      if (this.#cell) this.#fail(this.#cell, error);
    }
  }

  /** Sends the variables that the cells have declared, between two cells. */
  #listVariables(id) {
    let found = { total: 0, variables: [] };
    try {
      found = describe(pairsOf(this.#context, this.#evaluator, this.#own));
    } catch {
      // A value cannot be inspected. The kernel must survive that, so the list stays empty.
    }
    this.#link.send({ op: "variables", id, variables: found.variables, more: found.total - found.variables.length });
  }

  #begin({ id, code, env, interactive }) {
    const cell = { id, number: ++this.#count, source: null, late: [], waitsFor: null, end: null, stack: "", env: null };
    this.#cell = cell;
    if (env) cell.env = setEnv(env);
    if (interactive) this.#keyboard.open();
    this.#streams.restore();
    this.#listen();
    this.#sendLate();
    this.#interrupts.arm();
    this.#realms.prepareFor(code);
    const source = this.#sources.prepare(cell.number, code);
    // Terminating a cell also ends its callers, unless the inspector evaluates the cell. So a plain cell runs in its
    // own tick.
    if (source.isPlain) thisTurn(() => cell.end || this.#guard(() => this.#evaluate(cell, source)));
    else this.#evaluate(cell, source);
  }

  #evaluate(cell, source) {
    cell.source = source;
    this.#errors.know(source);
    let accepted = true;
    const take = (reply) => {
      if (cell !== this.#cell) return;
      accepted = !("syntax" in reply);
      if (util.types.isPromise(reply.value)) this.#await(cell, reply.value);
      else this.#settleLater(cell, reply); // after the ticks and microtasks that the cell has started
    };
    const text = `${source.text}\n//# sourceURL=${scriptName(cell.number)}`;
    const outside = this.#sources.privateOutside(source);
    if (outside) take(outside);
    else if (source.isPlain) this.#evaluator.evaluatePlain(text, take);
    else this.#evaluator.evaluate(text, take);
    if (accepted) this.#sources.accept(source);
  }

  /** An interrupt also ends the child processes that a cell waits for. The delay makes the kernel see the signal before
   * their failure, so the cell is reported as interrupted. */
  #settleLater(cell, reply) {
    const later = "thrown" in reply ? afterTurns : nextTurn;
    later(() => this.#guard(() => this.#settle(cell, reply)));
  }

  #settle(cell, reply) {
    if (cell !== this.#cell || this.#isStopped(cell)) return;
    if ("syntax" in reply) this.#onSyntaxError(cell, reply);
    else if ("thrown" in reply) this.#fail(cell, reply.thrown);
    else this.#keyboard.whenIdle(() => cell === this.#cell && this.#show(cell, reply.value)); // a callback may wait for input
  }

  #onSyntaxError(cell, { syntax, line, column }) {
    const { source } = cell;
    const javascript = cell.untyped ? null : this.#sources.withoutTypes(source);
    if (javascript) {
      Object.assign(cell, { untyped: true, firstSyntaxError: this.#errors.reportSyntax(syntax, source, line, column) });
      this.#evaluate(cell, javascript);
      return;
    }
    this.#finish(cell, null, cell.firstSyntaxError ?? this.#errors.reportSyntax(syntax, source, line, column));
  }

  #await(cell, promise) {
    cell.waitsFor = promise;
    const settled = (key) => (value) => this.#settleLater(cell, { [key]: value });
    Reflect.apply(then, promise, [settled("value"), settled("thrown")]);
  }

  /** Runs user code if the value defines how it is shown. */
  #show(cell, value) {
    let bundle = null;
    try {
      if (value !== undefined) bundle = valueBundle(value, this.#errors);
    } catch (error) {
      this.#fail(cell, error);
      return;
    }
    this.#last = value;
    this.#finish(cell, bundle, null);
  }

  #fail(cell, thrown) {
    this.#lastError = thrown;
    this.#finish(cell, null, this.#errors.report(thrown));
  }

  #finish(cell, bundle, error) {
    this.#interrupts.disarm();
    this.#imports.keep();
    this.#keyboard.close();
    if (cell.env) restoreEnv(cell.env);
    let [first, ...others] = cell.late;
    if (error && first) [first, others] = [undefined, cell.late];
    for (const late of others) this.#streams.complain(`Uncaught ${late.traceback}`);
    this.#cell = null;
    const end = [{ op: "done", id: cell.id }];
    if (error ?? first) end.unshift({ op: "error", id: cell.id, ...(error ?? first) });
    if (bundle) this.#sendBundle({ op: "result", id: cell.id, data: bundle }, end);
    else this.#link.send(...end);
  }

  // ---- cells that end early

  #isStopped(cell) {
    if (!cell.end) return false;
    this.#giveUp(cell, this.#errors.reportEnd(cell.end, cell.stack));
    return true;
  }

  #giveUp(cell, error) {
    this.#ended.add(cell.number);
    this.#evaluator.forget();
    this.#imports.forget();
    this.#finish(cell, null, error);
  }

  /** Called while the user's code is still on the stack, before it is terminated. */
  #stopping() {
    if (this.#cell) Object.assign(this.#cell, { end: INTERRUPTED, stack: stackHere() });
  }

  #interrupted() {
    const cell = this.#cell;
    if (!cell) return;
    cell.end ??= INTERRUPTED;
    this.#isStopped(cell);
  }

  #leave(what, exitCode) {
    const cell = this.#cell;
    const stack = stackHere();
    if (cell) {
      const end = { type: "ProcessExit", message: `${what} was called (${STAYS})`, exitCode };
      if (!cell.end) Object.assign(cell, { end, stack });
      nextTurn(() => cell === this.#cell && this.#isStopped(cell));
    } else {
      const message = `${what} was called between two cells and has no effect`;
      this.#streams.complain(this.#errors.reportEnd({ type: "ProcessExit", message }, stack).traceback);
    }
    this.#evaluator.terminateHere();
  }

  /** Handles uncaught errors. One from the running cell becomes the cell's error if it has no other; the rest go to
   * stderr. */
  #onUncaught = (thrown) => {
    if (process.listenerCount("uncaughtException") === 1) this.#reportUncaught(thrown); // otherwise the user has a listener
  };

  #reportUncaught(thrown) {
    this.#lastError = thrown;
    const report = this.#errors.report(thrown);
    const cell = this.#cell;
    const cells = report.traceback.match(/<cell \d+>/g) ?? [];
    const ours = cells.length === 0 || cells.includes(`<cell ${cell?.number}>`);
    if (cell && ours) cell.late.push(report);
    else this.#streams.complain(`Uncaught ${report.traceback.replace(/^Uncaught /, "")}`);
  }

  // ---- prompts

  #sendPrompt(fields) {
    const text = fields.prompt?.toWellFormed().replaceAll("\0", "");
    const prompt = text === undefined ? fields : { ...fields, prompt: text };
    if (this.#cell) this.#interrupts.hold(() => this.#link.send({ op: "input", id: this.#cell.id, ...prompt }));
  }

  #answer({ question, text }) {
    if (text.includes("\x03"))
      this.#interrupted(); // Ctrl-C
    else this.#keyboard.answer(question, text);
  }

  // ---- displays

  #display(value, { display_id: id, update } = {}) {
    const bundle = displayBundle(value, this.#errors);
    const fields = {};
    if (id !== undefined) fields.display_id = String(id).toWellFormed().replaceAll("\0", "").slice(0, DISPLAY_ID_MAX);
    if (update) fields.update = true;
    const message = { op: "display", id: this.#cell?.id, data: bundle, ...fields };
    if (this.#cell) this.#interrupts.hold(() => this.#sendBundle(message));
    else if (this.#late.length < LATE_DISPLAYS_MAX) this.#late.push(message);
  }

  #sendLate() {
    for (const message of this.#late.splice(0)) this.#sendBundle({ ...message, id: this.#cell.id });
  }

  #sendBundle(message, more = []) {
    for (;;) {
      try {
        if (message.op === "display") return this.#link.place(message, ...more);
        return this.#link.send(message, ...more);
      } catch (error) {
        if (!(error instanceof TooLong)) throw error;
        dropLargest(message.data);
      }
    }
  }
}

/** Sets environment variables for one cell; returns what restoreEnv() needs. */
function setEnv(env) {
  const changes = Object.entries(env).map(([name, value]) => ({
    name,
    value: String(value),
    before: process.env[name],
  }));
  for (const { name, value } of changes) process.env[name] = value;
  return changes;
}

/** Restores the variables, except those that the cell itself has changed. */
function restoreEnv(changes) {
  for (const { name, value, before } of changes) {
    if (process.env[name] !== value) continue;
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  }
}

function stackHere() {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 20;
  const { stack } = new Error();
  Error.stackTraceLimit = limit;
  return stack;
}

/** Restores the names of variables that Node must not start with (docs/protocol.md): --require in NODE_OPTIONS would
 * run a file of the session before the kernel. The variables apply to programs that cells start. */
function restoreEnvironment(env) {
  for (const name of Object.keys(env).filter((one) => one.startsWith(LATE))) {
    env[name.slice(LATE.length)] = env[name];
    delete env[name];
  }
}

export function start() {
  hideOwnWarnings();
  const { HUSK_LINK: address, HUSK_TAKEN_FD: taken } = process.env;
  delete process.env.HUSK_LINK;
  delete process.env.HUSK_TAKEN_FD;
  restoreEnvironment(process.env);
  const kernel = new Kernel(process.cwd());
  process.argv = [process.execPath];
  process.execArgv = [];
  kernel.serve(address, taken === undefined ? undefined : Number(taken));
}
