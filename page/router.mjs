// The state of the page is its address: /ui/sessions/ID/files?run=3.
import { Watched, html, useWatched } from "./html.mjs";

const BASE = "/ui/";

class Router extends Watched {
  constructor() {
    super();
    this.read();
    addEventListener("popstate", () => {
      this.read();
      this.changed();
    });
  }

  read() {
    const inner = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : "";
    this.words = inner.split("/").filter(Boolean).map(decodeURIComponent);
    this.query = new URLSearchParams(location.search);
  }

  go(address, replace = false) {
    if (address === location.pathname + location.search) return;
    history[replace ? "replaceState" : "pushState"](null, "", address);
    this.read();
    this.changed();
  }

  // Changes some parameters of the address; null removes one.
  set(values, replace = false) {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(values)) {
      if (value === null || value === "" || value === undefined) query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    this.go(location.pathname + (text ? `?${text}` : ""), replace);
  }
}

export const router = new Router();
export const useRouter = () => useWatched(router);

export function to(...words) {
  return BASE + words.map(encodeURIComponent).join("/");
}

export function Link({ href, children, ...rest }) {
  const click = (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    router.go(href);
  };
  return html`<a href=${href} onClick=${click} ...${rest}>${children}</a>`;
}
