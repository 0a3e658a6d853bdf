// Loaded by every Node of a session (NODE_OPTIONS): `node script.mjs` finds what a cell finds. The kernel has hooks of its own.
"use strict";

if (process.env.NODE_PATH && process.argv[1] !== __dirname.replace(/husk$/, "kernel.mjs")) {
  const { registerHooks } = require("node:module");
  const { findFrom, parentsOf } = require("./find.cjs");
  const parents = parentsOf(process.env.NODE_PATH);
  registerHooks?.({ resolve: (specifier, context, next) => findFrom(parents, specifier, context, next) });
}
