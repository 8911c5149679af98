import { ask } from "../api/ask";
import { keyOf, watchLive } from "../api/live.svelte";
import { load } from "../api/loaded.svelte";
import type { SeriesAnswer } from "../api/types";
import { readRange, type Range } from "../format/time";
import type { Line } from "../parts/chart_data";

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

function quoted(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
}

export function questionText(asked: TelemetryQuestion, range: Range, points: number): string {
  const node = asked.node ? ` node=${quoted(asked.node)}` : "";
  const from = new Date(range.from).toISOString();
  const to = new Date(range.to).toISOString();
  return `${asked.metric}${node}${asked.labels ? " " + asked.labels : ""} from=${from} to=${to} points=${points}`;
}

export interface RawLine extends Line {
  labels: Record<string, string>;
  unit: string;
}

function linesOf(answer: SeriesAnswer): RawLine[] {
  return answer.series.map((series) => ({
    key: keyOf(series),
    label: "",
    labels: series.labels,
    unit: series.unit,
    x: series.buckets.map(([at]) => at),
    y: series.buckets.map(([, , , mean]) => mean),
    low: series.buckets.map(([, min]) => min),
    high: series.buckets.map(([, , max]) => max),
  }));
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
  const past = load(
    (signal) => {
      const range = readRange(asked.range, asked.held || Date.now());
      return ask("GET /api/v1/query", { query: { q: questionText(asked, range, points) }, signal });
    },
    { every: () => (asked.held ? 0 : 60_000) },
  );
  const live = watchLive(() => (streams && !asked.held ? { metrics: asked.metric, ...(asked.node ? { node: asked.node } : {}) } : null));

  const shown = $derived.by((): { lines: RawLine[]; range: Range; unit: string } => {
    void live.version;
    const range = readRange(asked.range, asked.held || Date.now());
    const lines = past.value ? linesOf(past.value) : [];
    const byKey = new Map(lines.map((line) => [line.key, line]));
    if (streams) {
      for (const [key, one] of live.lines) {
        if (one.series.name !== asked.metric || (asked.node && one.series.node !== asked.node)) continue;
        let line = byKey.get(key);
        if (!line) {
          line = { key, label: "", labels: one.series.labels, unit: one.series.unit, x: [], y: [] };
          lines.push(line);
          byKey.set(key, line);
        }
        // Later than the last bucket, which may still be half full.
        const last = line.x.at(-1) ?? 0;
        let end = one.x.length;
        while (asked.held && end > 0 && (one.x[end - 1] ?? 0) > asked.held) --end;
        let begin = end;
        while (begin > 0 && (one.x[begin - 1] ?? 0) > last) --begin;
        if (begin < end) {
          line.x = line.x.concat(one.x.slice(begin, end));
          line.y = line.y.concat(one.y.slice(begin, end));
          delete line.low;
          delete line.high;
        }
      }
    }
    return { lines, range, unit: lines[0]?.unit ?? "" };
  });
  return {
    get shown() {
      return shown;
    },
    past,
    live,
  };
}
