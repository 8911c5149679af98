// What happened on a cluster as marks of a time axis. Pure functions of what the leader says.

import type { AlertView, EventView, RunRow } from "../api/types";
import { parseTime, type Range } from "../format/time";
import type { Mark } from "../parts/chart_data";

export const kMarkKinds = ["alerts", "events", "runs"] as const;
export type MarkKind = (typeof kMarkKinds)[number];

/** The kinds that an address names: `alerts` where it names none. */
export function markKinds(text: string): MarkKind[] {
  const words = (text || "alerts").split(",");
  return kMarkKinds.filter((kind) => words.includes(kind));
}

/** For as long as it is open, up to now. */
export function markOfAlert(alert: AlertView, now: number): Mark {
  const since = alert.since_ns / 1e6;
  return {
    x: since, to: alert.resolved_at_ns ? alert.resolved_at_ns / 1e6 : Math.max(since, now),
    label: `${alert.rule}: ${alert.node}`, tone: alert.severity === "critical" ? "bad" : "warn",
  };
}

export function markOfEvent(event: EventView): Mark {
  return { x: parseTime(event.time), label: `${event.kind}: ${event.node}`, tone: "info" };
}

/** Where a run's workload went on, up to now if it still does; null: it has not begun. */
export function markOfRun(run: RunRow, now: number): Mark | null {
  if (run.started_ns <= 0) return null;
  const from = run.started_ns / 1e6;
  return { x: from, to: run.state === "ended" ? from + run.duration_ns / 1e6 : Math.max(from, now), label: `run ${run.name || run.id}`, tone: "info" };
}

/** The marks that reach into a time, in its order. */
export function within(marks: Mark[], range: Range): Mark[] {
  return marks.filter((mark) => mark.x <= range.to && (mark.to ?? mark.x) >= range.from).sort((a, b) => a.x - b.x);
}
