import { ask } from "../api/ask";
import { watchLive, type LiveLine } from "../api/live.svelte";
import { load } from "../api/loaded.svelte";
import { readRange, type Range } from "../format/time";
import type { Line } from "../parts/chart_data";
import { GrowingLines, linesOf, type RawLine } from "./lines";

export type { RawLine };

export interface TelemetryQuestion {
  metric: string;
  /** "" for all */
  node: string;
  /** As in the address: "15min", "from..to" */
  range: string;
  /** When it was held still, in milliseconds since 1970; 0: it goes on */
  held: number;
  labels?: string;
}

/** Up to this the leader's stream is shown as well; beyond it new points would not be seen. */
const kLiveSpan = 2 * 3600e3;

/** A reading a second for more than a day; beyond it, and where the leader refuses, means are saved, which say so. */
const kFullPoints = 100_000;

function quoted(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
}

export function questionText(asked: TelemetryQuestion, range: Range, points: number): string {
  const node = asked.node ? ` node=${quoted(asked.node)}` : "";
  const from = new Date(range.from).toISOString();
  const to = new Date(range.to).toISOString();
  return `${asked.metric}${node}${asked.labels ? " " + asked.labels : ""} from=${from} to=${to} points=${points}`;
}

/** A metric over a time, with what comes in meanwhile. To be called while a component is set up. */
export function telemetry(question: () => TelemetryQuestion, points = 400) {
  const asked = $derived(question());
  const fixed = $derived(asked.range.includes(".."));
  const span = $derived.by(() => {
    const { from, to } = readRange(asked.range, 0);
    return to - from;
  });
  const streams = $derived(!fixed && span <= kLiveSpan);
  const live = watchLive(() => (streams && !asked.held ? { metrics: asked.metric, ...(asked.node ? { node: asked.node } : {}) } : null));
  const past = load(
    async (signal) => {
      void live.gaps;
      const range = readRange(asked.range, asked.held || Date.now());
      // Of the answer, which is several times as large, nothing else is kept.
      return linesOf(await ask("GET /api/v1/query", { query: { q: questionText(asked, range, points) }, signal }));
    },
    // What the stream tells need not be asked for: a quarter of an hour of thousands of lines is tens of megabytes.
    { every: () => (asked.held ? undefined : streams && live.connected ? 300_000 : 60_000) },
  );

  const growing = $derived(new GrowingLines(past.value ?? []));
  const shown = $derived.by((): { lines: RawLine[]; range: Range; unit: string; revision: number } => {
    const revision = live.version;
    const wanted = ([, { series }]: [string, LiveLine]) => series.name === asked.metric && (!asked.node || series.node === asked.node);
    const range = readRange(asked.range, asked.held || Date.now());
    if (streams) growing.take([...live.lines].filter(wanted), range.from, asked.held || Infinity);
    return { lines: growing.list, range, unit: growing.list[0]?.unit ?? "", revision };
  });
  return {
    /** `lines` stay the same while they grow; `revision` is another one then. */
    get shown() {
      return shown;
    },
    /** What the leader has of the same time, in as many points as it gives. */
    full: async (): Promise<Line[]> => linesOf(await ask("GET /api/v1/query", { query: { q: questionText(asked, shown.range, kFullPoints) } })),
    past,
    live,
  };
}
