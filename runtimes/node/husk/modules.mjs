// `require` and `module` for cells, and CommonJS modules in the cells' context.

import fs from "node:fs";
import Module from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import { findFrom, parentsOf } from "./find.cjs";

const PARAMETERS = ["exports", "require", "module", "__filename", "__dirname"];

/** The `require` that Node gives to a module. */
function requireOf(module) {
  const require = (id) => module.require(id);
  require.resolve = (request, options) => Module._resolveFilename(request, module, false, options);
  require.resolve.paths = (request) => Module._resolveLookupPaths(request, module);
  require.main = process.mainModule;
  require.extensions = Module._extensions;
  require.cache = Module._cache;
  return require;
}

/** A module without a file, as at Node's prompt: relative names are relative to the current working directory. */
export function cellModule(folder) {
  const module = new Module("<cell>");
  module.paths = Module._nodeModulePaths(folder);
  module.loaded = true;
  const require = requireOf(module);
  require.main = module; // so that a pasted program runs its `if (require.main === module) main()`
  return { module, require };
}

/** Makes CommonJS modules run in the context. `prepare` is called with the text of each module before it runs. */
export function loadInto(context, prepare) {
  const { _compile: compile } = Module.prototype;
  const { parse } = context.JSON;

  Module.prototype._compile = function _compile(content, filename, format) {
    let wrapper;
    try {
      if (format === "module" || format?.endsWith("typescript")) throw new SyntaxError("not for us");
      wrapper = vm.compileFunction(content, PARAMETERS, {
        filename,
        parsingContext: context,
        importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
    } catch {
      return compile.call(this, content, filename, format); // ES syntax in a .js file, or an error that Node reports
    }
    prepare(content);
    return Reflect.apply(wrapper, this.exports, [
      this.exports,
      requireOf(this),
      this,
      filename,
      path.dirname(filename),
    ]);
  };

  Module._extensions[".json"] = (module, filename) => {
    const text = fs.readFileSync(filename, "utf8");
    try {
      module.exports = parse(text.replace(/^\ufeff/, ""));
    } catch (error) {
      error.message = `${filename}: ${error.message}`;
      throw error;
    }
  };
}

export const AGAIN = "husk-again"; // marks the address of a module that is loaded again
export const MARK = new RegExp(`[?&]${AGAIN}=\\d+`, "g");

/** The time and size of a file, or null. */
function stamp(url) {
  try {
    const { mtimeMs, size } = fs.statSync(fileURLToPath(url));
    return `${mtimeMs} ${size}`;
  } catch {
    return null;
  }
}

const plainUrl = (url) => url.replace(MARK, "");

/** Resolves names of ES modules, and loads modules again that have changed. */
export class Imports {
  #parents; // addresses for the folders of NODE_PATH, which Node uses for CommonJS only
  #known = new Set();
  #fresh = new Set(); // modules that the running cell has imported first
  #again = new Map(); // how often a module was loaded again because it was terminated while loading or has changed
  #files = new Map(); // the user's own modules: { stamp, imports }

  constructor() {
    this.#parents = parentsOf(process.env.NODE_PATH);
    Module.registerHooks({
      resolve: (specifier, context, next) => {
        const found = findFrom(this.#parents, specifier, context, next);
        if (!context.conditions.includes("import") || !found.url.startsWith("file:")) return found;
        if (!found.url.includes("/node_modules/")) this.#watch(found.url, context.parentURL);
        return this.#note(found);
      },
    });
  }

  /** Makes a cell's import load a file again if the file, or one that it imports, has changed. */
  #watch(url, parentURL) {
    const parent = this.#files.get(plainUrl(parentURL ?? ""));
    if (parent) parent.imports.add(url);
    else this.#renew(url, new Set());
    if (!this.#files.has(url)) this.#files.set(url, { stamp: stamp(url), imports: new Set() });
  }

  #renew(url, seen) {
    const file = this.#files.get(url);
    if (!file || seen.has(url)) return false;
    seen.add(url);
    let changed = false;
    for (const imported of file.imports) changed = this.#renew(imported, seen) || changed;
    const now = stamp(url);
    changed ||= now !== null && now !== file.stamp;
    if (changed) {
      this.#files.set(url, { stamp: now, imports: new Set() });
      this.#again.set(url, (this.#again.get(url) ?? 0) + 1);
      delete Module._cache[fileURLToPath(url)];
    }
    return changed;
  }

  #note(found) {
    if (!this.#known.has(found.url)) this.#fresh.add(found.url);
    const times = this.#again.get(found.url);
    return times ? { ...found, url: `${found.url}${found.url.includes("?") ? "&" : "?"}${AGAIN}=${times}` } : found;
  }

  /** Called when the cell has ended normally: its modules are loaded. */
  keep() {
    for (const url of this.#fresh) this.#known.add(url);
    this.#fresh.clear();
  }

  /** Called when the cell was terminated: modules that it was loading never finish, so the next import loads them
   * again. */
  forget() {
    for (const url of this.#fresh) this.#again.set(url, (this.#again.get(url) ?? 0) + 1);
    this.#fresh.clear();
    for (const [name, module] of Object.entries(Module._cache)) if (!module.loaded) delete Module._cache[name];
  }
}

/** Returns the named exports that a static import binds. They must all exist. */
export function pick(namespace, specifier, names) {
  for (const name of names) {
    if (!(name in namespace))
      throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
  }
  return namespace;
}
