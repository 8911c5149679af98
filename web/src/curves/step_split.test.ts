import { describe, expect, test } from "vitest";
import type { RunCurve } from "../api/types";
import { isPartOfStep, stepSplits } from "./step_split";

function curve(name: string, means: (number | null)[], labels: Record<string, string> = {}, finite = 2): RunCurve {
  const counts = means.map((mean) => (mean === null ? 0 : finite));
  return { name, labels, unit: "s", span: 2, begin: means.map((_, i) => 2 * i), points: means.map(() => 2), finite: counts, min: means, max: means, last: means, sum: means.map((mean) => (mean === null ? null : mean * finite)) };
}
const titles = (curves: RunCurve[]) => stepSplits(curves).map(({ whose, parts }) => [whose, ...parts.map(({ title }) => title)]);

describe("the parts of a step", () => {
  test("come in the order in which a step does them, with what none of them accounts for", () => {
    const [split] = stepSplits([curve("step_seconds", [10, 8]), curve("backward_seconds", [4, 4]), curve("loss", [1, 1]), curve("forward_seconds", [3, 3])]);
    expect(split?.parts.map(({ title }) => title)).toEqual(["forward", "backward", "anything else"]);
    expect(split?.parts.at(-1)?.curve.sum).toEqual([6, 2]);
  });
  test("that are all of it leave nothing over", () => {
    expect(titles([curve("step_seconds", [10]), curve("forward_seconds", [4]), curve("optimizer_seconds", [6.001])])).toEqual([["", "forward", "optimizer"]]);
  });
  test("of each process stand by themselves", () => {
    const rank = { rank: "3" };
    expect(titles([curve("data_seconds", [1]), curve("forward_seconds", [2]), curve("data_seconds", [1], rank), curve("forward_seconds", [2], rank)])).toEqual([["", "waiting for data", "forward"], ["rank 3", "waiting for data", "forward"]]);
  });
  test("are no split where there is but one, or none", () => {
    expect(titles([curve("data_seconds", [1])])).toEqual([]);
    expect(titles([curve("step_seconds", [1]), curve("loss", [1])])).toEqual([]);
    expect(titles([curve("data_seconds", [0.1]), curve("step_seconds", [1])])).toEqual([["", "waiting for data", "anything else"]]);
  });
  test("may have gaps, and take no longer than the step", () => {
    const [split] = stepSplits([curve("step_seconds", [null, 1, 9]), curve("forward_seconds", [1, 2, null])]);
    expect(split?.parts[1]?.curve.sum).toEqual([null, 0, 18]);
  });
});

test("the step as a whole is no part of itself", () => expect([isPartOfStep("step_seconds"), isPartOfStep("data_seconds"), isPartOfStep("loss")]).toEqual([false, true, false]));
