// `require` and `module` of the cells, and CommonJS modules in the cells' context.

import fs from "node:fs";
import Module from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const PARAMETERS = ["exports", "require", "module", "__filename", "__dirname"];

/** What Node gives a module as `require`. */
function requireOf(module) {
  const require = (id) => module.require(id);
  require.resolve = (request, options) => Module._resolveFilename(request, module, false, options);
  require.resolve.paths = (request) => Module._resolveLookupPaths(request, module);
  require.main = process.mainModule;
  require.extensions = Module._extensions;
  require.cache = Module._cache;
  return require;
}

/** A module without a file, as at Node's prompt: relative names count from the working directory of the moment. */
export function cellModule(folder) {
  const module = new Module("<cell>");
  module.paths = Module._nodeModulePaths(folder);
  module.loaded = true;
  const require = requireOf(module);
  require.main = module; // so that a pasted program runs its `if (require.main === module) main()`
  return { module, require };
}

/** Makes CommonJS modules run in the context. `prepare` sees the text of each before it runs. */
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
      return compile.call(this, content, filename, format); // ES syntax in a .js file, or an error to be worded by Node
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

export const AGAIN = "husk-again"; // marks the address of a module that is loaded once more

/** How names become ES modules. */
export class Imports {
  #parents; // NODE_PATH, which Node offers to CommonJS only
  #known = new Set();
  #fresh = new Set(); // of the running cell
  #again = new Map(); // how often a module was torn down in the middle

  constructor() {
    const folders = (process.env.NODE_PATH ?? "").split(path.delimiter).filter(path.isAbsolute);
    this.#parents = folders.map((folder) => pathToFileURL(path.join(folder, "..", "cell.mjs")).href);
    Module.registerHooks({
      resolve: (specifier, context, next) => {
        const found = this.#find(specifier, context, next);
        return context.conditions.includes("import") && found.url.startsWith("file:") ? this.#note(found) : found;
      },
    });
  }

  #find(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND" || /^(?:[./]|[a-z]+:)/.test(specifier)) throw error;
      for (const parentURL of this.#parents) {
        try {
          return next(specifier, { ...context, parentURL });
        } catch {
          // Perhaps in the next one.
        }
      }
      throw error;
    }
  }

  #note(found) {
    if (!this.#known.has(found.url)) this.#fresh.add(found.url);
    const times = this.#again.get(found.url);
    return times ? { ...found, url: `${found.url}${found.url.includes("?") ? "&" : "?"}${AGAIN}=${times}` } : found;
  }

  /** The cell has ended by itself: what it has loaded is loaded. */
  keep() {
    for (const url of this.#fresh) this.#known.add(url);
    this.#fresh.clear();
  }

  /** The cell was torn down: what it was loading never ends, and whoever wants it again gets another one. */
  forget() {
    for (const url of this.#fresh) this.#again.set(url, (this.#again.get(url) ?? 0) + 1);
    this.#fresh.clear();
    for (const [name, module] of Object.entries(Module._cache)) if (!module.loaded) delete Module._cache[name];
  }
}

/** What a static import binds: the named exports of a module, which all have to be there. */
export function pick(namespace, specifier, names) {
  for (const name of names) {
    if (!(name in namespace))
      throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
  }
  return namespace;
}
