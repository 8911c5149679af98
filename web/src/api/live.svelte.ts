import { address, cookies, credentials } from "./ask";
import { connection } from "./connection.svelte";
import { readEvents } from "./sse";
import type { LiveEvent, LiveNode, LiveSeries } from "./types";

export interface LiveLine {
  series: LiveSeries;
  x: number[];
  y: (number | null)[];
}

export interface LiveQuestion {
  /** With commas; "none": nodes and alerts alone */
  metrics: string;
  /** One node; without: all */
  node?: string;
}

/** Values of a line: what comes while the leader is asked for those before it. Charts keep what they show. */
const kKept = 200;
const kRedrawMs = 200;

/** How long what came in waits to be drawn: the more lines there are, the more of what comes within a second is drawn at once. */
export const redrawPause = (lines: number) => Math.min(1000, Math.max(kRedrawMs, lines));

export function keyOf(series: { name: string; labels: Record<string, string> }): string {
  const labels = Object.entries(series.labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return series.name + labels.map(([name, value]) => `|${name}=${value}`).join("");
}

/** What one stream has to tell so that everybody gets theirs. */
export function together(questions: LiveQuestion[]): { metrics: string; nodes?: string } {
  const metrics = [...new Set(questions.flatMap((one) => one.metrics.split(",")))].filter((one) => one !== "none").sort();
  const nodes = [...new Set(questions.filter((one) => one.metrics !== "none").map((one) => one.node ?? ""))].sort();
  return { metrics: metrics.join(",") || "none", ...(nodes.includes("") || nodes.length === 0 ? {} : { nodes: nodes.join(",") }) };
}

/**
 * What is new on the cluster, told by the leader over one stream for the whole page: browsers open few connections to a
 * server. `version` grows at most five times a second, of hundreds of lines once; whoever draws reads it, then the lines.
 */
class Live {
  version = $state(0);
  connected = $state(false);
  lines = new Map<string, LiveLine>();
  nodes = new Map<string, LiveNode>();
  /** How often the stream was lost and found again, or went on for long while nobody looked: what was told meanwhile is missing */
  gaps = $state(0);
  /** Changes whenever an alert was raised, changed or resolved */
  alerts = $state(0);

  private questions = new Set<LiveQuestion>();
  private asked = "";
  private stop: AbortController | undefined;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private drawing: ReturnType<typeof setTimeout> | undefined;
  /** Nobody looked, and what is given up now nobody took */
  private missed = false;

  constructor() {
    globalThis.document?.addEventListener("visibilitychange", () => {
      if (document.hidden || !this.missed) return;
      this.missed = false;
      this.gaps += 1;
    });
  }

  add(question: LiveQuestion): () => void {
    this.questions.add(question);
    this.settle();
    return () => {
      this.questions.delete(question);
      this.settle();
    };
  }

  /** A page that appears has many questions at once: they are asked together. */
  private settle() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      const asked = this.questions.size > 0 ? JSON.stringify(together([...this.questions])) : "";
      if (asked === this.asked) return;
      this.asked = asked;
      this.stop?.abort();
      this.connected = false;
      if (!asked) {
        this.lines.clear();
        return;
      }
      const wanted = new Set((JSON.parse(asked) as { metrics: string }).metrics.split(","));
      for (const [key, line] of this.lines) if (!wanted.has(line.series.name)) this.lines.delete(key);
      this.stop = new AbortController();
      void this.follow(JSON.parse(asked) as Record<string, string>, this.stop.signal);
    }, 60);
  }

  private redraw() {
    this.drawing ??= setTimeout(() => {
      this.drawing = undefined;
      if (!document.hidden) this.version += 1;
    }, redrawPause(this.lines.size));
  }

  private async follow(query: Record<string, string>, signal: AbortSignal) {
    let lost = false;
    for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 8000)) {
      try {
        const headers: HeadersInit = credentials.token ? { Authorization: "Bearer " + credentials.token } : {};
        const response = await fetch(address("/api/v1/live", { query }), { headers, signal, credentials: cookies(), cache: "no-store" });
        if (response.status === 401) return credentials.refused();
        if (!response.ok || !response.body) throw new Error(String(response.status));
        connection.heard();
        this.connected = true;
        if (lost) this.gaps += 1;
        pause = 500;
        const numbered = new Map<number, LiveLine>();
        for await (const event of readEvents(response.body)) {
          if (signal.aborted) return;
          if (event.name !== "snapshot" && event.name !== "delta") continue;
          this.take(numbered, JSON.parse(event.data) as LiveEvent);
          this.redraw();
        }
      } catch {
        if (signal.aborted) return;
      }
      this.connected = false;
      lost = true;
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  private take(numbered: Map<number, LiveLine>, event: LiveEvent) {
    for (const node of event.nodes) this.nodes.set(node.name, node);
    for (const series of event.series) {
      const key = keyOf(series);
      const line = this.lines.get(key) ?? { series, x: [], y: [] };
      this.lines.set(key, line);
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
        this.missed ||= globalThis.document?.hidden ?? false;
      }
    }
    if (event.alerts.length > 0) this.alerts += 1;
  }
}

const live = new Live();

/** To be called while a component is set up; `question` may change; null: nothing is asked for. */
export function watchLive(question: () => LiveQuestion | null): Live {
  $effect(() => {
    const asked = question();
    return asked ? live.add(asked) : undefined;
  });
  return live;
}
