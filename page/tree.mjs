// The cells of a session as a tree: an undo, or a recovery after a death, goes back to a checkpoint, and the next cell
// starts a new branch there.
import { html, useEffect, useState } from "./html.mjs";
import { can, path, post } from "./api.mjs";
import { brief, duration, left, size, visible } from "./format.mjs";
import { Code } from "./highlight.mjs";
import { Link, to } from "./router.mjs";
import { endingWords } from "./run.mjs";
import { Empty, ErrorBox, Field, Menu, State } from "./widgets.mjs";

const LANE = 18;
const READ_MS = 5000;
const DONE = { save: "The checkpoint is made.", keep: "The branch is the interpreter now.", drop: "Deleted." };

// Cells and requests in the order in which the interpreters saw them.
function storyOf(runs, points) {
  const cells = runs.filter((run) => run.kind === "cell");
  const story = cells.map((run) => ({ at: run.started_ms || run.queued_ms || 0, run }));
  for (const point of points) story.push({ at: point.time_ms, point });
  for (const run of cells) {
    const at = run.ended_ms || run.started_ms || 0;
    if (run.branch && ["kernel_died", "oom"].includes(run.ending)) story.push({ at, over: [run.branch] });
    else if (run.restored) story.push({ at, back: run.restored.run || 0 });
    else if (run.kernel_restarted) story.push({ at, back: 0 });
  }
  return story.sort((a, b) => a.at - b.at || (a.run && b.run ? a.run.number - b.run.number : a.run ? -1 : 1));
}

// A checkpoint was made after this run; if it was a command, after the cell of the main interpreter before it.
function rowOf(rows, number) {
  const exact = rows.findIndex((row) => row.number === number);
  return exact >= 0 ? exact : rows.findLastIndex((row) => row.number <= number && !row.run?.branch);
}

// Changes `heads`, the rows whose variables the interpreters have, by name; "" is the main one.
function follow(heads, rows, { event, text = "", after_run: run = 0 }) {
  const names = text.split(/[\s,]+/).filter(Boolean);
  if (event === "checkpoint.restored") heads.set("", rowOf(rows, run));
  if (event === "branch.made") for (const name of names) heads.set(name, heads.get(""));
  if (event === "checkpoint.dropped") for (const name of names) heads.delete(name);
  if (event !== "branch.kept") return;
  const kept = heads.get(names[0]) ?? heads.get("");
  heads.clear();
  heads.set("", kept);
}

// Rows, the oldest first. Row 0 is the new interpreter.
export function treeOf(runs, points) {
  const rows = [{ number: 0, parent: -1 }];
  const heads = new Map([["", 0]]);
  for (const { run, point, back, over } of storyOf(runs, points)) {
    if (run) {
      const parent = heads.get(run.branch || "") ?? heads.get("");
      heads.set(run.branch || "", rows.push({ number: run.number, parent, run }) - 1);
    } else if (point) follow(heads, rows, point);
    else if (over) for (const name of over) heads.delete(name);
    else heads.set("", rowOf(rows, back));
  }
  for (const head of heads.values()) for (let at = head; at >= 0; at = rows[at].parent) rows[at].alive = true;
  for (let at = heads.get(""); at >= 0; at = rows[at].parent) rows[at].current = true;
  return { rows: lanesOf(rows), heads };
}

// The cells whose effects the interpreter has are lane 0. Every other branch gets the first lane that is free along its rows.
function lanesOf(rows) {
  const continued = new Set();
  const taken = [];
  rows.forEach((row, at) => {
    const parent = rows[row.parent];
    if (row.current) row.lane = 0;
    else if (!parent.current && !continued.has(row.parent)) row.lane = parent.lane;
    else {
      let last = at;
      for (let next = at; next >= 0; next = rows.findIndex((other, i) => i > next && other.parent === next))
        last = next;
      const free = (lane) => !taken.some((one) => one.lane === lane && one.from <= last && one.to >= row.parent);
      row.lane = 1;
      while (!free(row.lane)) row.lane++;
      taken.push({ lane: row.lane, from: row.parent, to: last });
    }
    if (parent && !row.current) continued.add(row.parent);
  });
  return rows;
}

