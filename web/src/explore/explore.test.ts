import { describe, expect, it } from "vitest";
import { atShare, axisTicks, dimensionsOf, isWide, mixed, passing, placeOf, readBrushes, scaleOf, shareOf, ticksOf, usualAxes, writeBrushes, type Dimension, type Subject } from "./dimensions";
import { axisAt, axisX, crossings, lineAt, nextPoint, pointAt, pointsOf, shareY, yShare, type Frame } from "./geometry";

const subject = (id: string, settings: Record<string, string>, results: Record<string, number | null>): Subject => ({
  id, label: id, results, settings: Object.entries(settings).map(([key, value]) => ({ key, value })),
});
const three = [
  subject("a", { model: "mlp", batch_size: "16", optimizer: "adamw", seed: "1" }, { loss: 1, mfu: 0.5 }),
  subject("b", { model: "mlp", batch_size: "32", optimizer: "sgd", seed: "2" }, { loss: 0.1, mfu: null }),
  subject("c", { model: "mlp", batch_size: "64" }, { loss: 0.01 }),
];
const all = dimensionsOf(three, (metric) => (metric === "mfu" ? "ratio" : ""));
const of = (key: string): Dimension => all.find((one) => one.key === key) ?? { key, title: key, unit: "", isResult: false, isText: false, values: [] };
const numbers = (...values: (number | null)[]): Dimension => ({ key: "n", title: "n", unit: "", isResult: true, isText: false, values });
const frame: Frame = { width: 120, height: 120, left: 10, right: 10, top: 10, bottom: 10 };

describe("dimensionsOf", () => {
  it("has what differs, not what is alike or says nothing, then results", () => expect(all.map(({ key }) => key)).toEqual(["batch_size", "optimizer", "metrics.loss", "metrics.mfu"]));
  it("takes numbers for numbers and keeps holes", () => {
    expect(of("batch_size").values).toEqual([16, 32, 64]);
    expect(of("optimizer")).toMatchObject({ isText: true, values: ["adamw", "sgd", null] });
    expect(of("metrics.mfu")).toMatchObject({ unit: "ratio", values: [0.5, null, null] });
  });
  it("leaves out results that nobody has", () => expect(dimensionsOf([subject("a", {}, { x: null })], () => "")).toEqual([]));
  it("shows settings and what people ask for first", () => expect(usualAxes(all)).toEqual(["batch_size", "optimizer", "metrics.loss"]));
});

describe("scales", () => {
  it("go from the smallest to the largest and back", () => {
    const scale = scaleOf(of("batch_size"), false);
    expect([16, 40, 64].map((place) => shareOf(scale, place))).toEqual([0, 0.5, 1]);
    expect(atShare(scale, 0.5)).toBe(40);
  });
  it("are logarithmic only above zero", () => {
    const scale = scaleOf(of("metrics.loss"), true);
    expect(scale.kind).toBe("log");
    expect(shareOf(scale, 0.1)).toBeCloseTo(0.5);
    expect(atShare(scale, 0.5)).toBeCloseTo(0.1);
    expect(scaleOf(numbers(0, 1), true).kind).toBe("linear");
  });
  it("put what is always the same in the middle, and none nowhere", () => {
    expect(shareOf(scaleOf(numbers(3, 3), false), 3)).toBe(0.5);
    expect(placeOf(scaleOf(of("optimizer"), false), null)).toBeNull();
    expect(placeOf(scaleOf(of("optimizer"), false), "sgd")).toBe(1);
  });
  it("know when values are far apart", () => {
    expect(isWide(of("metrics.loss"))).toBe(true);
    expect(isWide(of("batch_size"))).toBe(false);
  });
});

describe("ticksOf", () => {
  it("is round", () => {
    expect(ticksOf(scaleOf(numbers(0.3, 9.7), false), 5).map(({ place }) => place)).toEqual([2, 4, 6, 8]);
    expect(ticksOf(scaleOf(numbers(0.001, 10), true), 5).map(({ place }) => place)).toEqual([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10]);
    expect(ticksOf(scaleOf(numbers(1e-9, 1e9), true), 5).length).toBeLessThan(8);
  });
  it("names words, and both ends where nothing round is between them", () => {
    expect(ticksOf(scaleOf(of("optimizer"), false), 5).map(({ share }) => share)).toEqual([0, 1]);
    expect(ticksOf(scaleOf(numbers(2.1, 2.2), true), 5)).toHaveLength(2);
    expect(ticksOf(scaleOf(numbers(7), false), 5)).toEqual([{ place: 7, share: 0.5 }]);
  });
});

