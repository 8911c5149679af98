import type { RunCurve } from "../api/types";
import { smoothed, type Line } from "../parts/chart_data";
import type { CurveAxis } from "./look";

/** Whether a series tells of the machine and not of the work. */
export function isTelemetry(name: string): boolean {
  return name.startsWith("gpu.") || name.startsWith("host.");
}

export function labelOf(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => (name === "gpu" ? `GPU ${value.slice(0, 12)}` : `${name} ${value}`))
    .join(", ");
}

/** What people look for first in a run, in this order; everything else follows by name. */
const kHeadlines = [
  "loss", "perplexity", "val_loss", "val_perplexity", "val_accuracy", "learning_rate", "samples_per_second", "tokens_per_second", "requests_asked_per_second", "requests_sent_per_second",
  "requests_in_flight", "requests_failed", "ttft_seconds", "ttft_live_p99_seconds", "tpot_seconds", "tpot_live_p99_seconds", "latency_seconds", "latency_live_p99_seconds", "step_seconds", "mfu", "gpu_memory_bytes", "gpu_memory_peak_bytes", "host_rss_bytes", "host_rss_peak_bytes", "duration_seconds",
];
export function isHeadline(name: string): boolean {
  return kHeadlines.includes(name);
}
export function importantFirst(names: string[]): string[] {
  const rank = (name: string) => (isHeadline(name) ? kHeadlines.indexOf(name) : kHeadlines.length);
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
}

/** A curve as a line of a chart; `begin` is where its run began, in nanoseconds, for an axis that is relative. */
export function lineOf(curve: RunCurve, axis: CurveAxis, begin: number, smoothing: number, key: string, label: string): Line {
  const x = curve.begin.map((at) => (axis === "step" ? at : axis === "wall" ? at / 1e6 : (at - begin) / 1e9));
  const mean = curve.sum.map((sum, i) => {
    const n = curve.finite[i] ?? 0;
    return sum === null || n === 0 ? null : sum / n;
  });
  return { key, label, x, y: smoothed(mean, smoothing), low: curve.min, high: curve.max, counts: curve.finite, last: curve.last, ...(smoothing > 0 ? { raw: mean } : {}) };
}

/** What a chart's axis is, in the words of Chart.svelte. */
export function chartAxis(axis: CurveAxis): "step" | "elapsed" | "time" {
  return axis === "step" ? "step" : axis === "relative" ? "elapsed" : "time";
}

export interface Setting {
  key: string;
  value: string;
}

/** Nested settings as dotted keys, in their order. */
export function flattened(value: unknown, prefix = ""): Setting[] {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, one]) => flattened(one, prefix ? `${prefix}.${key}` : key));
  }
  return [{ key: prefix, value: typeof value === "string" ? value : JSON.stringify(value) }];
}

export interface Difference {
  key: string;
  values: string[];
}

/** What is not the same on all sides; "–" where a side has none. */
export function differences(sides: Setting[][]): Difference[] {
  const keys = [...new Set(sides.flatMap((side) => side.map(({ key }) => key)))];
  return keys
    .map((key) => ({ key, values: sides.map((side) => side.find((one) => one.key === key)?.value ?? "–") }))
    .filter(({ values }) => values.some((value) => value !== values[0]));
}
