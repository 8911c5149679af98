// Columns of the list of runs that are read from a run's series: its best value, its last, the one at a step. Pure functions.

import type { RunCurve, SeriesSummary } from "../../api/types";

export interface Figure {
  kind: "best" | "last" | "step";
  metric: string;
  /** Of kind step */
  step: number;
}

/** `best.val_loss`, `last.loss`, `step100.loss`, as an address has them; null for any other column. */
export function readFigure(column: string): Figure | null {
  const found = /^(best|last|step(\d{1,15}))\.(.+)$/.exec(column);
  if (!found) return null;
  return { kind: found[2] === undefined ? (found[1] as "best" | "last") : "step", metric: found[3] ?? "", step: Number(found[2] ?? 0) };
}

export function writeFigure({ kind, metric, step }: Figure): string {
  return `${kind === "step" ? `step${step}` : kind}.${metric}`;
}

export function figureTitle({ kind, metric, step }: Figure): string {
  return kind === "step" ? `${metric} at step ${step}` : `${kind} ${metric}`;
}

/** Whether more is better, by what the leader knows of the metric, else by its name; undefined: nobody can say. */
export function isHigherBetter(metric: string, known: string | undefined): boolean | undefined {
  if (known === "higher" || known === "lower") return known === "higher";
  if (/(^|[._])(loss|perplexity|error|latency|seconds|time|bytes)($|[._])/.test(metric)) return false;
  if (/(^|[._])(accuracy|acc|f1|bleu|auc|mfu|throughput|reward|per_second)($|[._])/.test(metric)) return true;
  return undefined;
}

/** Of all that have the name, the one without labels: the ranks' own are parts of it. */
function wholeOf<T extends { name: string; labels?: Record<string, string> }>(all: T[], metric: string): T[] {
  const named = all.filter(({ name }) => name === metric);
  const whole = named.filter(({ labels }) => Object.keys(labels ?? {}).length === 0);
  return whole.length > 0 ? whole : named;
}

/** What a run's summaries say; null: it has no such series, or what is best is not known. */
export function fromSummaries(series: SeriesSummary[], figure: Figure, higherIsBetter: boolean | undefined): number | null {
  const mine = wholeOf(series, figure.metric);
  const numbers = (values: (number | null)[]) => values.filter((value): value is number => value !== null && Number.isFinite(value));
  if (figure.kind === "last") {
    const last = numbers(mine.map(({ last }) => last));
    return last.length === 1 ? (last[0] ?? null) : null;
  }
  if (higherIsBetter === undefined) return null;
  const ends = numbers(mine.map(({ min, max }) => (higherIsBetter ? max : min)));
  return ends.length === 0 ? null : higherIsBetter ? Math.max(...ends) : Math.min(...ends);
}

/** The value at the step, from curves that were asked for it alone; null: none was reported there. */
export function fromCurves(curves: RunCurve[], figure: Figure): number | null {
  const [curve, ...more] = wholeOf(curves, figure.metric).filter(({ begin }) => begin.length > 0);
  return more.length > 0 ? null : (curve?.last.at(-1) ?? null);
}
