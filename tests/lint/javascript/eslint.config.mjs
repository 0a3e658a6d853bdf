import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: "latest", sourceType: "module", globals: globals.node },
    rules: {
      complexity: ["error", 18],
      eqeqeq: "error",
      "max-lines-per-function": ["error", 60],
      "no-else-return": "error",
      "no-shadow": "error",
      "no-throw-literal": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  {
    // Functions of the page are mostly markup.
    files: ["**/page/*.mjs", "**/page/mcp/*.mjs"],
    languageOptions: { globals: globals.browser },
    rules: { complexity: ["error", 45], "max-lines-per-function": ["error", 140] },
  },
];
