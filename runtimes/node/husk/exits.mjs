// Makes calls that would end the process end the cell instead.

import os from "node:os";
import vm from "node:vm";

const { signals } = os.constants;
const SIGNALLED = 128; // added to a signal's number: the exit code that a shell reports
const HARMLESS = new Set([0, signals.SIGINT, signals.SIGCONT, signals.SIGCHLD, signals.SIGURG, signals.SIGWINCH]);

const nameOf = (number) => Object.keys(signals).find((name) => signals[name] === number) ?? `signal ${number}`;

/** Calls leave(what, exitCode) in place of every way to end the process through `process`. */
export function guardExits(leave) {
  const { pid, _kill: kill } = process;
  const exit = (code) => {
    const status = code ?? process.exitCode ?? 0;
    leave(`process.exit(${status})`, Number(status) & 0xff);
  };

  process.exit = (code) => exit(code);
  process.reallyExit = (code) => exit(code);
  process.abort = () => leave("process.abort()", SIGNALLED + signals.SIGABRT);
  // process._kill is the system call; process.kill() checks its arguments as usual.
  process._kill = (target, signal) => {
    const us = target === pid || target === -pid || target === 0 || target === -1;
    if (us && !HARMLESS.has(signal) && process.listenerCount(nameOf(signal)) === 0)
      leave(`process.kill(${target}, "${nameOf(signal)}")`, SIGNALLED + signal);
    return kill(target, signal);
  };

  // breakOnSigint is ignored. It replaces libuv's signal handler by the default action, which ends the process, and
  // does not restore the handler. The kernel's own interrupt serves the same purpose.
  for (const name of ["runInThisContext", "runInContext"]) {
    const run = vm.Script.prototype[name];
    vm.Script.prototype[name] = function (...args) {
      const options = args.at(-1);
      if (options?.breakOnSigint) args[args.length - 1] = { ...options, breakOnSigint: false };
      return Reflect.apply(run, this, args);
    };
  }
}

/** Calls report(error) for an error in a listener for uncaught exceptions, which would end the process. */
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
