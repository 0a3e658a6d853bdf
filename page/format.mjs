// Numbers, times and texts as people read them.

export function size(bytes) {
  if (bytes === undefined || bytes === null) return "";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function duration(ms) {
  if (ms === undefined || ms === null) return "";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10 && Math.floor(seconds % 60)) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

// A time span in whole units, for countdowns.
export function left(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d`;
}

export function ago(ms) {
  const past = Date.now() - ms;
  if (past < 5000) return "just now";
  return `${left(past / 1000)} ago`;
}

export function exact(ms) {
  return ms ? new Date(ms).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }) : "";
}

export function clock(ms) {
  return ms
    ? new Date(ms).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" })
    : "";
}

export function count(n, one, many) {
  return `${n.toLocaleString()} ${n === 1 ? one : many || `${one}s`}`;
}

// Characters that show nothing or change the direction of text. A reader must see that they are there.
const RANGES = [
  "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad", // controls
  "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069", // direction
  "\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200d\\u2028\\u2029\\u2060-\\u2065\\u3164\\ufeff\\uffa0", // no width
  "\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}", // annotations and tags
];
// eslint-disable-next-line no-misleading-character-class
const HIDDEN = new RegExp(`[${RANGES.join("")}]`, "gu");

export function visible(text) {
  return text.replace(HIDDEN, (c) => `⟦U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

// One line of at most `max` characters, for tables.
export function brief(text, max = 120) {
  const lines = visible(text || "")
    .split("\n")
    .filter((line) => line.trim());
  const first = lines[0] || "";
  const cut = first.length > max ? `${first.slice(0, max)}…` : first;
  return lines.length > 1 ? `${cut} …` : cut;
}

export function short(id) {
  return id ? id.slice(0, 8) : "";
}
