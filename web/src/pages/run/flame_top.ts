// What the table behind a flame view says, and which files have one. Pure functions.

import type { Flame } from "./flame_trace";

/** Larger ones take a browser more memory than a tab has: Perfetto reads them. */
export const kLargestTrace = 200 * 2 ** 20;

/** Whether a file of a run is a Chrome trace, by its name: the engine writes trace.json, torch.profiler NAME.trace.json. */
export function isTrace(name: string): boolean {
  return /(^|[./_-])trace\.json$/.test(name);
}

export interface TopName {
  name: string;
  /** Of its events within the time, in microseconds; where one is within another of the same name, it counts once. */
  total: number;
  count: number;
  longest: number;
  /** The event that took longest. */
  event: number;
}

/** The names that took most of the time from `from` to `to`, the first first. Of several threads the times add up. */
export function topNames(flame: Flame, from: number, to: number, most: number): TopName[] {
  const found = new Map<number, TopName>();
  for (const lane of flame.lanes) {
    const covered = new Map<number, number>();
    for (const event of lane.rows.length === 1 ? (lane.rows[0] ?? []) : inOrder(flame, lane.rows)) {
      const start = flame.start[event] ?? 0;
      const duration = flame.duration[event] ?? 0;
      if (start >= to || start + duration <= from) continue;
      const name = flame.name[event] ?? 0;
      let one = found.get(name);
      if (!one) found.set(name, (one = { name: flame.names[name] ?? "", total: 0, count: 0, longest: -1, event }));
      const begin = Math.max(start, from, covered.get(name) ?? -Infinity);
      const end = Math.min(start + duration, to);
      if (end > begin) {
        one.total += end - begin;
        covered.set(name, end);
      }
      one.count += 1;
      if (duration > one.longest) [one.longest, one.event] = [duration, event];
    }
  }
  return [...found.values()].sort((a, b) => b.total - a.total || a.name.localeCompare(b.name)).slice(0, most);
}

function inOrder(flame: Flame, rows: Uint32Array[]): number[] {
  return rows.flatMap((row) => [...row]).sort((a, b) => (flame.start[a] ?? 0) - (flame.start[b] ?? 0));
}

/** Black or white, whichever is read better on a colour like #0072b2. */
export function readableOn(colour: string): string {
  const found = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(colour);
  if (!found) return "#000000";
  const [red = 0, green = 0, blue = 0] = found.slice(1).map((part) => {
    const share = parseInt(part, 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
