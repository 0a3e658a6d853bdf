// Prepares a cell's text for V8. V8's console mode does nearly everything itself. The rest is rewritten in place, and
// lines keep their numbers: static imports, names that a later cell declares as another kind, and top-level awaits,
// which must not continue after the cell was interrupted.

import module from "node:module";
import { assignments, isFunction, names, variables, walk } from "./syntax.mjs";
import { parser } from "./internals.mjs";

const KEYWORDS = /\b(?:const|let|class|var|function|import|export|await)\b/;
const ASSIGNMENT = /=|\+\+|--|\bfor\b/;
const ESCAPE = /\\u/; // names and keywords may be written with escapes
const PRIVATE = /#[\p{ID_Start}$_\\]/u;
const UNDECLARED = /^(Private field '.*' must be declared in an enclosing class)/;
export const PARSE = {
  ecmaVersion: "latest",
  sourceType: "script",
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowHashBang: true,
};

const quote = (node) => JSON.stringify(node.value);
const nameOf = (node) => (node.type === "Literal" ? node.value : node.name);
const keyOf = (node) => (node.type === "Literal" ? quote(node) : node.name);

/** Replacements in a text, and the mapping from positions in the new text to the old text. */
class Edits {
  #edits = [];

  constructor(text) {
    this.text = text;
  }

  replace(start, end, text) {
    const lost = this.text.slice(start, end).split("\n").length - text.split("\n").length;
    this.#edits.push({ start, end, text: text + "\n".repeat(Math.max(lost, 0)) });
  }

  insert(at, text) {
    this.replace(at, at, text);
  }

  blank(start, end) {
    this.replace(start, end, this.text.slice(start, end).replace(/[^\n]/g, " "));
  }

  apply() {
    let out = "";
    let at = 0;
    this.#edits = this.#edits
      .map((edit, order) => ({ ...edit, order }))
      .sort((a, b) => a.start - b.start || a.order - b.order);
    for (const edit of this.#edits) {
      out += this.text.slice(at, edit.start);
      edit.from = out.length;
      out += edit.text;
      at = edit.end;
    }
    return out + this.text.slice(at);
  }

  /** Maps an offset in the new text to the old text; inside a replacement, to the replacement's start. */
  origin(offset) {
    let shift = 0;
    for (const { start, end, text, from } of this.#edits) {
      if (offset < from) break;
      if (offset < from + text.length) return start;
      shift = end - (from + text.length);
    }
    return offset + shift;
  }
}

function lineStart(text, line) {
  let at = 0;
  for (let n = 0; n < line; n++) at = text.indexOf("\n", at) + 1;
  return at;
}

/** A cell's text, prepared for V8. */
class Source {
  constructor(number, code, isPlain, edits, declares) {
    this.number = number;
    this.code = code;
    this.text = edits ? edits.apply() : code;
    this.edits = edits;
    this.declares = declares;
    this.isPlain = isPlain; // true if the cell declares and awaits nothing
  }

  /** Maps a position in the prepared text to the user's text; lines and columns count from 0. */
  origin(line, column) {
    if (!this.edits) return { line, column };
    const offset = this.edits.origin(lineStart(this.text, line) + column);
    const before = this.code.slice(0, offset).split("\n");
    return { line: before.length - 1, column: before.at(-1).length };
  }
}

export class Sources {
  #kinds = new Map(); // top-level names of earlier cells: "lexical" or "variable"
  #constants = new Set(); // the lexical names that were declared by const
  #isFixed; // (name) => whether it is a permanent property of the global object

  constructor(isFixed) {
    this.#isFixed = isFixed;
  }

