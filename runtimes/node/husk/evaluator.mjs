// Runs source text in a context as V8's own console does (replMode): declarations of all kinds persist and can be
// repeated, and `await` works at top level. Only the inspector offers this mode.

import inspector from "node:inspector";
import vm from "node:vm";
import { clearAsyncIdStack, clearImmediatesBehind, drainThisTurn } from "./internals.mjs";

const GROUP = "cell";
// Saved now, since a cell may change them.
const { Script } = vm;
const { runInContext } = Script.prototype;
const { apply } = Reflect;
const COMPILE = {
  __proto__: null,
  filename: "",
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
};
const RUN = { __proto__: null, displayErrors: false };

function primitive(remote) {
  const { type, unserializableValue } = remote;
  if (unserializableValue === undefined) return remote.subtype === "null" ? null : remote.value;
  return type === "bigint" ? BigInt(unserializableValue.slice(0, -1)) : Number(unserializableValue);
}

export class Evaluator {
  #control = new inspector.Session(); // never runs code, so it can always terminate code of the other session
  #session = null;
  #context;
  #contextId;
  #box; // receives a value from the inspector, which would otherwise only return a description
  #boxId;
  #evaluating = false;

  // `boxExpression` evaluates to the object `box` in the context. The inspector finds the context by its name.
  constructor(contextName, box, boxExpression, context) {
    this.#context = context;
    this.#box = box;
    this.#control.connect();
    this.#control.on("Runtime.executionContextCreated", ({ params }) => {
      if (params.context.name === contextName) this.#contextId = params.context.id;
    });
    this.#control.post("Runtime.enable");
    this.#control.post("Runtime.disable");
    this.boxExpression = boxExpression;
  }

  #connect() {
    this.#session = new inspector.Session();
    this.#session.connect();
    const params = { expression: this.boxExpression, contextId: this.#contextId };
    this.#session.post("Runtime.evaluate", params, (_error, { result }) => {
      this.#boxId = result.objectId;
    });
  }

  // Calls back with { value }, { thrown } or { syntax: thrown, line, column }. A syntax error is reported at once, the
  // others when the code and everything that it awaits at top level is done. Never calls back if the code is terminated
  // or awaits forever.
  evaluate(source, callback) {
    if (!this.#session) this.#connect();
    const session = this.#session;
    let inside = true;
    const params = { expression: source, contextId: this.#contextId, replMode: true, silent: true, objectGroup: GROUP };
    this.#evaluating = true;
    session.post("Runtime.evaluate", params, (error, reply) => {
      if (error || session !== this.#session) return;
      const { result, exceptionDetails: details } = reply;
      const value = this.#value(result);
      if (result.objectId) session.post("Runtime.releaseObjectGroup", { objectGroup: GROUP });
      if (!details) callback({ value });
      else if (inside)
        // Nothing has run: errors of running code arrive later, as a rejected promise.
        callback({ syntax: value, line: details.lineNumber, column: details.columnNumber });
      else callback({ thrown: value });
    });
    inside = false;
    this.#evaluating = false;
  }

  // Does the same for text that declares and awaits nothing. V8's console mode makes no difference for such text, and
  // running it without the inspector is faster.
  evaluatePlain(source, callback) {
    let script;
    try {
      script = new Script(source, COMPILE);
    } catch {
      this.evaluate(source, callback); // reports the position of the error
      return;
    }
    let reply;
    try {
      reply = { value: apply(runInContext, script, [this.#context, RUN]) };
    } catch (thrown) {
      reply = { thrown };
    }
    callback(reply);
  }

  /** Names that let, const and class have declared in the context. */
  lexicalNames() {
    if (!this.#session) this.#connect();
    let found = [];
    const params = { executionContextId: this.#contextId };
    this.#session.post("Runtime.globalLexicalScopeNames", params, (_error, { names }) => {
      found = names;
    });
    return found;
  }

  /** Returns [name, value] for the names in `wanted` that let, const or class have declared; undefined = all of them.
   * Evaluates only the names, without side effects. */
  lexical(wanted) {
    const names = this.lexicalNames();
    const pairs = [];
    for (const name of wanted ? wanted.filter((one) => names.includes(one)) : names) {
      const params = {
        expression: name,
        contextId: this.#contextId,
        throwOnSideEffect: true,
        silent: true,
        objectGroup: GROUP,
      };
      this.#session.post("Runtime.evaluate", params, (_failed, { result, exceptionDetails: details }) => {
        if (!details) pairs.push([name, this.#value(result)]);
      });
    }
    this.#session.post("Runtime.releaseObjectGroup", { objectGroup: GROUP });
    return pairs;
  }

  /** The inspector's description of a value (its RemoteObject), without running any of its code. */
  preview(value) {
    if (!this.#session) this.#connect();
    let found = { type: typeof value };
    this.#box.value = value;
    const params = {
      expression: `${this.boxExpression}.value`,
      contextId: this.#contextId,
      generatePreview: true,
      silent: true,
      objectGroup: GROUP,
    };
    this.#session.post("Runtime.evaluate", params, (_error, { result }) => {
      found = result;
    });
    this.#box.value = undefined;
    this.#session.post("Runtime.releaseObjectGroup", { objectGroup: GROUP });
    return found;
  }

  #value(remote) {
    if (!remote.objectId) return primitive(remote);
    this.#session.post("Runtime.callFunctionOn", {
      functionDeclaration: "function (value) { this.value = value }",
      objectId: this.#boxId,
      arguments: [{ objectId: remote.objectId }],
      silent: true,
    });
    const { value } = this.#box;
    this.#box.value = undefined;
    return value;
  }

  // Ends all JavaScript on the stack at its next interrupt check. The code cannot catch this.
  terminate() {
    clearImmediatesBehind();
    clearAsyncIdStack();
    drainThisTurn();
    if (!this.#evaluating) this.forget();
    this.#control.post("Runtime.terminateExecution");
  }

  // Ends the caller itself in the same way. Does not return.
  terminateHere() {
    for (;;) this.terminate(); // repeated: a request can be rejected while another one is being processed
  }

  // Abandons the evaluated code. An inspector session must not outlive a promise that it waits for: if such a promise
  // is garbage-collected, V8 answers the request during the collection, and the process crashes.
  forget() {
    this.#session?.disconnect();
    this.#session = null;
  }
}
