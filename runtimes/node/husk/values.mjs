// Values that move to and from sessions of other languages (docs/design/values.md describes the file). The manager runs
// give() in one session and take() in another. Whatever is in the file is hostile.

import fs from "node:fs";
import util from "node:util";

const BYTES_MAX = 256 << 20;
const HEADER_MAX = 1 << 20;
const COLUMNS_MAX = 10_000;
const DEPTH_MAX = 100;
const WHERE_MAX = 100; // characters
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const WIDTHS = { bool: 1, int32: 4, int64: 8, float64: 8, time: 8, date: 4, duration: 8, category: 4 };
const DAY_MS = 86_400_000;
const { types } = util;

/** Writes a value to a file. */
export function give(name, value, path) {
  const { header, body } = pack(value);
  const head = Buffer.from(`${JSON.stringify({ husk_value: 1, ...header })}\n`);
  if (head.length > HEADER_MAX || head.length + body.length > BYTES_MAX)
    throw new RangeError(
      `'${name}' takes ${(head.length + body.length) >> 20} MB; at most ${BYTES_MAX >> 20} MB can be copied ` +
        "as a variable. Export a file instead.",
    );
  fs.writeFileSync(path, head, { flag: "wx" });
  fs.appendFileSync(path, body);
}

/** Reads a value from a file, which is deleted. */
export function take(path) {
  try {
    if (fs.statSync(path).size > BYTES_MAX) damaged();
    return unpack(fs.readFileSync(path));
  } finally {
    fs.rmSync(path, { force: true });
  }
}

// Out

function typedType(value) {
  if (types.isFloat64Array(value) || types.isFloat32Array(value)) return "float64";
  if (types.isBigInt64Array(value)) return "int64";
  if (types.isUint32Array(value)) return "int64";
  if (types.isInt32Array(value) || types.isInt16Array(value) || types.isInt8Array(value) || types.isUint16Array(value))
    return "int32";
  return undefined;
}

function pack(value) {
  if (types.isArrayBuffer(value)) value = new Uint8Array(value);
  if (types.isUint8Array(value) || types.isUint8ClampedArray(value)) {
    const body = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return { header: { kind: body.subarray(0, 8).equals(PNG) ? "png" : "bytes" }, body };
  }
  const type = typedType(value);
  if (type) return packVector(value, type);
  return { header: { kind: "json" }, body: Buffer.from(JSON.stringify(plain(value, "the value", 0))) };
}

function packVector(value, type) {
  const make = { float64: Float64Array, int32: Int32Array, int64: BigInt64Array }[type];
  const numbers = type === "int64" ? make.from(value, BigInt) : make.from(value);
  const header = { kind: "vector", rows: numbers.length, columns: [{ name: "", type, nulls: false }] };
  return { header, body: Buffer.from(numbers.buffer) };
}

function plain(value, where, depth) {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`${where} is ${value}, which JSON does not have. Use null, or a Float64Array.`);
  }
  if (depth > DEPTH_MAX) throw new TypeError(`${where.slice(0, WHERE_MAX)}… is nested too deeply, or contains itself`);
  if (Array.isArray(value)) return Array.from(value, (one, i) => plain(one, `${where}[${i}]`, depth + 1));
  if (typeof value === "object" && !types.isProxy(value)) {
    const prototype = Object.getPrototypeOf(value);
    if (prototype === null || Object.getPrototypeOf(prototype) === null)
      return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [key, plain(one, `${where}.${key}`, depth + 1)]),
      );
  }
  const name = typeof value === "object" ? (value.constructor?.name ?? "object") : typeof value;
  throw new TypeError(
    `${where} is of the type ${name}, which other languages do not have. ` +
      "Typed arrays, Buffers, and objects and arrays of numbers and text can be copied.",
  );
}

// In

function damaged() {
  throw new Error("the other session sent a value that is damaged");
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return damaged();
  }
}

