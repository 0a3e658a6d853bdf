// Resolves names of packages for ES modules. Node searches NODE_PATH, where `dependencies` and global packages are,
// only for require(). The kernel uses this directly, and every other Node of a session by preload.cjs.
"use strict";

const path = require("node:path");
const { pathToFileURL } = require("node:url");

/** Packages of NODE_PATH are resolved as neighbours of these. */
function parentsOf(nodePath = "") {
  const folders = nodePath.split(path.delimiter).filter(path.isAbsolute);
  return folders.map((folder) => pathToFileURL(path.join(folder, "..", "cell.mjs")).href);
}

/** Node's own result, else that of the first folder that has one. */
function findFrom(parents, specifier, context, next) {
  try {
    return next(specifier, context);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || /^(?:[./#]|[a-z]+:)/.test(specifier)) throw error;
    for (const parentURL of parents) {
      try {
        return next(specifier, { ...context, parentURL });
      } catch {
        // Try the next one.
      }
    }
    throw error;
  }
}

module.exports = { findFrom, parentsOf };
