// Where the time of a training step goes, from what the engine says of its parts. Pure functions.

import type { RunCurve } from "../api/types";
import { labelOf } from "./curves";

/** In the order in which a step does them. */
const kParts = [
  ["data_seconds", "waiting for data"],
  ["forward_seconds", "forward"],
  ["backward_seconds", "backward"],
  ["communication_seconds", "waiting for other ranks"],
  ["optimizer_seconds", "optimizer"],
] as const;
const kStep = "step_seconds";
/** Less than this share of a step is what clocks differ by. */
const kLeast = 0.005;

export interface StepSplit {
  /** Whose steps: of other ranks than the first their label */
  whose: string;
  parts: { title: string; curve: RunCurve }[];
}

/** The series that tell of the parts of a step, and of the whole of it. */
export const kStepSeries: string[] = [...kParts.map(([name]) => name), kStep];
export function isPartOfStep(name: string): boolean {
  return name !== kStep && kStepSeries.includes(name);
}

/** What of each step no part accounts for: means, since extremes of a difference are not known. */
function restOf(step: RunCurve, parts: RunCurve[]): RunCurve | null {
  const told = new Map<number, number>();
  for (const { begin, sum, finite } of parts) begin.forEach((at, i) => told.set(at, (told.get(at) ?? 0) + (finite[i] ? (sum[i] ?? 0) / finite[i] : 0)));
  let [left, all] = [0, 0];
  const rest = step.begin.map((at, i) => {
    const n = step.finite[i] ?? 0;
    if (n === 0) return null;
    const mean = (step.sum[i] ?? 0) / n;
    const one = Math.max(0, mean - (told.get(at) ?? 0));
    left += one * n;
    all += mean * n;
    return one;
  });
  if (!(left > kLeast * all)) return null;
  return { ...step, name: "rest", min: rest, max: rest, last: rest, sum: rest.map((mean, i) => (mean === null ? null : mean * (step.finite[i] ?? 0))) };
}

/** One for each process that says what its steps are made of. */
export function stepSplits(curves: RunCurve[]): StepSplit[] {
  const whose = new Map<string, RunCurve[]>();
  for (const curve of curves) if (kStepSeries.includes(curve.name) && curve.begin.length > 0) whose.set(labelOf(curve.labels), [...(whose.get(labelOf(curve.labels)) ?? []), curve]);
  return [...whose].flatMap(([name, mine]): StepSplit[] => {
    const found = kParts.flatMap(([series, title]) => mine.filter((curve) => curve.name === series).map((curve) => ({ title, curve })));
    const step = mine.find((curve) => curve.name === kStep);
    const rest = step && found.length > 0 ? restOf(step, found.map(({ curve }) => curve)) : null;
    const parts = rest ? [...found, { title: "anything else", curve: rest }] : found;
    return parts.length > 1 ? [{ whose: name, parts }] : [];
  });
}
