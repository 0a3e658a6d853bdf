// What would end the process ends the cell.

import os from "node:os";
import vm from "node:vm";

const { signals } = os.constants;
const HARMLESS = new Set([0, signals.SIGINT, signals.SIGCONT, signals.SIGCHLD, signals.SIGURG, signals.SIGWINCH]);

const nameOf = (number) => Object.keys(signals).find((name) => signals[name] === number) ?? `signal ${number}`;

/** Calls leave(what) in place of every way out of the process that goes through `process`. */
export function guardExits(leave) {
  const { pid, _kill: kill } = process;
  const status = (code) => code ?? process.exitCode ?? 0;

  process.exit = (code) => leave(`process.exit(${status(code)})`);
  process.reallyExit = (code) => leave(`process.exit(${status(code)})`);
  process.abort = () => leave("process.abort()");
  // Everything in process.kill() but the system call itself stays Node's.
  process._kill = (target, signal) => {
    const us = target === pid || target === -pid || target === 0 || target === -1;
    if (us && !HARMLESS.has(signal) && process.listenerCount(nameOf(signal)) === 0)
      leave(`process.kill(${target}, "${nameOf(signal)}")`);
    return kill(target, signal);
  };

  // breakOnSigint puts the signal's default action, the end of the process, in place of libuv's handler and leaves it there. The kernel's
  // own interrupt does what the option is for.
  for (const name of ["runInThisContext", "runInContext"]) {
    const run = vm.Script.prototype[name];
    vm.Script.prototype[name] = function (...args) {
      const options = args.at(-1);
      if (options?.breakOnSigint) args[args.length - 1] = { ...options, breakOnSigint: false };
      return Reflect.apply(run, this, args);
    };
  }
}

/** Calls report(error) for what a listener for uncaught exceptions throws, which would be the end of the process. */
export function guardListeners(report) {
  const { emit } = process;
  process.emit = function (event, ...args) {
    if (event !== "uncaughtException") return Reflect.apply(emit, this, [event, ...args]);
    try {
      return Reflect.apply(emit, this, [event, ...args]);
    } catch (error) {
      report(error);
      return true;
    }
  };
}
