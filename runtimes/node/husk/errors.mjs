// Errors as text: Node's own stack traces, from the user's code on, in a bounded length.

import util from "node:util";
import { AGAIN } from "./modules.mjs";
import { shorten, valid } from "./text.mjs";

const TRACEBACK_MAX = 32 << 10;
const SOURCES_MAX = 4 << 20; // characters
const MESSAGE_MAX = 16 << 10;
const KERNEL = new URL("..", import.meta.url).href;
const ENTRIES = ["node:inspector:", `${KERNEL}husk/turns.mjs:`]; // below these frames everything is the kernel's
const MARK = new RegExp(`[?&]${AGAIN}=\\d+`, "g");
const CELL = /<cell-(\d+)>(?::(\d+):(\d+))?/g;

// V8 takes no space in a script's name.
export const scriptName = (number) => `<cell-${number}>`;

/** Without the frames that `isUnwanted` and all that is below an entry. */
function withoutFrames(text, isUnwanted) {
  let below = false;
  const kept = [];
  for (const line of text.split("\n")) {
    const isFrame = /^\s+at /.test(line);
    below = isFrame && (below || ENTRIES.some((entry) => line.includes(entry)));
    if (!below && !(isFrame && isUnwanted(line))) kept.push(line);
    else if (line.endsWith(" {") && !kept.at(-1)?.endsWith(" {")) kept.push(`${kept.pop()} {`); // of the properties that follow
  }
  return kept.join("\n");
}

const isKernel = (line) => line.includes(KERNEL);
const isInternal = (line) => isKernel(line) || line.includes("(node:internal/") || line.includes(" node:internal/");

const isError = (value) => util.types.isNativeError(value) || value instanceof Error;

function typeOf(error) {
  const { name, constructor } = error;
  if (typeof name === "string" && name && name !== "Error") return name;
  return constructor?.name || "Error";
}

export class Errors {
  #sources = new Map();
  #size = 0;

  /** Positions in errors are translated to the text that the user wrote, for the latest cells. */
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

  /** Plain text from text that may have script names and the kernel's frames; quick for text that has none. */
  clean(text) {
    let plain = text.includes(KERNEL) || text.includes(ENTRIES[0]) ? withoutFrames(text, isKernel) : text;
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

  /** Cleans the stacks of an error and of all that hang on it, for Node compares them line by line when it shows them. */
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

  /** As Node shows it, with cause, errors and own properties; a string whatever the error's own methods do. */
  text(error) {
    try {
      this.cleanStacks(error);
      return withoutFrames(this.clean(util.inspect(error)), isInternal);
    } catch {
      return "[an error that cannot be shown]";
    }
  }

  #fields(type, message, traceback) {
    return {
      type: valid(type).slice(0, 200),
      message: shorten(valid(message), MESSAGE_MAX),
      traceback: shorten(valid(traceback), TRACEBACK_MAX),
    };
  }

  /** The fields of the link's `error` message for whatever was thrown. */
  report(thrown) {
    try {
      if (isError(thrown)) return this.#fields(typeOf(thrown), String(thrown.message), this.text(thrown));
    } catch {
      // An error with hostile properties is shown as a value.
    }
    const shown = this.text(thrown);
    return this.#fields("Thrown", shown, `Uncaught ${shown}`);
  }

  /** A mistake in the cell's own text: where it is, and a caret below it. */
  reportSyntax(error, source, line, column) {
    const at = source.origin(line, column);
    const text = source.code.split("\n")[at.line] ?? "";
    const mark = text.slice(0, at.column).replace(/[^\t]/g, " ");
    const head = `${typeOf(error)}: ${error.message}`;
    const where = text.length > 500 ? "" : `${text}\n${mark}^\n\n`;
    return this.#fields(typeOf(error), error.message, `<cell ${source.number}>:${at.line + 1}\n${where}${head}`);
  }

  /** Something that ended the cell and is no error of its code; `stack` says where. */
  reportEnd(type, message, stack = "") {
    const frames = stack
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .join("\n");
    return this.#fields(
      type,
      message,
      `${type}: ${message}\n${withoutFrames(this.clean(frames), isInternal)}`.trimEnd(),
    );
  }
}
