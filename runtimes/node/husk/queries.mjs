// Answers the queries of consoles and editors while a user types: completion, help, whether code is complete. The
// answers come from names and descriptors. No user code runs, neither getters nor proxies.

import fs from "node:fs";
import module, { builtinModules } from "node:module";
import util from "node:util";
import { isOwnGetter } from "./context.mjs";
import { parser } from "./internals.mjs";
import { PARSE } from "./source.mjs";

const MATCHES_MAX = 1000;
const MATCHES_CHARS = 100000;
const TEXT_MAX = 30000;
const PROTOTYPES_MAX = 50;
const INDEXED_MAX = 1000; // an array's own names are mostly its indexes
const NAMES_SHOWN = 60;

const NAME = "[\\p{ID_Start}$_][\\p{ID_Continue}$\\u200c\\u200d]*";
const IS_NAME = new RegExp(`^${NAME}$`, "u");
const WORD_BEFORE = /[\p{ID_Continue}$\u200c\u200d]*$/u;
const WORD_AFTER = /^[\p{ID_Continue}$\u200c\u200d]*/u;
// Matches a.b?.c["d"][0], with nothing before it that would change its meaning.
const PATH = new RegExp(
  `(?<![\\p{ID_Continue}$.)\\]"'\`])(${NAME})((?:\\??\\.${NAME}|(?:\\?\\.)?\\[(?:\\d+|"[^"\\\\]*"|'[^'\\\\]*')\\])*)$`,
  "u",
);
const STEP = new RegExp(`\\??\\.(${NAME})|(?:\\?\\.)?\\[(?:(\\d+)|"([^"\\\\]*)"|'([^'\\\\]*)')\\]`, "gu");
const MODULE = /(?:\brequire\s*\(|\bimport\s*\(|\bfrom\b|\bimport\b)\s*["']([^"'\n]*)$/;
const KEYWORDS = [
  "async",
  "await",
  "break",
  "case",
  "catch",
  "class",
  "const",
  "continue",
  "debugger",
  "default",
  "delete",
  "do",
  "else",
  "export",
  "extends",
  "false",
  "finally",
  "for",
  "function",
  "if",
  "import",
  "in",
  "instanceof",
  "let",
  "new",
  "null",
  "of",
  "return",
  "static",
  "super",
  "switch",
  "this",
  "throw",
  "true",
  "try",
  "typeof",
  "undefined",
  "var",
  "void",
  "while",
  "with",
  "yield",
];

const { isProxy, isTypedArray } = util.types;

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
const unitsOf = (text, points) => {
  let at = 0;
  for (let left = points; left > 0 && at < text.length; left--) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
};
const pointsOf = (text) => [...text].length;

/** The value of a property of an object or its prototypes; undefined for a getter or behind a proxy. */
function read(value, key) {
  let object = isObject(value) ? value : Object(value);
  for (let depth = 0; object !== null && depth < PROTOTYPES_MAX; depth++) {
    if (isProxy(object)) return undefined;
    const property = Object.getOwnPropertyDescriptor(object, key);
    if (property) return valueOf(property, object);
    object = Object.getPrototypeOf(object);
  }
  return undefined;
}

function valueOf(property, object) {
  if ("value" in property) return property.value;
  return isOwnGetter(property.get) ? Reflect.apply(property.get, object, []) : undefined;
}

/** The names that can follow a value and a dot; the value's own properties first. */
function namesOf(value) {
  const found = new Set();
  let object = isObject(value) ? value : Object.getPrototypeOf(Object(value));
  for (let depth = 0; object !== null && depth < PROTOTYPES_MAX; depth++) {
    if (isProxy(object)) break;
    for (const name of ownNames(object).sort()) found.add(name);
    object = Object.getPrototypeOf(object);
  }
  return [...found].filter((name) => IS_NAME.test(name));
}

function ownNames(object) {
  if (isTypedArray(object) || (Array.isArray(object) && object.length > INDEXED_MAX)) return ["length"];
  return Object.getOwnPropertyNames(object);
}

export class Queries {
  #context;
  #evaluator;

  constructor(context, evaluator) {
    this.#context = context;
    this.#evaluator = evaluator;
  }

  /** Returns the fields of the answer to a query. */
  answer({ op, code, cursor, detail }) {
    const find = {
      complete: () => this.#complete(code, cursor),
      inspect: () => this.#inspect(code, unitsOf(code, cursor), detail),
      is_complete: () => wholeness(code),
    };
    try {
      return { status: "ok", ...find[op]() };
    } catch {
      return { status: "ok" }; // a value that cannot be inspected
    }
  }

  #complete(code, cursor) {
    const before = code.slice(0, unitsOf(code, cursor));
    const { word, names } = this.#candidates(before);
    const hidden = !word.startsWith("_");
    const fitting = [...new Set(names)].filter((name) => name.startsWith(word) && !(hidden && name.startsWith("__")));
    const matches = [];
    let size = 0;
    for (const name of fitting) {
      size += name.length + 4;
      if (matches.length === MATCHES_MAX || size > MATCHES_CHARS) break;
      matches.push(name.toWellFormed());
    }
    return { matches, start: cursor - pointsOf(word), end: cursor, more: matches.length < fitting.length };
  }

  /** The word before the cursor, and its possible completions. */
  #candidates(before) {
    const inside = MODULE.exec(before);
    if (inside) return { word: inside[1], names: moduleNames() };
    const [word] = WORD_BEFORE.exec(before);
    const rest = before.slice(0, before.length - word.length);
    if (/^\p{Nd}/u.test(word)) return { word, names: [] };
    if (!rest.endsWith(".")) return { word, names: /["'`]$/.test(rest) ? [] : this.#globals() };
    const value = this.#valueOf(rest.replace(/\??\.$/, ""));
    return { word, names: value === undefined || value === null ? [] : namesOf(value) };
  }

  #globals() {
    const own = Object.getOwnPropertyNames(this.#context).filter((name) => IS_NAME.test(name));
    return [...this.#evaluator.lexicalNames(), ...own.sort(), ...KEYWORDS];
  }

  /** The value of a path such as a.b["c"] at the end of a text; undefined if only running code could find it. */
  #valueOf(text) {
    const path = PATH.exec(text);
    if (!path) return /["'`]$/.test(text) ? "" : undefined;
    let value = this.#global(path[1]);
    for (const [, name, index, double, single] of path[2].matchAll(STEP)) {
      if (value === undefined || value === null) return undefined;
      value = read(value, name ?? index ?? double ?? single);
    }
    return value;
  }

  #global(name) {
    if (name === "this" || name === "globalThis") return this.#context;
    const [declared] = this.#evaluator.lexical([name]);
    return declared ? declared[1] : read(this.#context, name);
  }

  #inspect(code, cursor, detail) {
    for (const end of this.#endsOfPaths(code, cursor)) {
      const value = this.#valueOf(code.slice(0, end));
      if (value === undefined) continue;
      const text = this.#describe(value, detail).toWellFormed().replaceAll("\0", "\ufffd");
      const cut = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX).toWellFormed()}\n…` : text;
      return { found: true, data: { "text/plain": cut } };
    }
    return { found: false };
  }

  /** Yields the end of the word at the cursor, then the end of the name of the function that is being called there. */
  *#endsOfPaths(code, cursor) {
    const before = code.slice(0, cursor);
    const after = WORD_AFTER.exec(code.slice(cursor))[0].length;
    if (after > 0 || WORD_BEFORE.exec(before)[0]) yield cursor + after;
    let depth = 0;
    for (let at = before.length - 1; at >= 0; at--) {
      if (/[)\]}]/.test(before[at])) depth++;
      else if (/[([{]/.test(before[at]) && --depth < 0) {
        if (before[at] === "(") yield before.slice(0, at).trimEnd().length;
        return;
      }
    }
  }

  #describe(value, detail) {
    const { type, subtype, className, description, preview } = this.#evaluator.preview(value);
    if (typeof value === "function" && !isProxy(value)) return describeFunction(value, detail);
    const lines = [`Type:   ${subtype === "proxy" ? "Proxy" : (className ?? subtype ?? type)}`];
    lines.push(`Value:  ${shownValue(description ?? String(value), preview)}`);
    if (isObject(value) && !isProxy(value)) {
      const names = namesOf(value).filter((name) => !name.startsWith("__"));
      const more = names.length > NAMES_SHOWN && !detail ? ", …" : "";
      lines.push(`Names:  ${(detail ? names : names.slice(0, NAMES_SHOWN)).join(", ")}${more}`);
    }
    return lines.join("\n");
  }
}

function shownValue(description, preview) {
  if (!preview) return description;
  const array = preview.subtype === "array" || preview.subtype === "typedarray";
  const shown = ({ name, type, value }) => {
    const text = type === "string" ? JSON.stringify(value) : type === "accessor" ? "(getter)" : (value ?? type);
    return array ? text : `${name}: ${text}`;
  };
  const parts = preview.entries
    ? preview.entries.map(({ key, value }) => `${key ? `${key.description} => ` : ""}${value.description}`)
    : preview.properties.map(shown);
  const inside = [...parts, ...(preview.overflow ? ["…"] : [])].join(", ");
  return `${description} ${array ? `[${inside}]` : `{${inside}}`}`;
}

function describeFunction(value, detail) {
  const source = Function.prototype.toString.call(value);
  const native = /\{\s*\[native code\]\s*\}$/.test(source);
  const isClass = /^class\b/.test(source);
  const lines = [`Type:       ${isClass ? "class" : "function"}${native ? ", built in" : ""}`];
  lines.push(`Signature:  ${signatureOf(value, source, native)}`);
  if (detail && !native) lines.push("Source:", source);
  return lines.join("\n");
}

// The text of a method is not an expression.
const METHOD = /^(?:static\s+)?(?!function\b|async\b|class\b)(?=[\p{ID_Continue}$#]+\s*\()/u;

/** The signature of a function: its source text up to the body. */
function signatureOf(value, source, native) {
  const name = Object.getOwnPropertyDescriptor(value, "name")?.value;
  const length = Object.getOwnPropertyDescriptor(value, "length")?.value;
  if (native)
    return `${name}(${Array.from({ length: Math.min(length, 10) || 0 }, (_, i) => `arg${i + 1}`).join(", ")})`;
  const text = METHOD.test(source) ? source.replace(METHOD, "function ") : source;
  try {
    const node = parser().parseExpressionAt(text, 0, PARSE);
    const parameters = (node.type === "ClassExpression" ? constructorOf(node) : node)?.params ?? [];
    return `${name}(${parameters.map(({ start, end }) => text.slice(start, end)).join(", ")})`;
  } catch {
    return source.split("\n", 1)[0];
  }
}

const constructorOf = (node) => node.body.body.find((member) => member.kind === "constructor")?.value;

function moduleNames() {
  const builtin = builtinModules.filter((name) => !name.startsWith("_"));
  return [
    ...installedNames(),
    ...builtin,
    ...builtin.filter((name) => !name.includes(":")).map((name) => `node:${name}`),
  ];
}

function installedNames() {
  try {
    return fs.readdirSync("node_modules").filter((name) => !name.startsWith("."));
  } catch {
    return [];
  }
}

// ---- whether code is complete

function wholeness(code) {
  const [completeness, withTypes] = judge(code);
  const found = completeness === "invalid" && withTypes ? judgeTypes(code) : completeness;
  return { completeness: found, indent: found === "incomplete" ? indentAfter(code) : "" };
}

/** Returns "complete", "incomplete" or "invalid", and whether the code may be TypeScript. */
function judge(code) {
  try {
    parser().parse(code, PARSE);
    return ["complete", false];
  } catch (error) {
    const open = /^Unterminated (?:template|comment)/.test(error.message);
    return [open || error.pos >= code.trimEnd().length ? "incomplete" : "invalid", true];
  }
}

const ENDS_EARLY = /^Unexpected eof|^Unexpected token `<eof>`|got '<eof>'|^Unterminated (?:template|block comment)/;

function judgeTypes(code) {
  try {
    const [completeness] = judge(module.stripTypeScriptTypes(code));
    return completeness;
  } catch (error) {
    return ENDS_EARLY.test(error?.message ?? "") ? "incomplete" : "invalid";
  }
}

function indentAfter(code) {
  const last = code.split("\n").findLast((line) => line.trim()) ?? "";
  const indent = /^\s*/.exec(last)[0];
  return /(?:[{([]|=>)\s*$/.test(last) ? `${indent}  ` : indent;
}
