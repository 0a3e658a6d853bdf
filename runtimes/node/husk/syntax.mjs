// Inspects syntax trees (ESTree, as acorn creates them).

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

export const isFunction = (node) => FUNCTIONS.has(node.type);

export function* children(node) {
  for (const key in node) {
    const value = node[key];
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item?.type === "string") yield item;
    } else if (typeof value?.type === "string") {
      yield value;
    }
  }
}

/** Calls visit(node, ancestors) for a node and all nodes below it; stops descending where it returns false. */
export function walk(node, visit, ancestors = []) {
  if (visit(node, ancestors) === false) return;
  ancestors.push(node);
  for (const child of children(node)) walk(child, visit, ancestors);
  ancestors.pop();
}

/** The identifiers that a pattern binds or assigns to, each as { node, shorthand }. */
export function targets(pattern, shorthand = false) {
  switch (pattern?.type) {
    case "Identifier":
      return [{ node: pattern, shorthand }];
    case "ObjectPattern":
      return pattern.properties.flatMap((p) =>
        p.type === "Property" ? targets(p.value, p.shorthand) : targets(p.argument),
      );
    case "ArrayPattern":
      return pattern.elements.flatMap((element) => targets(element));
    case "AssignmentPattern":
      return targets(pattern.left, shorthand);
    case "RestElement":
      return targets(pattern.argument);
    default:
      return []; // a member expression, or a hole
  }
}

export const names = (pattern) => targets(pattern).map(({ node }) => node.name);

const declared = (declaration) => declaration.declarations.flatMap((declarator) => names(declarator.id));

/** The names that a statement list binds in its own block. */
function blockNames(statements) {
  return statements.flatMap((statement) => {
    if (statement.type === "VariableDeclaration") return statement.kind === "var" ? [] : declared(statement);
    return /^(Class|Function)Declaration$/.test(statement.type) ? [statement.id.name] : [];
  });
}

/** The `var` declarations in a node, without those in functions inside it. */
export function variables(node) {
  const found = [];
  walk(node, (inner) => {
    if (inner !== node && (isFunction(inner) || inner.type === "StaticBlock" || inner.type === "PropertyDefinition"))
      return false;
    if (inner.type === "VariableDeclaration" && inner.kind === "var") found.push(inner);
    return true;
  });
  return found;
}

/** True if a node, other than the program, binds a name for the code inside it. */
function binds(node, name) {
  if (isFunction(node)) {
    if (node.id?.name === name || node.params.some((parameter) => names(parameter).includes(name))) return true;
    return variables(node).some((declaration) => declared(declaration).includes(name));
  }
  switch (node.type) {
    case "BlockStatement":
    case "StaticBlock":
      return blockNames(node.body).includes(name);
    case "SwitchStatement":
      return blockNames(node.cases.flatMap((one) => one.consequent)).includes(name);
    case "CatchClause":
      return names(node.param).includes(name);
    case "ForStatement":
      return node.init?.type === "VariableDeclaration" && declared(node.init).includes(name);
    case "ForInStatement":
    case "ForOfStatement":
      return node.left.type === "VariableDeclaration" && declared(node.left).includes(name);
    case "ClassExpression":
      return node.id?.name === name;
    default:
      return false;
  }
}

function assigned(node) {
  switch (node.type) {
    case "AssignmentExpression":
      return ["&&=", "||=", "??="].includes(node.operator) ? [] : targets(node.left); // an operator that may not assign does not count
    case "UpdateExpression":
      return targets(node.argument);
    case "ForInStatement":
    case "ForOfStatement":
      return targets(node.left);
    default:
      return [];
  }
}

/** The places where a program assigns to the top-level names in `wanted`: their identifiers, as { node, shorthand }. */
export function assignments(program, wanted) {
  const found = [];
  walk(program, (node, ancestors) => {
    for (const target of assigned(node)) {
      const { name } = target.node;
      if (wanted.has(name) && ![...ancestors.slice(1), node].some((around) => binds(around, name))) found.push(target);
    }
  });
  return found;
}
