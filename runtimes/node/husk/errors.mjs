// Errors as text: Node's own stack traces, starting at the user's code, with a bounded length.

import { fileURLToPath } from "node:url";
import util from "node:util";
import { AGAIN, MARK } from "./modules.mjs";
import { shorten, valid } from "./text.mjs";

const TRACEBACK_MAX = 32 << 10;
const SOURCES_MAX = 4 << 20; // characters
const MESSAGE_MAX = 16 << 10;
const DETAILS_MAX = 2000; // characters of an error with all its properties
const KERNEL = new URL("..", import.meta.url).href;
const KERNEL_PATH = fileURLToPath(KERNEL); // frames of CommonJS files have paths instead of URLs
const ENTRIES = ["node:inspector:", `${KERNEL}husk/turns.mjs:`]; // all frames below these belong to the kernel
// A frame with this text also belongs to the kernel if it is directly below the top level of a cell: the kernel runs
// cells this way, and a cell cannot call it.
const RUN = "Script.runInContext (node:vm:";
const TOP_LEVEL = /^\s*(?:at )?<cell[- ]\d+>:\d+:\d+$/;
const CELL = /<cell-(\d+)>(?::(\d+):(\d+))?/g;

// A script's name in V8 must not contain a space.
export const scriptName = (number) => `<cell-${number}>`;

// Also matches frames as node:test prints them, without "at".
const FRAME =
  /^\s+(?:at |\.\.\. \d+ lines matching |(?:[^()]* \()?(?:async )?(?:file:|node:|<cell[- ]|\/)[^()]*:\d+:\d+\)?$)/;
const FOREIGN = /\/node_modules\/|[( ]node:/;
const RUN_SHOWN = 3; // consecutive frames of packages; of more, only the first and the last are shown

const isEntry = (line, above) =>
  ENTRIES.some((entry) => line.includes(entry)) || (line.includes(RUN) && TOP_LEVEL.test(above));

/** Removes the frames that match `isUnwanted` and all frames below an entry. */
function withoutFrames(text, isUnwanted) {
  let below = false;
  const kept = [];
  for (const line of text.split("\n")) {
    const isFrame = FRAME.test(line);
    below = isFrame && (below || isEntry(line, kept.at(-1)));
    if (!below && !(isFrame && isUnwanted(line))) kept.push(line);
    else if (line.endsWith(" {") && !kept.at(-1)?.endsWith(" {")) kept.push(`${kept.pop()} {`); // the properties that follow need the brace
  }
  return kept.join("\n");
}

/** Folds consecutive frames of packages or Node: of many, keeps the first and the last. */
function folded(text) {
  const kept = [];
  let run = [];
  const flush = () => {
    const middle = run.length > RUN_SHOWN ? run.splice(1, run.length - 2) : [];
    if (middle.length)
      run.splice(
        1,
        0,
        `${/^\s*/.exec(run[0])[0]}[... ${middle.length} frames of packages left out, _error.stack has them ...]`,
      );
    kept.push(...run);
    run = [];
  };
  for (const line of text.split("\n")) {
    const isLast = line.endsWith(" {"); // the last frame of a stack, before the error's properties
    if (/^\s+at /.test(line) && FOREIGN.test(line)) run.push(line);
    else {
      flush();
      kept.push(line);
    }
    if (isLast) flush();
  }
  flush();
  return kept.join("\n");
}

/** The server's reply in the properties of an HTTP client's error, as text; undefined if there is none. */
function responseText(error) {
  const own = (object, key) => {
    const value =
      object && typeof object === "object" && !util.types.isProxy(object)
        ? Object.getOwnPropertyDescriptor(object, key)?.value
        : undefined;
    return typeof value === "function" ? undefined : value;
  };
  const response = own(error, "response");
  const said = ["status", "statusText", "data", "body"]
    .map((key) => [key, own(response, key)])
    .filter(([, value]) => value !== undefined);
  if (said.length)
    return util.inspect(Object.fromEntries(said), {
      depth: 2,
      maxStringLength: 500,
      maxArrayLength: 10,
      breakLength: 120,
    });
}

const isKernel = (line) => line.includes(KERNEL) || line.includes(`(${KERNEL_PATH}`);
const isInternal = (line) => isKernel(line) || line.includes("(node:internal/") || line.includes(" node:internal/");

const isError = (value) => util.types.isNativeError(value) || value instanceof Error;

const MISSING = /^Cannot find (?:module|package) '(?:@[\w.~-]+\/)?[\w~-][\w.~-]*(?:\/[^']*)?'/;
const REQUIRED_BY = /\nRequire stack:\n(?:- .*(?:\n|$))+/; // in the message; the stack frames show the same
const MISSING_FIELDS = /\s\{\n {2}code: '(?:ERR_)?MODULE_NOT_FOUND'(?:,\n {2}requireStack: \[[^\]]*\])?\n\}$/;

