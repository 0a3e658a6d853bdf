// Colours code. Only for reading: a wrong colour harms nobody.
import { html } from "./html.mjs";
import { visible } from "./format.mjs";

const WORDS = {
  python: [
    "and as assert async await break case class continue def del elif else except finally for from global if import in is",
    "lambda match nonlocal not or pass raise return try while with yield None True False",
  ].join(" "),
  node: [
    "async await break case catch class const continue default delete do else export extends finally for function if",
    "import in instanceof let new null of return static super switch this throw true false try typeof undefined var",
    "void while yield",
  ].join(" "),
  r: "break else FALSE for function if in Inf NA NaN next NULL repeat return TRUE while library",
  bash: "case do done elif else esac export fi for function if in local return then until while cd echo set",
};
const COMMENT = { python: "#[^\\n]*", r: "#[^\\n]*", bash: "#[^\\n]*", node: "//[^\\n]*|/\\*[\\s\\S]*?\\*/" };
const STRING = {
  python: "\"\"\"[\\s\\S]*?\"\"\"|'''[\\s\\S]*?'''|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'",
  node: "`(?:\\\\.|[^`\\\\])*`|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'",
  r: "\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'",
  bash: "\"(?:\\\\.|[^\"\\\\])*\"|'[^']*'",
};
const LONG = 20000;

const patterns = {};

function pattern(language) {
  patterns[language] ||= new RegExp(
    `(${COMMENT[language]})|(${STRING[language]})|\\b(\\d[\\w.]*)\\b|\\b(${WORDS[language].split(" ").join("|")})\\b`,
    "g",
  );
  return patterns[language];
}

export function Code({ text, language }) {
  const shown = visible(text || "");
  if (!WORDS[language] || shown.length > LONG) return html`<code>${shown}</code>`;
  const out = [];
  let at = 0;
  for (const match of shown.matchAll(pattern(language))) {
    out.push(shown.slice(at, match.index));
    const kind = match[1] ? "comment" : match[2] ? "string" : match[3] ? "number" : "keyword";
    out.push(html`<span class="hl-${kind}">${match[0]}</span>`);
    at = match.index + match[0].length;
  }
  out.push(shown.slice(at));
  return html`<code>${out}</code>`;
}
