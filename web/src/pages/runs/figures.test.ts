import { describe, expect, it } from "vitest";
import type { RunCurve, SeriesSummary } from "../../api/types";
import { figureTitle, fromCurves, fromSummaries, isHigherBetter, readFigure, writeFigure, type Figure } from "./figures";

const series = (name: string, min: number | null, max: number | null, last: number | null, labels?: Record<string, string>): SeriesSummary => ({
  name, unit: "", points: 3, first: 0, last, min, max, mean: 0, ...(labels ? { labels } : {}),
});
const best: Figure = { kind: "best", metric: "loss", step: 0 };
const last: Figure = { kind: "last", metric: "loss", step: 0 };
const curve = (value: number | null, labels = {}): RunCurve => ({ name: "loss", unit: "", span: 1, labels, begin: [100], points: [1], finite: [1], min: [value], max: [value], sum: [value], last: [value] });

describe("figures in an address", () => {
  it("come back as they were", () => {
    for (const name of ["best.val_loss", "last.epoch.loss", "step100.loss"]) expect(writeFigure(readFigure(name) ?? best)).toBe(name);
    expect(readFigure("step100.loss")).toEqual({ kind: "step", metric: "loss", step: 100 });
    expect(figureTitle({ kind: "step", metric: "loss", step: 100 })).toBe("loss at step 100");
  });
  it("are told from other columns", () => {
    for (const name of ["name", "metrics.loss", "best.", "step.loss", "step-1.loss", "bestloss"]) expect(readFigure(name)).toBeNull();
  });
});

describe("isHigherBetter", () => {
  it("believes the leader first, then the name, and does not guess", () => {
    expect(isHigherBetter("loss", "higher")).toBe(true);
    expect(isHigherBetter("train_loss", "")).toBe(false);
    expect(isHigherBetter("val_accuracy", undefined)).toBe(true);
    expect(isHigherBetter("closset", undefined)).toBeUndefined();
  });
});

describe("fromSummaries", () => {
  it("takes the end that is better", () => {
    expect(fromSummaries([series("loss", 0.1, 4, 0.2)], best, false)).toBe(0.1);
    expect(fromSummaries([series("loss", 0.1, 4, 0.2)], best, true)).toBe(4);
    expect(fromSummaries([series("loss", 0.1, 4, 0.2)], best, undefined)).toBeNull();
    expect(fromSummaries([series("loss", 0.1, 4, 0.2)], last, false)).toBe(0.2);
  });
  it("prefers the whole to its ranks, and takes the best of ranks but no rank's last for all", () => {
    const ranks = [series("loss", 1, 2, 1, { rank: "0" }), series("loss", 0.5, 2, 2, { rank: "1" })];
    expect(fromSummaries([...ranks, series("loss", 0.7, 3, 0.9)], best, false)).toBe(0.7);
    expect(fromSummaries(ranks, best, false)).toBe(0.5);
    expect(fromSummaries(ranks, last, false)).toBeNull();
  });
  it("has nothing for what is not there", () => {
    expect(fromSummaries([], best, false)).toBeNull();
    expect(fromSummaries([series("loss", null, null, null)], best, false)).toBeNull();
  });
});

describe("fromCurves", () => {
  it("has the value at the step where one was reported", () => {
    expect(fromCurves([curve(0.3)], last)).toBe(0.3);
    expect(fromCurves([{ ...curve(0.3), begin: [], last: [] }], last)).toBeNull();
    expect(fromCurves([curve(1, { rank: "0" }), curve(2, { rank: "1" })], last)).toBeNull();
  });
});