const isMissingPackage = ({ code, message }) =>
  (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND") && MISSING.test(message);

function typeOf(error) {
  const { name, constructor } = error;
  if (typeof name === "string" && name && name !== "Error") return name;
  return constructor?.name || "Error";
}

export class Errors {
  #sources = new Map();
  #size = 0;

  /** Remembers the source of a cell, to translate positions in errors to the user's text. Keeps the latest cells. */
  know(source) {
    if (!source.edits) return;
    this.#sources.set(source.number, source);
    this.#size += source.text.length;
    while (this.#size > SOURCES_MAX && this.#sources.size > 1) {
      const [number, oldest] = this.#sources.entries().next().value;
      this.#size -= oldest.text.length;
      this.#sources.delete(number);
    }
  }

  /** Removes script names and the kernel's frames from text; fast for text without them. */
  clean(text) {
    const hasFrames = text.includes(KERNEL) || text.includes(ENTRIES[0]) || text.includes(RUN);
    let plain = hasFrames ? withoutFrames(text, isKernel) : text;
    if (plain.includes(AGAIN)) plain = plain.replace(MARK, "");
    if (!plain.includes("<cell-")) return plain;
    return plain.replace(CELL, (_all, number, line, column) => {
      if (line === undefined) return `<cell ${number}>`;
      const source = this.#sources.get(Number(number));
      const place = { line: line - 1, column: column - 1 };
      const origin = source ? source.origin(place.line, place.column) : place;
      return `<cell ${number}>:${origin.line + 1}:${origin.column + 1}`;
    });
  }

  /** Cleans the stacks of an error and of all errors attached to it, since Node compares them line by line when
   * it shows them. */
  cleanStacks(error) {
    const seen = new Set();
    const clean = (one) => {
      if (!util.types.isNativeError(one) || util.types.isProxy(one) || seen.has(one)) return;
      seen.add(one);
      const { stack } = one;
      const cleaned = typeof stack === "string" ? this.clean(stack) : stack;
      if (cleaned !== stack) Reflect.set(one, "stack", cleaned);
      for (const key of ["cause", "error", "suppressed"]) clean(Object.getOwnPropertyDescriptor(one, key)?.value);
      const errors = Object.getOwnPropertyDescriptor(one, "errors")?.value;
      if (Array.isArray(errors)) errors.forEach(clean);
    };
    clean(error);
  }

  /** Returns an error as Node shows it, with cause, errors and own properties; always a string, whatever the error's
   * own methods do. If the properties are whole requests and sockets, only their names are shown. */
  text(error) {
    try {
      this.cleanStacks(error);
      const text = this.#inspect(error, util.inspect.defaultOptions.depth);
      if (text.length <= DETAILS_MAX) return text;
      const shallow = this.#inspect(error, 0);
      if (text.length - shallow.length < DETAILS_MAX / 2) return text; // the message is long, not the properties
      const response = responseText(error);
      return response
        ? shallow.replace(/^(\s*response): \[.*\](,?)$/m, (_all, name, comma) => `${name}: ${response}${comma}`)
        : shallow;
    } catch {
      return "[an error that cannot be shown]";
    }
  }

  #inspect(error, depth) {
    return folded(withoutFrames(this.clean(util.inspect(error, { depth })), isInternal));
  }

  #fields(type, message, traceback) {
    return {
      type: valid(type).slice(0, 200),
      message: shorten(valid(message), MESSAGE_MAX),
      traceback: shorten(valid(traceback), TRACEBACK_MAX),
    };
  }

  /** The fields of the link's `error` message for a thrown value. */
  report(thrown) {
    try {
      if (isError(thrown)) {
        if (isMissingPackage(thrown)) return this.#reportMissing(thrown);
        return this.#fields(typeOf(thrown), String(thrown.message), this.text(thrown));
      }
    } catch {
      // An error whose properties throw is shown as a value.
    }
    const shown = this.text(thrown);
    return this.#fields("Thrown", shown, `Uncaught ${shown}`);
  }

  /** Reports a missing package with a message of one line. The server adds what to do, because only it knows whether
   * the session has a network. */
  #reportMissing(error) {
    const traceback = this.text(error).replace(MISSING_FIELDS, "").replace(REQUIRED_BY, "\n").trimEnd();
    return this.#fields(typeOf(error), String(error.message).replace(REQUIRED_BY, ""), traceback);
  }

  /** Reports a syntax error in the cell's own text: its position, and the line with a caret below the error. */
  reportSyntax(error, source, line, column) {
    const at = source.origin(line, column);
    const text = source.code.split("\n")[at.line] ?? "";
    const mark = text.slice(0, at.column).replace(/[^\t]/g, " ");
    const head = `${typeOf(error)}: ${error.message}`;
    const where = text.length > 500 ? "" : `${text}\n${mark}^\n\n`;
    return this.#fields(typeOf(error), error.message, `<cell ${source.number}>:${at.line + 1}\n${where}${head}`);
  }

  /** Reports an event that ended the cell but is not an error of its code; `stack` says where it happened. */
  reportEnd({ type, message, exitCode }, stack = "") {
    const frames = stack
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .join("\n");
    const traceback = `${type}: ${message}\n${withoutFrames(this.clean(frames), isInternal)}`.trimEnd();
    return { ...this.#fields(type, message, traceback), exit_code: exitCode };
  }
}