  prepare(number, code) {
    const hasKeywords = KEYWORDS.test(code);
    const isPlain = !hasKeywords && !ESCAPE.test(code);
    if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
      const literal = this.#literal(number, code, isPlain);
      if (literal) return literal;
    }
    if (!hasKeywords && !(this.#constants.size && ASSIGNMENT.test(code))) return new Source(number, code, isPlain);
    let program;
    try {
      program = parser().parse(code, PARSE);
    } catch {
      return new Source(number, code, isPlain); // V8 knows more syntax and has better error messages
    }
    const edits = new Edits(code);
    const declares = { kinds: new Map(), constants: new Set() };
    const rewriter = new Rewriter(edits, number, (name) => this.#kind(name), declares);
    rewriter.program(program);
    this.#protectConstants(program, edits, declares);
    return new Source(number, code, isPlain, edits, declares);
  }

  /** Returns an error, in the form of the evaluator's replies, for a private name outside its class. V8's console mode
   * accepts such a name, but Node rejects it. */
  privateOutside({ text }) {
    if (!PRIVATE.test(text)) return null;
    try {
      parser().parse(text, PARSE);
    } catch ({ message, loc }) {
      const found = UNDECLARED.exec(message);
      if (found) return { syntax: new SyntaxError(found[1]), line: loc.line - 1, column: loc.column };
    }
    return null;
  }

  /** As at Node's prompt, text that can be an object literal is one, not a block with labels. */
  #literal(number, code, isPlain) {
    const start = code.indexOf("{");
    try {
      const expression = parser().parseExpressionAt(code, start, PARSE);
      if (code.slice(expression.end).trim()) return null;
      const edits = new Edits(code);
      edits.insert(start, "(");
      new Rewriter(edits, number).awaits(expression);
      edits.insert(expression.end, ")");
      return new Source(number, code, isPlain, edits);
    } catch {
      return null;
    }
  }

  /** Returns the same cell without its types if it is TypeScript, otherwise null. */
  withoutTypes({ number, code }) {
    const stripped = stripTypes(code);
    if (stripped === null || stripped === code) return null;
    const source = this.prepare(number, stripped);
    source.code = code.split("\n").length === stripped.split("\n").length ? code : stripped;
    return source;
  }

  /** Records the declarations of a cell that V8 has accepted. */
  accept({ declares }) {
    for (const [name, kind] of declares?.kinds ?? []) {
      this.#kinds.set(name, kind);
      this.#constants.delete(name);
    }
    for (const name of declares?.constants ?? []) this.#constants.add(name);
  }

  #kind(name) {
    return this.#kinds.get(name) ?? (this.#isFixed(name) ? "variable" : undefined);
  }

  #protectConstants(program, edits, { kinds, constants }) {
    const wanted = new Set([...this.#constants].filter((name) => !kinds.has(name)).concat(...constants));
    if (!wanted.size) return;
    for (const { node, shorthand } of assignments(program, wanted)) {
      const target = `__husk.constant.${node.name}`;
      edits.replace(node.start, node.end, shorthand ? `${node.name}: ${target}` : target);
    }
  }
}

class Rewriter {
  constructor(edits, number, kindOf, declares) {
    Object.assign(this, { edits, number, kindOf, declares });
    this.becameLet = new Set();
  }

  program(program) {
    for (const statement of program.body) this.statement(statement);
    this.variables(program);
    this.awaits(program);
  }

  declare(name, kind) {
    this.declares.kinds.set(name, kind);
  }

  statement(node) {
    switch (node.type) {
      case "VariableDeclaration":
        return node.kind === "var" ? undefined : this.lexical(node);
      case "ClassDeclaration":
        return this.classDeclaration(node);
      case "FunctionDeclaration":
        return this.functionDeclaration(node);
      case "ImportDeclaration":
        return this.importDeclaration(node);
      case "ExportNamedDeclaration":
      case "ExportDefaultDeclaration":
      case "ExportAllDeclaration":
        return this.exportDeclaration(node);
      default:
        return undefined;
    }
  }

  /** Rewrites `const` to `let`, since a name that was once a constant cannot be declared as another kind in V8; see
   * protectConstants. */
  lexical(node) {
    const bound = node.declarations.flatMap((declarator) => names(declarator.id));
    const variable = bound.some((name) => this.kindOf(name) === "variable");
    this.edits.replace(node.start, node.start + node.kind.length, (variable ? "var" : "let").padEnd(node.kind.length));
    for (const name of bound) {
      this.declare(name, variable ? "variable" : "lexical");
      if (node.kind === "const" && !variable) this.declares.constants.add(name);
    }
  }

  classDeclaration(node) {
    const variable = this.kindOf(node.id.name) === "variable";
    if (variable) this.assignTo(node, "var");
    this.declare(node.id.name, variable ? "variable" : "lexical");
  }

