// A panel that somebody made: which metrics of which runs, drawn how. An address holds all of it; a browser keeps some. Pure functions.

import type { CurveAxis } from "../../curves/curves";

export interface Panel {
  title: string;
  metrics: string[];
  /** Ids; empty: those that the filter finds */
  runs: string[];
  filter: string;
  axis: CurveAxis;
  /** 0…0.98 */
  smoothing: number;
  logarithmic: boolean;
  /** At most so many runs, the newest */
  most: number;
}

export const kMostRuns = 24;
const kUsualRuns = 8;
const kAxes: readonly string[] = ["step", "relative", "wall"];
/** What an address must have one of to show a panel, and not the list. */
const kMarks = ["new", "metrics", "runs", "filter"];

export function hasPanel(query: Record<string, string>): boolean {
  return kMarks.some((name) => query[name]);
}

const listOf = (text: string | undefined) => [...new Set((text ?? "").split(",").map((one) => one.trim()).filter(Boolean))];
const within = (value: number, low: number, high: number, otherwise: number) => (Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise);

/** Whatever an address says, a panel that can be drawn. */
export function panelOf(query: Record<string, string>): Panel {
  const axis = query["axis"] ?? "step";
  return {
    title: (query["title"] ?? "").slice(0, 200),
    metrics: listOf(query["metrics"]).slice(0, 24),
    runs: listOf(query["runs"]).slice(0, kMostRuns),
    filter: query["filter"] ?? "",
    axis: (kAxes.includes(axis) ? axis : "step") as CurveAxis,
    smoothing: within(Number(query["smooth"] ?? 0), 0, 0.98, 0),
    logarithmic: query["log10"] === "1",
    most: Math.round(within(Number(query["most"] ?? kUsualRuns), 1, kMostRuns, kUsualRuns)),
  };
}

/** What is usual is left out, so that links stay short. */
export function queryOf(panel: Panel): Record<string, string | null> {
  return {
    title: panel.title || null,
    metrics: panel.metrics.join(",") || null,
    runs: panel.runs.join(",") || null,
    filter: panel.filter || null,
    axis: panel.axis === "step" ? null : panel.axis,
    smooth: panel.smoothing > 0 ? String(panel.smoothing) : null,
    log10: panel.logarithmic ? "1" : null,
    most: panel.most === kUsualRuns ? null : String(panel.most),
    // A panel that says nothing yet is one all the same.
    new: panel.metrics.length + panel.runs.length === 0 && !panel.filter ? "1" : null,
  };
}

export function titleOf(panel: Panel): string {
  return panel.title || panel.metrics.join(", ") || "Without a name";
}

/** A panel that this browser keeps. */
export interface KeptPanel {
  key: string;
  panel: Panel;
}

const kMostKept = 100;

/** What a browser had kept. Anything else that is found there is left out, since other versions and people write there, too. */
export function readKept(text: string | null): KeptPanel[] {
  let found: unknown;
  try {
    found = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(found)) return [];
  return found.slice(0, kMostKept).flatMap((one: unknown): KeptPanel[] => {
    if (typeof one !== "object" || one === null) return [];
    const { key, query } = one as { key?: unknown; query?: unknown };
    if (typeof key !== "string" || key === "" || typeof query !== "object" || query === null) return [];
    const texts = Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
    return [{ key, panel: panelOf(texts) }];
  });
}

export function writeKept(kept: KeptPanel[]): string {
  return JSON.stringify(kept.map(({ key, panel }) => ({ key, query: Object.fromEntries(Object.entries(queryOf(panel)).filter(([, value]) => value !== null)) })));
}

/** With the panel in the place of the one with its key, or at the end. */
export function withPanel(kept: KeptPanel[], one: KeptPanel): KeptPanel[] {
  const known = kept.some(({ key }) => key === one.key);
  return known ? kept.map((other) => (other.key === one.key ? one : other)) : [...kept, one].slice(-kMostKept);
}
