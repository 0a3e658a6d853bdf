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

/** Returns Node's own result, or else that of the first folder that has the package. */
function findFrom(parents, specifier, context, next) {
  try {
    return next(specifier, context);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || /^(?:[./#]|[a-z]+:)/.test(specifier)) throw error;
    for (const parentURL of parents) {
      try {
        return next(specifier, { ...context, parentURL });
      } catch {
        // Try the next folder.
      }
    }
    throw error;
  }
}

module.exports = { findFrom, parentsOf };
