// Variables of a session, and its use of memory, processor and disks.
import uPlot from "uplot";
import { html, useEffect, useRef, useState, useWatched } from "./html.mjs";
import { count, size, visible } from "./format.mjs";
import { live } from "./live.mjs";
import { Empty } from "./widgets.mjs";

export function Variables({ runs }) {
  const usage = runs.info?.usage;
  const [filter, setFilter] = useState("");
  useEffect(() => {
    runs.readInfo();
  }, [runs, runs.endedCount]);
  if (!runs.info) return html`<p class="muted">Reading …</p>`;
  const list = (usage?.variables || []).filter((v) => v.name.toLowerCase().includes(filter.toLowerCase()));
  if (!usage?.has_variables || !usage.variables.length)
    return html`<${Empty} title="No variables">
      <p>
        ${usage?.busy ? "The interpreter is busy; they are listed when the cell ends." : "The interpreter has no variables yet."}
      </p>
    <//>`;
  return html`<div>
    <div class="bar">
      <input
        type="search"
        placeholder="Filter"
        aria-label="Filter variables"
        onInput=${(e) => setFilter(e.target.value)}
      />
      <span class="muted">${count(usage.variables.length + (usage.more_variables || 0), "variable")}</span>
    </div>
    <table>
      <thead>
        <tr>
          <th>name</th>
          <th>type</th>
          <th>shape</th>
          <th class="right">size</th>
        </tr>
      </thead>
      <tbody>
        ${list.map(
          (v) =>
            html`<tr key=${v.name}>
              <td class="mono">${visible(v.name)}</td>
              <td class="mono">${visible(v.type)}</td>
              <td class="mono">${visible(v.shape || "")}</td>
              <td class="right">${v.bytes ? size(v.bytes) : ""}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${usage.more_variables ? html`<p class="note">${usage.more_variables} smaller variables are not listed.</p>` : null}
  </div>`;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function Chart({ title, times, values, format, max }) {
  const box = useRef();
  const plot = useRef();
  useEffect(() => {
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui",
      space: 90,
    };
    plot.current = new uPlot(
      {
        width: box.current.clientWidth,
        height: 180,
        legend: { show: false },
        cursor: { y: false },
        scales: { y: { range: (_, low, high) => [0, Math.max(max || 0, high || 0, 1e-9)] } },
        axes: [axis, { ...axis, size: 70, space: 30, values: (_, ticks) => ticks.map(format) }],
        series: [
          {},
          { stroke: colour("--accent"), width: 1.5, fill: `${colour("--accent")}22`, points: { show: false } },
        ],
      },
      [times, values],
      box.current,
    );
    const resize = new ResizeObserver(() => plot.current.setSize({ width: box.current.clientWidth, height: 180 }));
    resize.observe(box.current);
    return () => {
      resize.disconnect();
      plot.current.destroy();
    };
  }, []);
  useEffect(() => plot.current.setData([times, values]), [times.length, times[times.length - 1]]);
  return html`<figure class="chart">
    <figcaption>${title}</figcaption>
    <div ref=${box}></div>
  </figure>`;
}

export function Usage({ id }) {
  useWatched(live);
  const usage = live.usage.get(id);
  const samples = usage?.samples || [];
  if (samples.length < 2) return html`<p class="muted">Measuring …</p>`;
  const times = samples.map((s) => s.time_ms / 1000);
  return html`<div class="charts">
    <${Chart}
      title="Memory, of ${size(usage.limit)}"
      times=${times}
      values=${samples.map((s) => s.memory)}
      max=${64 * 1024 * 1024}
      format=${size}
    />
    <${Chart}
      title="Processors in use, of ${usage.cpus}"
      times=${times.slice(1)}
      values=${usage.cpu.length === times.length - 1 ? usage.cpu : times.slice(1).map(() => 0)}
      max=${usage.cpus}
      format=${(v) => v.toFixed(1)}
    />
  </div>`;
}
