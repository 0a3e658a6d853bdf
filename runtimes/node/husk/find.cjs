// Resolves names of packages for ES modules. Node itself searches NODE_PATH, where `dependencies` and global packages
// are, only for require(). The kernel loads this file directly; other Node processes of a session load it through
// preload.cjs.
"use strict";

const path = require("node:path");
const { pathToFileURL } = require("node:url");

/** Returns one address per folder of NODE_PATH. Packages of the folder are resolved as if imported from there. */
function parentsOf(nodePath = "") {
  const folders = nodePath.split(path.delimiter).filter(path.isAbsolute);
  return folders.map((folder) => pathToFileURL(path.join(folder, "..", "cell.mjs")).href);
}

// Frames of a stack that exist only because of the hook.
const HOOK_FRAMES = 8;
const HOOK_FILES = [`${__dirname}${path.sep}`, "node:internal/modules/customization_hooks:"];

/** Does nothing if Error is frozen (node --frozen-intrinsics). */
function setLimit(limit) {
  Reflect.set(Error, "stackTraceLimit", limit);
}

/** Removes the hook from an error's stack, which then has at most `limit` frames, as without the hook. */
function hideHook(error, limit) {
  if (typeof error?.stack !== "string") return;
  let frames = 0;
  const lines = error.stack.split("\n").filter((line) => {
    if (!line.startsWith("    at ")) return true;
    return !HOOK_FILES.some((file) => line.includes(file)) && ++frames <= limit;
  });
  Object.defineProperty(error, "stack", { value: lines.join("\n"), writable: true, configurable: true });
}

/** Returns Node's own result, or else that of the first folder that has the package. */
function findFrom(parents, specifier, context, next) {
  const limit = Error.stackTraceLimit;
  try {
    setLimit(limit + HOOK_FRAMES);
    return next(specifier, context);
  } catch (error) {
    if (error.code === "ERR_MODULE_NOT_FOUND" && !/^(?:[./#]|[a-z]+:)/.test(specifier)) {
      for (const parentURL of parents) {
        try {
          return next(specifier, { ...context, parentURL });
        } catch {
          // Try the next folder.
        }
      }
    }
    hideHook(error, limit);
    // Node shows the line that throws, but not if it has these words.
    throw error; // node-do-not-add-exception-line
  } finally {
    setLimit(limit);
  }
}

module.exports = { findFrom, parentsOf };
