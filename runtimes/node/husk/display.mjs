// Converts values to MIME bundles in the link's format (docs/protocol.md, section 2).

import util from "node:util";
import { addChart } from "./charts.mjs";
import { TEXT_MAX, shorten, valid } from "./text.mjs";

const MIME = /^[!-~]{1,63}\/[!#-[\]-~]{1,64}$/;
const BUNDLE_MAX = 32;
// Limits for the JSON form of a value; data for display() may be larger.
const PLAIN = { depth: 50, containers: 10_000, length: 1 << 20 };
const LINK = { depth: 90, containers: 90_000, length: 12 << 20 }; // below the limits of kernels/cells/link.h
const INTEGER_MAX = 2 ** 63; // some JSON parsers cannot read larger integers

const MAGIC = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF....WEBP/s],
  ["audio/wav", /^RIFF....WAVE/s],
  ["audio/ogg", /^OggS/],
  ["audio/mpeg", /^(?:ID3|\xff[\xf2\xf3\xfa\xfb])/],
  ["video/mp4", /^....ftyp/s],
];

const isJson = (mime) => mime === "application/json" || mime.endsWith("+json");
const isText = (mime) => mime.startsWith("text/") || /(?:\+xml|\/javascript|\/xml)$/.test(mime);
/** True if data of this type is base64 in a bundle. */
export const isBase64 = (mime) => !isJson(mime) && !isText(mime);
const isBytes = (value) => ArrayBuffer.isView(value) || util.types.isAnyArrayBuffer(value);

class NotPlain extends Error {}

/** Copies values that every JSON parser reads alike. Throws NotPlain for all other values. */
class Plain {
  #limits;
  #above = new Set();
  #containers = 0;

  constructor(limits) {
    this.#limits = limits;
  }

  copy(value) {
    switch (typeof value) {
      case "string":
        return valid(value);
      case "boolean":
        return value;
      case "number":
        if (!Number.isFinite(value) || Math.abs(value) >= INTEGER_MAX) throw new NotPlain();
        return value;
      case "object":
        return value === null ? null : this.#container(value);
      default:
        throw new NotPlain();
    }
  }

  #container(value) {
    if (util.types.isProxy(value) || this.#above.has(value)) throw new NotPlain();
    if (this.#above.size >= this.#limits.depth || ++this.#containers > this.#limits.containers) throw new NotPlain();
    this.#above.add(value);
    const copy = Array.isArray(value) ? this.#array(value) : this.#object(value);
    this.#above.delete(value);
    return copy;
  }

  #array(array) {
    if (Object.keys(array).length !== array.length) throw new NotPlain();
    return Array.from(array, (item) => this.copy(item));
  }

  #object(object) {
    const prototype = Object.getPrototypeOf(object);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw new NotPlain();
    if (prototype !== null && !Object.hasOwn(prototype, "isPrototypeOf")) throw new NotPlain(); // not an Object.prototype, of this context or another
    const copy = {};
    for (const key of Reflect.ownKeys(object)) {
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (typeof key === "symbol" || !("value" in property)) throw new NotPlain();
      Object.defineProperty(copy, valid(key), {
        value: this.copy(property.value),
        enumerable: true,
        configurable: true,
      });
    }
    return copy;
  }
}

/** The value as JSON if it is a plain array or object of a moderate size, else undefined. */
function plainJson(value) {
  if (typeof value !== "object" || value === null || isBytes(value)) return undefined;
  try {
    const copy = new Plain(PLAIN).copy(value);
    return JSON.stringify(copy).length <= PLAIN.length ? copy : undefined;
  } catch (error) {
    if (error instanceof NotPlain || error instanceof RangeError) return undefined;
    throw error;
  }
}

function asJson(value) {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError("display: this value cannot be converted to JSON");
  try {
    return new Plain(LINK).copy(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof NotPlain)) throw error;
    throw new RangeError("display: this JSON is too deep, too large or has integers beyond 64 bits", { cause: error });
  }
}

function bytesOf(value) {
  return util.types.isAnyArrayBuffer(value)
    ? Buffer.from(value)
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function base64(mime, value) {
  if (isBytes(value)) return bytesOf(value).toString("base64");
  if (Array.isArray(value) || typeof value !== "string")
    throw new TypeError(`display: ${mime} must be a Buffer or base64`);
  const text = value
    .replace(/^data:[^,]*;base64,/, "")
    .replace(/\s+/g, "")
    .replace(/-/g, "+")
    .replace(/_/g, "/");
  const padded = text.replace(/=+$/, "").padEnd(Math.ceil(text.replace(/=+$/, "").length / 4) * 4, "=");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(padded)) throw new TypeError(`display: the data for ${mime} is not base64`);
  return padded;
}

