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

/**
 * The lines of an answer, which go on with what the stream tells. Thousands of them must not be copied for each value that comes:
 * their arrays grow where they are, and the list is another one only when there is another line.
 */
export class GrowingLines {
  private places: Map<string, RawLine>;

  constructor(public list: RawLine[]) {
    this.places = new Map(list.map((line) => [line.key, line]));
  }

  /**
   * Takes what came after the last bucket of each line, which may still be half full: each of that is a value of its own. Nothing
   * later than `until`; what is older than `from` is given up by and by.
   */
  take(live: Iterable<[string, LiveLine]>, from = -Infinity, until = Infinity) {
    const added: RawLine[] = [];
    for (const [key, one] of live) {
      let line = this.places.get(key);
      if (!line) {
        line = { key, label: "", labels: one.series.labels, unit: one.series.unit, x: [], y: [] };
        this.places.set(key, line);
        added.push(line);
      }
      grow(line, one, until);
      trim(line, from);
    }
    if (added.length > 0) this.list = [...this.list, ...added];
  }
}

function grow({ x, y, low, high, counts }: RawLine, live: LiveLine, until: number) {
  const last = x.at(-1) ?? 0;
  let begin = live.x.length;
  while (begin > 0 && (live.x[begin - 1] ?? 0) > last) --begin;
  for (let i = begin; i < live.x.length; ++i) {
    const [at, value] = [live.x[i] ?? 0, live.y[i] ?? null];
    if (at > until) return;
    x.push(at);
    y.push(value);
    low?.push(value);
    high?.push(value);
    counts?.push(value === null ? 0 : 1);
  }
}

/** Many at once, since all that stays is moved for it. */
function trim({ x, y, low, high, counts }: RawLine, from: number) {
  const most = 32 + (x.length >> 3);
  if (x.length <= most || (x[most] ?? from) >= from) return;
  for (const values of [x, y, low, high, counts]) values?.splice(0, most);
}