function unpack(data) {
  const end = data.subarray(0, HEADER_MAX).indexOf(10);
  const header = end < 0 ? undefined : parse(data.toString("utf8", 0, end));
  if (header?.husk_value !== 1) damaged();
  const body = data.subarray(end + 1);
  if (header.kind === "json") return parse(body.toString("utf8"));
  if (header.kind === "bytes" || header.kind === "png") return Buffer.from(body);
  if (header.kind === "frame" || header.kind === "vector") return readColumns(header, body);
  return damaged();
}

function readColumns({ kind, rows, columns, shape }, body) {
  let at = 0;
  const part = (size) => {
    if (!Number.isSafeInteger(size) || size < 0 || at + size > body.length) damaged();
    at += size;
    return body.subarray(at - size, at);
  };
  if (!Number.isSafeInteger(rows) || rows < 0 || !Array.isArray(columns) || columns.length > COLUMNS_MAX) damaged();
  if (rows > BYTES_MAX || (columns.length === 0 && rows > 0)) damaged();
  const read = columns.map((column) => readColumn(column ?? damaged(), rows, part));
  if (kind === "vector") return shape === undefined ? (read[0] ?? damaged()) : nest(read[0] ?? damaged(), shape);
  const names = columns.map(({ name }) => (typeof name === "string" ? name : damaged()));
  return Array.from({ length: rows }, (_, row) => Object.fromEntries(names.map((name, i) => [name, read[i][row]])));
}

/** Rows of rows, from values whose first index changes fastest. */
function nest(values, shape) {
  if (!Array.isArray(shape) || shape.some((n) => !Number.isSafeInteger(n) || n < 0)) damaged();
  if (shape.length > DEPTH_MAX || shape.reduce((a, b) => a * b, 1) !== values.length) damaged();
  const level = (axis, offset, stride) =>
    axis === shape.length
      ? values[offset]
      : Array.from({ length: shape[axis] }, (_, i) => level(axis + 1, offset + i * stride, stride * shape[axis]));
  return level(0, 0, 1);
}

function readColumn({ type, nulls, size, levels }, rows, part) {
  const valid = nulls === true ? part(rows) : undefined;
  if (type === "text") return readTexts(rows, size, part, valid);
  if (!Object.hasOwn(WIDTHS, type)) damaged();
  const data = part(rows * WIDTHS[type]);
  const exact = new Uint8Array(data).buffer; // aligned
  if (type === "float64" && !valid) return new Float64Array(exact);
  if (type === "int32" && !valid) return new Int32Array(exact);
  const view = new DataView(exact);
  const wide = (i) => {
    const number = view.getBigInt64(8 * i, true);
    return Number.isSafeInteger(Number(number)) ? Number(number) : number;
  };
  if (type === "category" && !(Array.isArray(levels) && levels.every((level) => typeof level === "string"))) damaged();
  const get = {
    bool: (i) => data[i] !== 0,
    int32: (i) => view.getInt32(4 * i, true),
    int64: wide,
    float64: (i) => view.getFloat64(8 * i, true),
    time: (i) => new Date(Number(view.getBigInt64(8 * i, true)) / 1000),
    duration: (i) => Number(view.getBigInt64(8 * i, true)) / 1e6,
    date: (i) => new Date(view.getInt32(4 * i, true) * DAY_MS),
    category: (i) => {
      const code = view.getInt32(4 * i, true);
      return code < 0 ? null : (levels[code] ?? damaged());
    },
  }[type];
  return Array.from({ length: rows }, (_, i) => (valid && !valid[i] ? null : get(i)));
}

function readTexts(rows, size, part, valid) {
  const ends = part(4 * (rows + 1));
  const text = part(size);
  const end = (i) => ends.readUInt32LE(4 * i);
  if (end(0) !== 0 || end(rows) !== size) damaged();
  return Array.from({ length: rows }, (_, i) => {
    if (end(i + 1) < end(i) || end(i + 1) > size) damaged();
    return valid && !valid[i] ? null : text.toString("utf8", end(i), end(i + 1));
  });
}
