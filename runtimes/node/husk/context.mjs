// The context in which cells run: a vm context with everything that a Node program has in its global scope.

import { builtinModules, createRequire } from "node:module";
import vm from "node:vm";

const NAME = "husk";

// Built-ins that no literal creates are the same objects inside and outside the context, so `instanceof` works for
// them: a Buffer is a Uint8Array, a Date from a library is a Date.
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

/** Defines a global name that cells may declare or assign again. */
export function define(context, name, value, enumerable = false) {
  Object.defineProperty(context, name, { value, writable: true, configurable: true, enumerable });
}

const getters = new WeakSet();

/** True for a getter of the kernel, which runs no user code. */
export const isOwnGetter = (getter) => getters.has(getter);

/** Registers a getter of the kernel. */
export function ownGetter(getter) {
  getters.add(getter);
  return getter;
}

/** Copies a global accessor into the context. Node requires its own global object as `this` of the accessor. */
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

/** Defines a property that is loaded on first use and is an ordinary property from then on. */
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

// Node loads most of these classes on first access, even to their descriptor. Those of fetch take as long as everything
// else at the start of the kernel.
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

/** Makes the built-in modules available without require(), as at Node's prompt. */
function defineModules(context, require) {
  for (const name of builtinModules) {
    if (/^_|\//.test(name) || name in context) continue;
    defineLazily(context, name, () => require(name));
  }
}

/** Returns { context, name }; the inspector finds the context by that name. */
export function createContext() {
  // DONT_CONTEXTIFY creates an ordinary global object. With a contextified object, every access to a global variable
  // would be many times slower.
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    name: NAME,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  copyGlobals(context);
  defineModules(context, createRequire(import.meta.url));
  return { context, name: NAME };
}