describe("axisTicks", () => {
  const setting = (...values: number[]): Dimension => ({ ...numbers(...values), isResult: false });
  it("names the few values that were tried", () => {
    expect(axisTicks(setting(64, 16, 32, 16), scaleOf(setting(16, 64), false), 6).map(({ place }) => place)).toEqual([16, 32, 64]);
  });
  it("is round for results, for many values and for values that are too near each other", () => {
    const near = setting(0, 0.001, 10);
    expect(axisTicks(near, scaleOf(near, false), 5).map(({ place }) => place)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(axisTicks(numbers(0.3, 9.7), scaleOf(numbers(0.3, 9.7), false), 5).map(({ place }) => place)).toEqual([2, 4, 6, 8]);
  });
});

describe("brushes", () => {
  const scales = new Map(all.map((one) => [one.key, scaleOf(one, false)]));
  it("let through what every one of them does, and nothing without a value", () => {
    expect(passing(all, scales, { batch_size: [10, 32] }, 3)).toEqual([true, true, false]);
    expect(passing(all, scales, { batch_size: [10, 32], "metrics.loss": [0, 0.5] }, 3)).toEqual([false, true, false]);
    expect(passing(all, scales, { optimizer: [-0.5, 1.5] }, 3)).toEqual([true, true, false]);
    expect(passing(all, scales, { unheard_of: [0, 1] }, 3)).toEqual([true, true, true]);
  });
  it("come back from an address", () => {
    const brushes = { "params.a:b,c": [0.5, 1.25] as [number, number], loss: [-1, 2] as [number, number] };
    expect(readBrushes(writeBrushes(brushes))).toEqual(brushes);
    expect(readBrushes("x:1,y:2:a,%:1:2,z:3:1,ok:0:1")).toEqual({ ok: [0, 1] });
  });
});

describe("geometry", () => {
  it("spreads axes and turns heights into shares and back", () => {
    expect([0, 1, 2].map((axis) => axisX(frame, axis, 3))).toEqual([10, 60, 110]);
    expect(axisAt(frame, 63, 3)).toBe(1);
    expect(axisAt(frame, 35, 3)).toBeNull();
    expect(yShare(frame, shareY(frame, 0.25))).toBeCloseTo(0.25);
  });
  it("finds the line that is meant", () => {
    const dimensions = [of("batch_size"), of("metrics.loss")];
    const lines = crossings(dimensions, dimensions.map((one) => scaleOf(one, false)), frame, 3);
    expect(lines[0]).toEqual([110, 10]);
    expect(lineAt(lines, frame, 10, 108, () => true)).toBe(0);
    expect(lineAt(lines, frame, 10, 108, (i) => i !== 0)).toBeNull();
    expect(crossings([of("optimizer")], [scaleOf(of("optimizer"), false)], frame, 3)[2]).toEqual([null]);
  });
  it("finds points by mouse and by keyboard, of those that have both values", () => {
    const [across, up] = [of("batch_size"), of("metrics.loss")];
    const points = pointsOf(across, scaleOf(across, false), up, scaleOf(up, true), frame);
    expect(points).toHaveLength(3);
    expect(pointAt(points, 12, 12)?.subject).toBe(0);
    expect(pointAt(points, 60, 20)).toBeNull();
    expect(nextPoint(points, null, 1)?.subject).toBe(0);
    expect(nextPoint(points, 0, 1)?.subject).toBe(1);
    expect(nextPoint(points, 2, 1)?.subject).toBe(2);
    expect(pointsOf(across, scaleOf(across, false), of("metrics.mfu"), scaleOf(of("metrics.mfu"), false), frame)).toHaveLength(1);
  });
  it("mixes colours", () => expect([mixed("#000000", "#ffffff", 0.5), mixed("#0072b2", "#e69f00", 2)]).toEqual(["#808080", "#e69f00"]));
});
