// The few names that every module of the page uses.
import { Fragment, h, options, render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);
export { Fragment, render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };

// Changes of state in `act` are rendered before it returns.
export function renderNow(act) {
  const usual = options.debounceRendering;
  options.debounceRendering = (work) => work();
  act();
  options.debounceRendering = usual;
}

// A value that components follow. Changes within one frame cause one render.
export class Watched {
  constructor() {
    this.watchers = new Set();
    this.planned = 0;
    this.version = 0;
  }

  changed() {
    this.version++;
    if (this.planned) return;
    const tell = () => {
      clearTimeout(this.timer);
      cancelAnimationFrame(this.planned);
      this.planned = 0;
      for (const watcher of [...this.watchers]) watcher();
    };
    this.planned = requestAnimationFrame(tell);
    // Hidden pages get no frames, but their title still changes.
    this.timer = setTimeout(tell, 250);
  }

  watch(watcher) {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

export function useWatched(watched) {
  const [, count] = useState(0);
  const version = watched?.version;
  useEffect(() => {
    if (!watched) return undefined;
    const again = () => count((n) => n + 1);
    // Effects run after the paint, and the object may have changed since it was read.
    if (watched.version !== version) again();
    return watched.watch(again);
  }, [watched]);
  return watched;
}

// Renders again every `ms` milliseconds, for times that pass.
export function useTick(ms) {
  const [, count] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || count((n) => n + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
}
