// File descriptors with high numbers, which cells do not close when they close "all files" by number.

import fs from "node:fs";

const FIRST = 100; // above the numbers that cells close, below any usual limit of open files

// Runs a function that opens descriptors. Node cannot choose their numbers, so the low ones are occupied meanwhile.
export function withHighNumbers(open) {
  const taken = [];
  try {
    for (let fd = 0; fd < FIRST; taken.push(fd)) fd = fs.openSync("/dev/null");
  } catch {
    // The limit of open files is lower.
    fs.closeSync(taken.pop());
    fs.closeSync(taken.pop());
    fs.closeSync(taken.pop());
  }
  try {
    return open();
  } finally {
    taken.forEach((fd) => fs.closeSync(fd));
  }
}

const never = new Int32Array(new SharedArrayBuffer(4));

// Blocks until everything is written, even if another process has made the pipe non-blocking.
export function writeAll(fd, data) {
  for (let at = 0; at < data.byteLength;) {
    try {
      at += fs.writeSync(fd, data, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(never, 0, 0, 1);
    }
  }
}
