// Loaded by every Node process of a session (NODE_OPTIONS), so that `node script.mjs` finds the same packages as a
// cell. The kernel has separate hooks.
"use strict";

// Makes the module os report the session's memory and CPUs, as far as they are known.
const os = require("node:os");
const { totalmem, cpus } = os;
const limit = process.constrainedMemory();
if (limit > 0 && limit < totalmem()) {
  os.totalmem = () => limit;
  os.freemem = () => process.availableMemory();
}
const parallel = Number(process.env.OMP_NUM_THREADS) || os.availableParallelism();
if (parallel < os.availableParallelism()) os.availableParallelism = () => parallel;
os.cpus = () => cpus().slice(0, os.availableParallelism());

if (process.env.NODE_PATH && process.argv[1] !== __dirname.replace(/husk$/, "kernel.mjs")) {
  const { registerHooks } = require("node:module");
  const { findFrom, parentsOf } = require("./find.cjs");
  const parents = parentsOf(process.env.NODE_PATH);
  registerHooks?.({ resolve: (specifier, context, next) => findFrom(parents, specifier, context, next) });
}
