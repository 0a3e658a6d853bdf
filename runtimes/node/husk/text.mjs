// Text that fits and that every reader accepts.

export const TEXT_MAX = 1 << 20; // characters of text/plain
const REPLACEMENT = "\ufffd";

/** Removes lone surrogates and NULs: the link's JSON allows neither. */
export function valid(text) {
  return String(text).toWellFormed().replaceAll("\0", REPLACEMENT);
}

/** The head and the tail of a text that is too long: the end of an error is most useful. */
export function shorten(text, limit, what = "characters") {
  if (text.length <= limit) return text;
  const head = text.slice(0, limit / 4);
  const tail = text.slice(text.length - (limit - head.length));
  return `${head}\n[... ${(text.length - limit).toLocaleString("en")} ${what} left out ...]\n${tail}`;
}
