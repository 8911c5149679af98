// What is to be expected of runs, in words. Pure functions.

import type { ExpectedLength, QueuedRun } from "../../api/types";
import { clock, day, parseTime } from "../../format/time";
import { duration } from "../../format/units";

/** "2 min (1 … 4 min)" as in two of three cases, or that it is a guess. */
export function lengthText(length: ExpectedLength): string {
  const { seconds, factor } = length;
  if (seconds === null) return "not known";
  if (length.from_runs === 0) return `${duration(seconds)}, a guess`;
  return factor === null || factor <= 1.05 ? duration(seconds) : `${duration(seconds)} (${duration(seconds / factor)} … ${duration(seconds * factor)})`;
}

/** "now", "14:05", "2026-11-19 08:00"; empty: nobody can tell. */
export function startText(ms: number, now: number): string {
  if (!Number.isFinite(ms)) return "";
  if (ms <= now + 5000) return "now";
  return day(ms) === day(now) ? clock(ms, false) : `${day(ms)} ${clock(ms, false)}`;
}

/** When a run that waits will probably start, and at the latest if those before it take long. */
export function expectedStart(run: Pick<QueuedRun, "expected_start" | "late_start">, now: number): string {
  const soon = startText(parseTime(run.expected_start ?? undefined), now);
  const late = startText(parseTime(run.late_start ?? undefined), now);
  if (!soon) return "cannot be told";
  return late && late !== soon ? `${soon} … ${late}` : soon;
}

/** How far a run is, from 0 to 1, as far as its expected length tells; null: nobody can tell. */
export function progressOf(run: Pick<QueuedRun, "started" | "expected_end" | "length">, now: number): number | null {
  const [begin, end] = [parseTime(run.started ?? undefined), parseTime(run.expected_end ?? undefined)];
  if (run.length.from_runs === 0 || !(end > begin)) return null;
  return Math.min(0.99, Math.max(0, (now - begin) / (end - begin)));
}

/** What goes on, and what waits, in the leader's order. */
export function partsOf(runs: QueuedRun[]): { going: QueuedRun[]; waiting: QueuedRun[] } {
  const waits = (run: QueuedRun) => run.state === "queued" && Boolean(run.reason);
  return { going: runs.filter((run) => !waits(run)), waiting: runs.filter(waits) };
}
