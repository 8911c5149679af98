// Answers of the leader and its stream as lines of a chart. Pure functions.

import { keyOf, type LiveLine } from "../api/live.svelte";
import type { SeriesAnswer } from "../api/types";
import type { Line } from "../parts/chart_data";

export interface RawLine extends Line {
  labels: Record<string, string>;
  unit: string;
}

export function linesOf(answer: SeriesAnswer): RawLine[] {
  return answer.series.map((series) => ({
    key: keyOf(series),
    label: "",
    labels: series.labels,
    unit: series.unit,
    x: series.buckets.map(([at]) => at),
    y: series.buckets.map(([, , , mean]) => mean),
    low: series.buckets.map(([, min]) => min),
    high: series.buckets.map(([, , max]) => max),
    counts: series.buckets.map(([, , , , count]) => count),
  }));
}

/** A line with what came in after its last bucket, which may still be half full: each of that is a value of its own. Nothing later than `until`. */
export function withLive(line: RawLine, live: LiveLine, until = Infinity): RawLine {
  const last = line.x.at(-1) ?? 0;
  let end = live.x.length;
  while (end > 0 && (live.x[end - 1] ?? 0) > until) --end;
  let begin = end;
  while (begin > 0 && (live.x[begin - 1] ?? 0) > last) --begin;
  if (begin === end) return line;
  const y = live.y.slice(begin, end);
  return {
    ...line,
    x: line.x.concat(live.x.slice(begin, end)),
    y: line.y.concat(y),
    ...(line.low && line.high && line.counts ? { low: line.low.concat(y), high: line.high.concat(y), counts: line.counts.concat(y.map((value) => (value === null ? 0 : 1))) } : {}),
  };
}
