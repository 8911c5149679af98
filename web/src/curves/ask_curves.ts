import { ask } from "../api/ask";
import type { CurveQuestion, RunCurve } from "../api/types";
import type { CurveAxis } from "./look";

/**
 * The curves of a run at a width. All of an answer are on one grid; what counts epochs where the others count steps would lose
 * epochs to it, and is asked for once more on its own.
 */
export async function curvesOf(run: string, question: CurveQuestion, signal?: AbortSignal): Promise<RunCurve[]> {
  const { curves } = await ask("POST /api/v1/runs/{run}/curves", { path: { run }, body: question, signal });
  const coarse = curves.filter((curve) => question.axis === "step" && curve.name.startsWith("epoch.") && curve.span > 1);
  if (coarse.length === 0) return curves;
  const names = [...new Set(coarse.map(({ name }) => name))];
  const exact = await ask("POST /api/v1/runs/{run}/curves", { path: { run }, body: { ...question, names }, signal });
  return [...curves.filter((curve) => !coarse.includes(curve)), ...exact.curves];
}

/** Of several runs, each with its question: by its id, since which runs they are may have changed when the answer comes. */
export async function curvesOfAll(questions: [string, CurveQuestion][], signal: AbortSignal): Promise<Map<string, AskedCurves>> {
  const ask = async ([run, question]: [string, CurveQuestion]) => [run, { axis: question.axis, curves: await curvesOf(run, question, signal) }] as const;
  return new Map(await Promise.all(questions.map(ask)));
}

export interface AskedCurves {
  axis: CurveQuestion["axis"];
  curves: RunCurve[];
}

/** What can be drawn of an answer along an axis; null: it is not there yet, or is one of another axis. */
export function curvesAlong(asked: AskedCurves | undefined, axis: CurveAxis): RunCurve[] | null {
  return asked && (asked.axis === "step") === (axis === "step") ? asked.curves : null;
}
