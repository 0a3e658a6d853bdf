// Lists the variables that the cells have declared, without running user code.

import util from "node:util";

const SHOWN = 100;
const NAME_MAX = 200;
const NODES_MAX = 2000; // parts examined to estimate the size of one value
const POINTER = 8;
const TIME_MS = 100; // for all variables together

const { types } = util;

/** The name of a value's class, read from data properties only. */
function classOf(value) {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) return "Object";
  const constructor = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  const name =
    typeof constructor === "function" && !types.isProxy(constructor)
      ? Object.getOwnPropertyDescriptor(constructor, "name")?.value
      : "";
  return typeof name === "string" && name ? name.slice(0, NAME_MAX) : "Object";
}

function typeOf(value) {
  if (value === null) return "null";
  if (typeof value === "function")
    return /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "function";
  if (typeof value !== "object") return typeof value;
  return types.isProxy(value) ? "Proxy" : classOf(value);
}

const size = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
const bytesOf = size(Object.getPrototypeOf(Uint8Array.prototype), "byteLength");
const lengthOf = size(Object.getPrototypeOf(Uint8Array.prototype), "length");
const mapSize = size(Map.prototype, "size");
const setSize = size(Set.prototype, "size");

/** The number of items of a value, as text; "" if it has none. */
function shapeOf(value) {
  if (typeof value === "string") return String(value.length);
  if (typeof value !== "object" || value === null || types.isProxy(value)) return "";
  if (Array.isArray(value)) return String(value.length);
  if (types.isTypedArray(value)) return String(Reflect.apply(lengthOf, value, []));
  if (types.isMap(value)) return String(Reflect.apply(mapSize, value, []));
  if (types.isSet(value)) return String(Reflect.apply(setSize, value, []));
  return types.isDate(value) || types.isRegExp(value) || types.isPromise(value)
    ? ""
    : String(Object.keys(value).length);
}

/** Estimates the bytes of a value. For a large value, extrapolates from the parts that are reached first. */
function estimate(root) {
  let seen = 0;
  let left = 0;
  let bytes = 0;
  const known = new Set();
  const queue = [root];
  while (queue.length) {
    if (seen >= NODES_MAX) {
      left += queue.length;
      break;
    }
    const value = queue.shift();
    seen++;
    if (typeof value === "string") bytes += value.length;
    if (typeof value !== "object" || value === null || types.isProxy(value) || known.has(value)) {
      bytes += POINTER;
      continue;
    }
    known.add(value);
    bytes += 2 * POINTER;
    if (types.isTypedArray(value)) bytes += Reflect.apply(bytesOf, value, []);
    else if (types.isAnyArrayBuffer(value)) bytes += value.byteLength;
    else left += addItems(value, queue);
  }
  return Math.round(bytes + (left * bytes) / seen);
}

function first(iterator, n) {
  const items = [];
  for (const item of iterator) if (items.push(item) >= n) break;
  return items;
}

/** Adds the parts of a value to the queue; returns how many were left out. */
function addItems(value, queue) {
  const room = NODES_MAX;
  if (Array.isArray(value)) {
    for (let i = 0; i < Math.min(value.length, room); i++) {
      const item = Object.getOwnPropertyDescriptor(value, i);
      if (item && "value" in item) queue.push(item.value);
    }
    return Math.max(0, value.length - room);
  }
  let items = [];
  if (types.isMap(value)) items = first(Map.prototype.entries.call(value), room).flat();
  else if (types.isSet(value)) items = first(Set.prototype.values.call(value), room);
  const keys = Reflect.ownKeys(value);
  for (const key of keys.slice(0, room)) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if ("value" in property) items.push(property.value);
  }
  for (const item of items) queue.push(item);
  return Math.max(0, keys.length - room);
}

/** Returns { total, variables } for [name, value] pairs: the name, type, shape and bytes of each; the largest first. */
export function describe(pairs, limit = SHOWN) {
  const until = performance.now() + TIME_MS;
  const variables = [];
  for (const [name, value] of pairs) {
    if (performance.now() > until) break;
    variables.push({
      name: name.slice(0, NAME_MAX),
      type: typeOf(value),
      shape: shapeOf(value),
      bytes: estimate(value),
    });
  }
  variables.sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
  return { total: pairs.length, variables: variables.slice(0, limit) };
}

/** Returns the variables of a context, except the names in `before`, getters and names before their declaration. */
export function pairsOf(context, evaluator, before) {
  const pairs = evaluator.lexical();
  for (const name of Object.getOwnPropertyNames(context)) {
    const property = Object.getOwnPropertyDescriptor(context, name);
    if (!before.has(name) && "value" in property) pairs.push([name, property.value]);
  }
  return pairs;
}
