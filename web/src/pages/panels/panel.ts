// A panel that somebody made: which metrics of which runs, drawn how. An address holds all of it; the leader saves it. Pure functions.

import type { NewPanel, Panel as SavedPanel } from "../../api/types";
import { axisOf, lookOf, lookText, type CurveLook } from "../../curves/look";

export interface Panel extends CurveLook {
  title: string;
  metrics: string[];
  /** Ids; empty: those that the filter finds */
  runs: string[];
  filter: string;
  /** At most so many runs, the newest */
  most: number;
}

export const kMostRuns = 24;
const kUsualRuns = 8;
/** What an address must have one of to show a panel, and not the list. */
const kMarks = ["new", "metrics", "runs", "filter"];

export function hasPanel(query: Record<string, string>): boolean {
  return kMarks.some((name) => query[name]);
}

const listOf = (text: string | undefined) => [...new Set((text ?? "").split(",").map((one) => one.trim()).filter(Boolean))];
const within = (value: number, low: number, high: number, otherwise: number) => (Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise);

/** Whatever an address says, a panel that can be drawn. */
export function panelOf(query: Record<string, string>): Panel {
  return {
    ...lookOf(query),
    title: (query["title"] ?? "").slice(0, 200),
    metrics: listOf(query["metrics"]).slice(0, 24),
    runs: listOf(query["runs"]).slice(0, kMostRuns),
    filter: query["filter"] ?? "",
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
    ...lookText(panel),
    most: panel.most === kUsualRuns ? null : String(panel.most),
    // A panel that says nothing yet is one all the same.
    new: panel.metrics.length + panel.runs.length === 0 && !panel.filter ? "1" : null,
  };
}

export function titleOf(panel: Panel): string {
  return panel.title || panel.metrics.join(", ") || "Without a name";
}

/** What a saved panel draws. */
export function panelIn(saved: SavedPanel): Panel {
  return {
    title: saved.name,
    metrics: saved.metrics,
    runs: saved.runs ?? [],
    filter: saved.filter ?? "",
    axis: axisOf(saved.axis),
    smoothing: saved.smoothing ?? 0,
    logarithmic: saved.logarithmic ?? false,
    most: saved.newest ?? kUsualRuns,
  };
}

/** What is saved of it. */
export function contentOf(panel: Panel, shared: boolean): NewPanel {
  const { metrics, runs, filter, axis, smoothing, logarithmic, most } = panel;
  return { name: titleOf(panel), shared, metrics, runs, filter, axis, smoothing, logarithmic, newest: most };
}

/** Whether it draws what is saved. */
export function isSaved(panel: Panel, saved: SavedPanel): boolean {
  return JSON.stringify(contentOf(panel, false)) === JSON.stringify(contentOf(panelIn(saved), false));
}

/** Panels that browsers kept before leaders saved them. Anything else that is found there is left out, since other programs and people write there, too. */
export function keptIn(text: string | null): Panel[] {
  let found: unknown;
  try {
    found = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(found)) return [];
  const panels = found.map((one: unknown): Panel => {
    const query = (typeof one === "object" && one !== null && (one as { query?: unknown }).query) || {};
    return panelOf(Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === "string")));
  });
  return panels.filter(({ metrics }) => metrics.length > 0);
}