  functionDeclaration(node) {
    const lexical = this.kindOf(node.id.name) === "lexical";
    if (lexical) this.assignTo(node, "let");
    this.declare(node.id.name, lexical ? "lexical" : "variable");
  }

  assignTo(node, keyword) {
    this.edits.insert(node.start, `${keyword} ${node.id.name} = `);
    this.edits.insert(node.end, ";");
  }

  /** All `var` declarations of the cell, also those in blocks and loops. */
  variables(program) {
    for (const node of variables(program)) {
      const bound = node.declarations.flatMap((declarator) => names(declarator.id));
      const lexical = bound.some((name) => this.kindOf(name) === "lexical");
      if (lexical) {
        const again = bound.every((name) => this.becameLet.has(name));
        this.edits.replace(node.start, node.start + "var".length, again ? "   " : "let");
        for (const name of bound) this.becameLet.add(name);
      }
      for (const name of bound) this.declare(name, lexical ? "lexical" : "variable");
    }
  }

  importDeclaration(node) {
    const { specifiers, source, attributes } = node;
    const options = attributes?.length
      ? `, { with: { ${attributes.map((a) => `${keyOf(a.key)}: ${quote(a.value)}`).join(", ")} } }`
      : "";
    const imported = this.awaited(`import(${quote(source)}${options})`);
    const whole = specifiers.find((one) => one.type === "ImportNamespaceSpecifier");
    const parts = specifiers
      .filter((one) => one !== whole)
      .map((one) => [one.imported ?? { type: "Identifier", name: "default" }, one.local.name]);
    for (const { local } of specifiers) this.declare(local.name, "lexical");
    const wanted = JSON.stringify(parts.map(([name]) => nameOf(name)));
    const pattern = parts.map(([name, local]) => `${keyOf(name)}: ${local}`).join(", ");
    const keyword = specifiers.some(({ local }) => this.kindOf(local.name) === "variable") ? "var" : "let";
    let text = `${imported};`;
    if (whole && !parts.length) text = `${keyword} ${whole.local.name} = ${imported};`;
    else if (whole) text = `${keyword} ${whole.local.name} = ${imported}, { ${pattern} } = ${whole.local.name};`;
    else if (parts.length) text = `${keyword} { ${pattern} } = __husk.pick(${imported}, ${quote(source)}, ${wanted});`;
    this.edits.replace(node.start, node.end, text);
    if (keyword === "var") for (const { local } of specifiers) this.declare(local.name, "variable");
  }

  /** Keeps only the declaration or value of an export, because nothing can import from a cell. */
  exportDeclaration(node) {
    const { declaration, source } = node;
    if (source) {
      this.edits.replace(node.start, node.end, `${this.awaited(`import(${quote(source)})`)};`);
    } else if (declaration) {
      this.edits.blank(node.start, declaration.start);
      if (declaration.id || declaration.type === "VariableDeclaration") this.statement(declaration);
      else if (isFunction(declaration) || declaration.type === "ClassDeclaration")
        this.edits.insert(declaration.start, "void ");
    } else {
      this.edits.blank(node.start, node.end);
    }
  }

  awaited(expression) {
    return `await __husk.hold(${this.number}, ${expression})`;
  }

  /** Rewrites top-level awaits; see #hold in main.mjs. */
  awaits(program) {
    walk(program, (node) => {
      if (isFunction(node)) return false;
      if (node.type === "AwaitExpression") {
        this.edits.insert(node.argument.start, `__husk.hold(${this.number}, (`);
        this.edits.insert(node.argument.end, "))");
      } else if (node.type === "ForOfStatement" && node.await) {
        this.edits.insert(node.right.start, `__husk.each(${this.number}, (`);
        this.edits.insert(node.right.end, "))");
      }
      return true;
    });
    walk(program, (node) => {
      if (node.type === "MetaProperty" && node.meta.name === "import")
        this.edits.replace(node.start, node.end, "__husk.meta");
    });
  }
}

function stripTypes(code) {
  if (!module.stripTypeScriptTypes) return null;
  try {
    return module.stripTypeScriptTypes(code);
  } catch (error) {
    if (error.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") return null;
    try {
      return module.stripTypeScriptTypes(code, { mode: "transform" }); // enums and the like are not just types
    } catch {
      return null;
    }
  }
}