function entry(mime, value) {
  if (!MIME.test(mime)) throw new TypeError(`display: ${util.inspect(mime)} is not a MIME type`);
  if (isJson(mime)) return asJson(value);
  if (isBase64(mime)) return base64(mime, value);
  return valid(isBytes(value) ? bytesOf(value).toString() : Array.isArray(value) ? value.join("") : value);
}

function bundleOf(parts) {
  const bundle = {};
  for (const [mime, value] of Object.entries(parts).slice(0, BUNDLE_MAX)) {
    if (value !== undefined && value !== null) bundle[mime] = entry(mime, value);
  }
  addChart(bundle);
  return bundle;
}

function sniff(bytes) {
  const head = bytesOf(bytes).toString("latin1", 0, 16);
  return MAGIC.find(([, magic]) => magic.test(head))?.[0];
}

const { inspect } = util;

/** The text that inspect() would return, for simple values; undefined for any other. */
function plainText(value) {
  if (util.inspect !== inspect || inspect.defaultOptions.numericSeparator) return undefined; // a cell has changed the format
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : `${value}`;
  return typeof value === "boolean" ? `${value}` : undefined;
}

/** Returns a value as Node's prompt shows it, and as JSON if it is plain data. `errors` cleans stacks in the text. */
export function valueBundle(value, errors) {
  const plain = plainText(value);
  if (plain !== undefined) return { "text/plain": plain };
  const rich = typeof value === "object" && value !== null ? value[Symbol.for("Jupyter.display")] : undefined;
  if (typeof rich === "function") {
    const offered = Reflect.apply(rich, value, []);
    if (offered && typeof offered.then !== "function") return bundleOf(offered);
  }
  errors.cleanStacks(value);
  const text = util.inspect(value, {
    ...util.inspect.defaultOptions,
    ...util.inspect.replDefaults,
    showProxy: true,
    colors: false,
  });
  const note = "characters (print a part of it, or write it to a file in /workspace)";
  const bundle = { "text/plain": shorten(valid(errors.clean(text)), TEXT_MAX, note) };
  const json = plainJson(value);
  if (json !== undefined) {
    bundle["application/json"] = json;
    addChart(bundle);
  }
  return bundle;
}

const SHORT = {
  html: "text/html",
  svg: "image/svg+xml",
  markdown: "text/markdown",
  latex: "text/latex",
  text: "text/plain",
  json: "application/json",
};
const MEDIA = { image: "image/png", audio: "audio/wav", video: "video/mp4" };

/** The parts of an argument of display(): { html }, { image, mimeType }, { type, data } or { "text/html": … }. */
function partsOf(value) {
  const parts = {};
  for (const [name, mime] of Object.entries(SHORT)) if (value[name] !== undefined) parts[mime] = value[name];
  for (const [name, mime] of Object.entries(MEDIA)) {
    const data = value[name];
    if (data !== undefined) parts[value.mimeType ?? (isBytes(data) ? sniff(data) : undefined) ?? mime] = data;
  }
  if (typeof value.type === "string" && value.type.includes("/") && value.data !== undefined)
    parts[value.type] = value.data;
  const keys = Object.keys(value);
  if (keys.length && keys.every((key) => MIME.test(key))) Object.assign(parts, value);
  return parts;
}

/** Converts an argument of display() to a bundle. */
export function displayBundle(value, errors) {
  if (typeof value === "string") return bundleOf({ "text/html": value });
  if (typeof value !== "object" || value === null) return valueBundle(value, errors);
  if (isBytes(value)) {
    const mime = sniff(value);
    return mime ? bundleOf({ [mime]: value }) : valueBundle(value, errors);
  }
  const bundle = bundleOf(partsOf(value));
  return Object.keys(bundle).length ? bundle : valueBundle(value, errors);
}

/** Removes the largest part of a bundle that is too long for one message, and adds a note about that. */
export function dropLargest(bundle) {
  const size = (mime) => JSON.stringify(bundle[mime]).length;
  const mimes = Object.keys(bundle).filter((mime) => mime !== "text/plain");
  const largest = mimes.reduce((a, b) => (size(b) > size(a) ? b : a));
  const note =
    `[${largest} of ${size(largest).toLocaleString("en")} bytes left out: one output holds 12 MiB at most. ` +
    "Write it to a file in /workspace and export that.]";
  delete bundle[largest];
  const text = bundle["text/plain"];
  bundle["text/plain"] = text ? `${text}\n${note}` : note;
}
