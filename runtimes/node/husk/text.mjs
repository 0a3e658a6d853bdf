// Makes text valid for the link, and shortens it to a limit.

export const TEXT_MAX = 1 << 20; // characters of text/plain
const REPLACEMENT = "\ufffd";

/** Replaces lone surrogates and NULs, because the link's JSON allows neither. */
export function valid(text) {
  return String(text).toWellFormed().replaceAll("\0", REPLACEMENT);
}

/** Reduces a text that is too long to its head and tail. The tail is longer: the end of an error is most useful. */
export function shorten(text, limit, what = "characters") {
  if (text.length <= limit) return text;
  const head = text.slice(0, limit / 4);
  const tail = text.slice(text.length - (limit - head.length));
  return `${head}\n[... ${(text.length - limit).toLocaleString("en")} ${what} left out ...]\n${tail}`;
}