// The pieces of lines in each row, as [x1, y1, x2, y2, current]; heights are percentages of the row.
function linesOf(rows) {
  const lines = rows.map(() => []);
  rows.forEach((row, at) => {
    if (row.parent < 0) return;
    const parent = rows[row.parent];
    lines[row.parent].push([parent.lane, 50, row.lane, 100, row.current]);
    for (let i = row.parent + 1; i < at; i++) lines[i].push([row.lane, 0, row.lane, 100, row.current]);
    lines[at].push([row.lane, 0, row.lane, 50, row.current]);
  });
  return lines;
}

function Graph({ row, lines, width }) {
  const x = (lane) => lane * LANE + LANE / 2;
  return html`<svg class="graph" width=${width} aria-hidden="true">
    ${lines.map(
      ([from, top, lane, bottom, current], i) =>
        html`<line
          key=${i}
          class=${current ? "current" : ""}
          x1=${x(from)}
          y1="${top}%"
          x2=${x(lane)}
          y2="${bottom}%"
        />`,
    )}
    <circle class=${row.current ? "current" : ""} cx=${x(row.lane)} cy="50%" r="4.5" />
  </svg>`;
}

function Checkpoint({ one, act }) {
  const name = one.name || "automatic";
  const target = one.name || String(one.run);
  const lost = one.lost?.length ? ` Without ${one.lost.map(visible).join(", ")}.` : "";
  const age = `${left((one.age_ms || 0) / 1000)} old`;
  const items = [
    { label: "Return to it", run: () => act("undo", target) },
    { label: "Delete it", danger: true, run: () => act("drop", target) },
  ];
  return html`<span class="checkpoint ${one.name ? "" : "automatic"}" title="A checkpoint, ${age}.${lost}">
    <span aria-hidden="true">⚑</span> ${visible(name)}
    <span class="muted">${one.bytes ? size(one.bytes) : ""}${lost ? " !" : ""}</span>
    ${can("run") && html`<${Menu} label="⋯" title="Commands for the checkpoint ${visible(name)}" items=${items} />`}
  </span>`;
}

function infoOf(runs, name) {
  return runs.info?.usage?.branches?.find((one) => one.name === name);
}

function Branch({ name, info, act }) {
  const items = [
    { label: "Make it the interpreter", run: () => act("keep", name) },
    { label: "Delete it", danger: true, run: () => act("drop", name) },
  ];
  return html`<span class="checkpoint" title="A branch${info?.state ? `, ${visible(info.state)}` : ""}">
    <span aria-hidden="true">↳</span> ${visible(name)} <span class="muted">${info?.bytes ? size(info.bytes) : ""}</span>
    ${can("run") && html`<${Menu} label="⋯" title="Commands for the branch ${visible(name)}" items=${items} />`}
  </span>`;
}

function Row({ runs, row, lines, width, isHead, checkpoints, branches, act }) {
  const { run } = row;
  return html`<li class="branch-row ${row.alive ? "" : "gone"}" style=${{ paddingLeft: `${width + 8}px` }}>
    <${Graph} row=${row} lines=${lines} width=${width} />
    ${
      run
        ? html`<${Link} class="figure muted" href="${to("sessions", runs.id)}?run=${run.number}">${run.number}<//>
            <span class="branch-code"
              >${run.text ? html`<${Code} text=${brief(run.text, 90)} language=${runs.info?.language} />` : html`<code class="muted">(a cell)</code>`}</span
            >
            ${
              run.failed
                ? html`<${State} name="failed" words=${run.error?.type || endingWords(run)} />`
                : run.state === "ended"
                  ? html`<span class="muted nowrap">${duration(run.milliseconds)}</span>`
                  : html`<${State} name=${run.state === "queued" ? "idle" : run.state} words=${run.state} />`
            }`
        : html`<span></span>
            <span class="muted branch-code">${runs.more ? "earlier cells" : "a new interpreter"}</span>`
    }
    ${checkpoints.map((one) => html`<${Checkpoint} key=${one.name || one.run} one=${one} act=${act} />`)}
    ${branches.map((name) => html`<${Branch} key=${name} name=${name} info=${infoOf(runs, name)} act=${act} />`)}
    ${isHead && html`<span class="here">now</span>`}
    ${run && !row.alive && html`<span class="sr-only">its effects are gone</span>`}
  </li>`;
}

