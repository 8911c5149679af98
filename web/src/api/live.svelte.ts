import { address, credentials } from "./ask";
import { connection } from "./connection.svelte";
import { readEvents } from "./sse";
import type { LiveEvent, LiveNode, LiveSeries } from "./types";

export interface LiveLine {
  series: LiveSeries;
  x: number[];
  y: (number | null)[];
}

/**
 * What is new on the cluster, told by the leader while a component is there. `version` grows at most five times a second;
 * whoever draws reads it, then the lines.
 */
export class Live {
  version = $state(0);
  connected = $state(false);
  lines = new Map<string, LiveLine>();
  nodes = new Map<string, LiveNode>();
  /** Changes whenever an alert was raised, changed or resolved */
  alerts = $state(0);
  paused = $state(false);
}

const kKept = 1200;
const kRedrawMs = 200;

export function keyOf(series: { name: string; labels: Record<string, string> }): string {
  const labels = Object.entries(series.labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return series.name + labels.map(([name, value]) => `|${name}=${value}`).join("");
}

/** To be called while a component is set up; `question` names metrics and nodes, and may change; null: nothing is asked for. */
export function watchLive(question: () => { metrics?: string; nodes?: string } | null): Live {
  const live = new Live();
  $effect(() => {
    const asked = question();
    if (!asked) return;
    const stop = new AbortController();
    void follow(live, asked, stop.signal);
    return () => stop.abort();
  });
  return live;
}

async function follow(live: Live, asked: { metrics?: string; nodes?: string }, signal: AbortSignal) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const redraw = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (!live.paused && !document.hidden) live.version += 1;
    }, kRedrawMs);
  };
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 8000)) {
    try {
      const headers: HeadersInit = credentials.token ? { Authorization: "Bearer " + credentials.token } : {};
      const response = await fetch(address("/api/v1/live", { query: asked }), { headers, signal, cache: "no-store" });
      if (response.status === 401) return credentials.refused();
      if (!response.ok || !response.body) throw new Error(String(response.status));
      connection.heard();
      live.connected = true;
      pause = 500;
      const numbered = new Map<number, LiveLine>();
      for await (const event of readEvents(response.body)) {
        if (event.name !== "snapshot" && event.name !== "delta") continue;
        take(live, numbered, JSON.parse(event.data) as LiveEvent);
        redraw();
      }
    } catch {
      if (signal.aborted) break;
    }
    live.connected = false;
    await new Promise((done) => setTimeout(done, pause));
  }
  clearTimeout(timer);
}

function take(live: Live, numbered: Map<number, LiveLine>, event: LiveEvent) {
  for (const node of event.nodes) live.nodes.set(node.name, node);
  for (const series of event.series) {
    const key = keyOf(series);
    const line = live.lines.get(key) ?? { series, x: [], y: [] };
    live.lines.set(key, line);
    numbered.set(series.id, line);
  }
  for (const [id, at, value] of event.values) {
    const line = numbered.get(id);
    if (!line || at <= (line.x.at(-1) ?? 0)) continue;
    line.x.push(at);
    line.y.push(value);
    // Twice the size before it is cut, so that cutting costs nothing on average.
    if (line.x.length > 2 * kKept) {
      line.x.splice(0, kKept);
      line.y.splice(0, kKept);
    }
  }
  if (event.alerts.length > 0) live.alerts += 1;
}
