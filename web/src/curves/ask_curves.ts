import { ask } from "../api/ask";
import type { CurveQuestion, RunCurve } from "../api/types";

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