export function Tree({ runs }) {
  const [error, setError] = useState(null);
  const [said, setSaid] = useState("");
  const usage = runs.info?.usage;
  useEffect(() => {
    runs.readPoints();
  }, [runs]);
  useEffect(() => {
    if (runs.ended) return undefined;
    runs.readInfo();
    const timer = setInterval(() => document.hidden || runs.readInfo(), READ_MS);
    return () => clearInterval(timer);
  }, [runs, runs.ended, runs.endedCount, runs.points.length]);
  const act = async (action, name) => {
    try {
      const answer = await post(`${path("sessions", runs.id)}/checkpoints`, { action, name });
      setSaid(answer.note || DONE[action]);
      setError(null);
      runs.readInfo();
      return true;
    } catch (problem) {
      setError(problem);
      return false;
    }
  };
  const save = (event) => {
    event.preventDefault();
    const form = event.target;
    act("save", form.checkpoint.value.trim()).then((done) => done && form.reset());
  };
  if (!runs.listed) return html`<p class="muted">Reading …</p>`;
  const { rows, heads } = treeOf(runs.list, runs.points);
  const lines = linesOf(rows);
  const width = (Math.max(...rows.map((row) => row.lane)) + 1) * LANE;
  const kept = (usage?.checkpoints || []).map((one) => ({
    ...one,
    row: rowOf(rows, one.run || 0),
  }));
  return html`<div class="parts">
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${said && html`<p class="strip" role="status">${visible(said)}</p>`}
    ${usage?.no_checkpoints && html`<p class="strip">There are no checkpoints: ${visible(usage.no_checkpoints)}</p>`}
    ${
      can("run") &&
      !runs.ended &&
      !usage?.no_checkpoints &&
      html`<form class="inline" onSubmit=${save}>
        <${Field} label="Keep the variables as they are now"
          ><input
            name="checkpoint"
            required
            maxlength="64"
            pattern="[A-Za-z][\\w.\\-]*"
            title="Letters, digits, - _ and ., beginning with a letter"
            placeholder="before_merge"
            autocomplete="off"
            spellcheck="false"
        /><//>
        <button type="submit">Make a checkpoint</button>
      </form>`
    }
    ${
      rows.length > 1
        ? html`<ol class="branches">
            ${rows.map(
              (row, at) =>
                html`<${Row}
                  key=${row.number}
                  runs=${runs}
                  row=${row}
                  lines=${lines[at]}
                  width=${width}
                  isHead=${at === heads.get("") && !runs.ended}
                  branches=${runs.ended ? [] : [...heads.keys()].filter((name) => name && heads.get(name) === at)}
                  checkpoints=${kept.filter((one) => one.row === at)}
                  act=${act}
                />`,
            )}
          </ol>`
        : html`<${Empty} title="No cells yet">
            <p>
              Each cell appears here. A checkpoint keeps the variables after a cell. After a return to it, the next cell
              starts a new branch, and the cells that were undone stay visible.
            </p>
          <//>`
    }
    ${runs.more && html`<button type="button" class="quiet older" onClick=${() => runs.older()}>Earlier runs</button>`}
  </div>`;
}
