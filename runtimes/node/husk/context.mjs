// The context in which cells run: a vm context with everything that a Node program has in its global scope.

import { builtinModules, createRequire } from "node:module";
import vm from "node:vm";

const NAME = "husk";

// Built-ins without a literal are the same objects on both sides, so `instanceof` works for them: a Buffer is a
// Uint8Array, a Date from a library is a Date.
const SHARED = new Set([
  "ArrayBuffer",
  "SharedArrayBuffer",
  "DataView",
  "Atomics",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "FinalizationRegistry",
  "Date",
  "Intl",
  "WebAssembly",
  "console",
]);

/** A name in the global scope that cells may still declare or assign again. */
export function define(context, name, value, enumerable = false) {
  Object.defineProperty(context, name, { value, writable: true, configurable: true, enumerable });
}

const getters = new WeakSet();

/** True for a getter of the kernel, which runs no user code. */
export const isOwnGetter = (getter) => getters.has(getter);

/** Registers such a getter. */
export function ownGetter(getter) {
  getters.add(getter);
  return getter;
}

/** Node requires its own global object as `this` of its accessors. */
function mirror(context, name, enumerable) {
  Object.defineProperty(context, name, {
    get: ownGetter(() => globalThis[name]),
    set(value) {
      define(context, name, value, enumerable);
    },
    configurable: true,
    enumerable,
  });
}

/** A property that becomes an ordinary one on first use. */
function defineLazily(context, name, load) {
  Object.defineProperty(context, name, {
    get: ownGetter(() => {
      define(context, name, load());
      return context[name];
    }),
    set(value) {
      define(context, name, value);
    },
    configurable: true,
  });
}

// Node loads most of these on first access, even to their descriptor. Those of fetch take as long as everything else
// at the start of the kernel.
const isClass = (name) => typeof name === "string" && /^[A-Z]/.test(name);

function copyGlobals(context) {
  for (const name of Reflect.ownKeys(globalThis)) {
    const shared = SHARED.has(name);
    if (Object.hasOwn(context, name) && !shared) continue;
    if (isClass(name) && !shared) {
      defineLazily(context, name, () => globalThis[name]);
      continue;
    }
    const property = Object.getOwnPropertyDescriptor(globalThis, name);
    if ("value" in property) Object.defineProperty(context, name, property);
    else mirror(context, name, property.enumerable);
  }
  define(context, "global", context);
}

/** As at Node's prompt: the built-in modules are available without require(). */
function defineModules(context, require) {
  for (const name of builtinModules) {
    if (/^_|\//.test(name) || name in context) continue;
    defineLazily(context, name, () => require(name));
  }
}

/** Returns { context, name }; the inspector knows the context by that name. */
export function createContext() {
  // DONT_CONTEXTIFY: an ordinary global object. A sandbox object behind it would make every global variable many times slower.
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    name: NAME,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  copyGlobals(context);
  defineModules(context, createRequire(import.meta.url));
  return { context, name: NAME };
}
