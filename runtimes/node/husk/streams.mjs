// Descriptors 0, 1 and 2, and process.stdout, stderr and console on top of them. Nothing is buffered on this side, so
// the output of a cell, its child processes and libraries keeps its order.

import { Console } from "node:console";
import fs from "node:fs";
import { Writable } from "node:stream";
import { withHighNumbers, writeAll } from "./descriptors.mjs";

/** { dev, ino } of the open file, or null. */
function identity(fd) {
  try {
    return fs.fstatSync(fd);
  } catch {
    return null;
  }
}

const isSame = (a, b) => a?.ino === b?.ino && a?.dev === b?.dev;

/** Opens the same pipe again. Closing descriptor 1 does not close the new one, and O_NONBLOCK set by another process
 * does not affect it. */
function reopen(fd, flags) {
  try {
    return fs.openSync(`/proc/self/fd/${fd}`, flags);
  } catch {
    return fd;
  }
}

// stdout and stderr are two pipes. To keep the order of their output, a switch to the other pipe waits until PID 1 has
// read the first.
const order = { last: 1, sync: () => {} };

/** A stream that has no state which an interrupt during a write could corrupt. */
class Output extends Writable {
  #private;
  #clean;

  constructor(fd, privateFd, clean) {
    super({ decodeStrings: false, emitClose: false, autoDestroy: false });
    this.fd = fd;
    this._type = "pipe";
    this._isStdio = true;
    this.#private = privateFd;
    this.#clean = clean;
  }

  write(chunk, encoding, callback) {
    if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    if (typeof chunk !== "string" && !ArrayBuffer.isView(chunk)) return super.write(chunk, encoding, callback); // throws the right error
    const data = typeof chunk === "string" ? Buffer.from(this.#clean(chunk), encoding) : chunk;
    if (order.last !== this.fd) {
      order.sync();
      order.last = this.fd;
    }
    try {
      writeAll(this.#private, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    } catch {
      // The reader is gone.
    }
    if (callback) process.nextTick(callback);
    return true;
  }

  /** Writes the last chunk but does not end the stream, because the next cell prints too. */
  end(chunk, encoding, callback) {
    const last = [chunk, encoding, callback].find((argument) => typeof argument === "function");
    if (chunk !== undefined && chunk !== null && typeof chunk !== "function") this.write(chunk, encoding);
    process.nextTick(() => {
      this.emit("finish");
      last?.();
    });
    return this;
  }

  destroy() {
    return this;
  }

  destroySoon() {}

  _write(_chunk, _encoding, callback) {
    callback();
  }
}

export class Streams {
  #standard;
  #outputs;

  /** `clean` is applied to written text, because a stack in it may have frames of the kernel. */
  constructor(clean) {
    this.#standard = withHighNumbers(() =>
      [0, 1, 2].map((fd) => ({
        fd,
        copy: reopen(fd, fd === 0 ? fs.constants.O_RDONLY : fs.constants.O_WRONLY),
        identity: identity(fd),
      })),
    );
    this.#outputs = ["stdout", "stderr"].map((name, index) => {
      const { fd, copy } = this.#standard[index + 1];
      const stream = new Output(fd, copy, clean);
      return { name, stream, get: () => stream };
    });
    this.#defineOutputs();
    this.console = this.#console();
  }

  onSwitch(sync) {
    order.sync = sync;
  }

  #defineOutputs() {
    for (const { name, stream, get } of this.#outputs) {
      const property = Object.getOwnPropertyDescriptor(process, name);
      if (property?.get !== get || !property.enumerable || !property.configurable)
        Object.defineProperty(process, name, { get, configurable: true, enumerable: true });
      if (Object.hasOwn(stream, "write")) Reflect.deleteProperty(stream, "write");
    }
  }

  /** Creates the console of cells. Node's own also keeps the last 1000 messages, with all values, for a debugger. */
  #console() {
    const through = (stream) => ({ write: (text) => stream.write(text) });
    return new Console({ stdout: through(process.stdout), stderr: through(process.stderr), ignoreErrors: false });
  }

  /** Called before each cell: restores streams that the previous cell has closed or redirected. */
  restore() {
    this.#defineOutputs();
    for (const { fd, copy, identity: expected } of this.#standard) {
      if (isSame(identity(fd), expected) || expected === null || copy === fd) continue;
      try {
        fs.closeSync(fd);
      } catch {
        // The descriptor was closed.
      }
      reopen(copy, fd === 0 ? fs.constants.O_RDONLY : fs.constants.O_WRONLY); // gets the lowest free number: fd
    }
  }

  /** Reports an event that happened outside of a cell. */
  complain(text) {
    process.stderr.write(text.endsWith("\n") ? text : `${text}\n`);
  }
}
