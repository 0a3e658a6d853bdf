// Node's own modules and ES modules live outside of the cells' context, with their own arrays, objects, errors and
// promises. This file hides the difference for `instanceof` and deep equality. CommonJS modules run in the context
// (modules.mjs).

import { createRequire, syncBuiltinESMExports } from "node:module";
import util from "node:util";

const { types } = util;
const require = createRequire(import.meta.url);

// Built-ins that syntax or errors create, so each side has its own. All others are shared (context.mjs).
const OWN = [
  "Object",
  "Function",
  "Array",
  "RegExp",
  "Promise",
  "Error",
  "AggregateError",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
];

const ordinary = Function.prototype[Symbol.hasInstance];

function recognise(constructor, foreign) {
  Object.defineProperty(constructor, Symbol.hasInstance, {
    value(value) {
      if (Reflect.apply(ordinary, this, [value])) return true;
      return this === constructor && Reflect.apply(ordinary, foreign, [value]); // a subclass inherits this method
    },
    writable: true,
    configurable: true,
  });
}

/** Copies values so that all parts of the copy belong to one side; values that belong to neither are used unchanged. */
class Unifier {
  #prototypes = new Map();
  #copies = new Map();

  constructor(context) {
    for (const name of OWN) this.#prototypes.set(context[name].prototype, globalThis[name].prototype);
  }

  copy(value) {
    if (typeof value !== "object" || value === null || types.isProxy(value)) return value;
    if (this.#copies.has(value)) return this.#copies.get(value);
    const copy = this.#shell(value);
    this.#copies.set(value, copy);
    if (copy !== value) this.#fill(copy, value);
    return copy;
  }

  #shell(value) {
    const prototype = Object.getPrototypeOf(value);
    const home = this.#prototypes.get(prototype) ?? prototype;
    if (Array.isArray(value)) return Object.setPrototypeOf([], home);
    if (types.isMap(value)) return Object.setPrototypeOf(new Map(), home);
    if (types.isSet(value)) return Object.setPrototypeOf(new Set(), home);
    if (types.isNativeError(value)) return Object.setPrototypeOf(new Error(), home);
    if (types.isRegExp(value)) return Object.setPrototypeOf(new RegExp(value), home);
    return Object.prototype.toString.call(value) === "[object Object]" ? Object.create(home) : value;
  }

  #fill(copy, value) {
    if (types.isMap(value)) for (const [key, item] of value) copy.set(this.copy(key), this.copy(item));
    if (types.isSet(value)) for (const item of value) copy.add(this.copy(item));
    for (const key of Reflect.ownKeys(value)) {
      const property = Object.getOwnPropertyDescriptor(value, key);
      if ("value" in property) property.value = this.copy(property.value);
      Object.defineProperty(copy, key, property);
    }
  }
}

export class Realms {
  #context;
  #assertAdapted = false;

  constructor(context) {
    this.#context = context;
    for (const name of OWN) {
      recognise(context[name], globalThis[name]);
      recognise(globalThis[name], context[name]);
    }
    const { isDeepStrictEqual } = util;
    util.isDeepStrictEqual = (a, b) => isDeepStrictEqual(a, b) || isDeepStrictEqual(...this.#unified(a, b));
  }

  #unified(...values) {
    const unifier = new Unifier(this.#context);
    return values.map((value) => unifier.copy(value));
  }

  /** Called before code that may use `assert`, so that the module is loaded only then. */
  prepareFor(text) {
    if (this.#assertAdapted || !text.includes("assert")) return;
    this.#assertAdapted = true;
    const assert = require("node:assert");
    const names = ["deepStrictEqual", "notDeepStrictEqual", "partialDeepStrictEqual"].filter((name) => assert[name]);
    for (const name of names) {
      const adapted = this.#adapt(assert[name], name.startsWith("not"));
      assert[name] = assert.strict[name] = adapted;
      const short = name.replace("Strict", "");
      if (assert.strict[short] !== assert[short]) assert.strict[short] = adapted;
    }
    syncBuiltinESMExports();
  }

  #adapt(compare, negative) {
    const adapted = (actual, expected, ...message) => {
      const [a, b] = negative ? this.#unified(actual, expected) : [actual, expected];
      try {
        return compare(a, b, ...message);
      } catch (error) {
        if (negative || error.code !== "ERR_ASSERTION") throw error;
        try {
          return compare(...this.#unified(actual, expected), ...message);
        } catch {
          throw error;
        }
      }
    };
    return Object.defineProperty(adapted, "name", { value: compare.name });
  }
}
