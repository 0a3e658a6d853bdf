// The kernel link (docs/protocol.md, section 2): one socket shared with PID 1, one JSON object per message.

import fs from "node:fs";
import net from "node:net";
import { writeAll } from "./descriptors.mjs";
import { isBase64 } from "./display.mjs";
import { reallyExit, setBlocking } from "./internals.mjs";

const MESSAGE_MAX = 12 << 20; // LINK_MESSAGE_MAX in kernels/protocol.h
const HEADER = 4;
const VERSION = 1;

// The message is too long for the link; nothing was sent.
export class TooLong extends Error {}

// Buffers for small messages; neither is in use between two turns of the event loop.
const input = Buffer.allocUnsafeSlow(64 << 10);
const output = Buffer.allocUnsafeSlow(16 << 10);
const WIDEST = 3; // maximum bytes of UTF-8 per UTF-16 unit of a string

// JSON.stringify() in pieces. For a picture, the search for characters to escape would take longer than everything
// else, and base64 has none.
function piecesOf({ data, ...others }) {
  const pieces = [JSON.stringify(others).slice(0, -1), ',"data":'];
  for (const [index, mime] of Object.keys(data).entries()) {
    pieces.push(index ? "," : "{", JSON.stringify(mime), ":");
    if (isLong(data, mime)) pieces.push('"', data[mime], '"');
    else pieces.push(JSON.stringify(data[mime]));
  }
  pieces.push("}}");
  return pieces;
}

const isLong = (data, mime) => typeof data[mime] === "string" && data[mime].length > output.length && isBase64(mime);
const hasLong = ({ data }) => data !== undefined && Object.keys(data).some((mime) => isLong(data, mime));

function encode(text) {
  const pieces = typeof text === "string" ? [text] : text;
  const size = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  if (size > MESSAGE_MAX) throw new TooLong();
  const bytes = Buffer.allocUnsafeSlow(HEADER + size);
  bytes.writeUInt32BE(size);
  let at = HEADER;
  for (const piece of pieces) at += bytes.write(piece, at);
  return bytes;
}

// Writes the texts into `output`, one after the other. Returns the end, or 0 if they might not fit.
function encodeShort(texts) {
  let end = 0;
  for (const text of texts) {
    const start = end + HEADER;
    if (typeof text !== "string" || start + WIDEST * text.length > output.length) return 0;
    end = start + output.write(text, start);
    output.writeUInt32BE(end - start, start - HEADER);
  }
  return end;
}

export class Link {
  #socket;
  #fd;
  #pieces = [];
  #size = 0;
  #onMessage;
  #taken;

  // The address is `fd:N`, the inherited end of a socket pair. Calls onMessage with each message. From the descriptor
  // `taken` one byte can be read for each display and sync that PID 1 has processed; undefined = not supported.
  constructor(address, taken, onMessage) {
    this.#taken = taken;
    this.#onMessage = onMessage;
    this.#fd = Number(address.slice("fd:".length));
    const onread = { buffer: input, callback: (count) => this.#take(count) };
    this.#socket = new net.Socket({ fd: this.#fd, onread });
    // PID 1 has closed the link, so nobody would see an error.
    for (const event of ["end", "close", "error"]) this.#socket.on(event, () => reallyExit(0));
  }

  hello(languageVersion) {
    this.send({ op: "hello", version: VERSION, language_version: languageVersion, looks: true, queries: true });
  }

  // Runs the code for sending and receiving once without a message, so that the first message is fast.
  rehearse() {
    const text = JSON.stringify({ op: "done", id: 0 });
    const end = encodeShort([text]);
    JSON.parse(output.toString("utf8", HEADER, end));
  }

  // Returns when the operating system has all of the messages, so that later output of the cell comes after them.
  send(...messages) {
    const texts = messages.map((message) => (hasLong(message) ? piecesOf(message) : JSON.stringify(message)));
    const end = encodeShort(texts);
    const all = end ? [output] : texts.map(encode);
    try {
      for (const bytes of all) this.#write(bytes, end || bytes.length);
    } catch {
      reallyExit(0);
    }
  }

  #write(bytes, end) {
    let at = 0;
    try {
      at = fs.writeSync(this.#fd, bytes, 0, end);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
    if (at === end) return;
    // The message is larger than the socket's buffer. A blocking write continues as soon as there is room.
    setBlocking(this.#socket, true);
    try {
      writeAll(this.#fd, bytes.subarray(at, end));
    } finally {
      setBlocking(this.#socket, false);
    }
  }

  // Like send(), but returns only when PID 1 has processed the messages, so that later output is shown after them.
  place(...messages) {
    this.send(...messages);
    if (this.#taken === undefined) return;
    const byte = Buffer.alloc(1);
    try {
      for (let left = messages.length; left > 0; left--) fs.readSync(this.#taken, byte, 0, 1, null);
    } catch {
      this.#taken = undefined; // a cell has closed the descriptor
    }
  }

  // Makes PID 1 read the output so far before any later output.
  sync(id) {
    if (this.#taken !== undefined) this.place({ op: "sync", id });
  }

  #take(count) {
    if (this.#size === 0 && count > HEADER && input.readUInt32BE() === count - HEADER) {
      this.#onMessage(JSON.parse(input.toString("utf8", HEADER, count))); // the usual case: one whole message
      return;
    }
    this.#pieces.push(Buffer.from(input.subarray(0, count)));
    this.#size += count;
    while (this.#size >= HEADER) {
      const length = this.#peek(HEADER).readUInt32BE();
      if (length === 0 || length > MESSAGE_MAX) reallyExit(0);
      if (this.#size < HEADER + length) return;
      const all = this.#peek(HEADER + length);
      this.#size -= HEADER + length;
      this.#pieces = this.#size > 0 ? [all.subarray(HEADER + length)] : []; // an empty slice would keep the whole buffer
      this.#onMessage(JSON.parse(all.toString("utf8", HEADER, HEADER + length)));
    }
  }

  // Joins all pieces if the first alone is too short.
  #peek(size) {
    if (this.#pieces[0].length < size) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0];
  }
}
