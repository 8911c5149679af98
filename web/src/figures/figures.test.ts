import { describe, expect, test } from "vitest";
import { figureTicks, fitAxis } from "./axis";
import type { FigureAxis, XyFigure, XySeries } from "./document";
import { paintXy } from "./paint_xy";
import { looksOf, pointBeside, pointNear, pointsOf, sceneOf } from "./xy_scene";

const axis = (more: Partial<FigureAxis> = {}): FigureAxis => ({ label: "a", unit: "", logarithmic: false, from_zero: false, ...more });
const line = (name: string, points: [number | null, number | null][], more: Partial<XySeries> = {}): XySeries => ({ name, stroke: "line", points: points.map(([x, y]) => ({ x, y })), ...more });
const figure = (series: XySeries[], more: Partial<XyFigure> = {}): XyFigure => ({ x: axis(), y: axis({ from_zero: true }), series, references: [], ...more });
const places = (of: FigureAxis, values: number[], most = 6, named: number[] = []) => figureTicks(of, fitAxis(of, values), most, named).map(({ place }) => place);

describe("an axis", () => {
  test("begins at zero where lengths are compared, and leaves room elsewhere", () => {
    expect(fitAxis(axis({ from_zero: true }), [3, 10], 0.1)).toMatchObject({ low: 0, high: 11 });
    expect(fitAxis(axis(), [3, 10], 0.1)).toMatchObject({ low: 2.3, high: 10.7 });
    expect(fitAxis(axis({ from_zero: true }), [-4, -2], 0.5)).toMatchObject({ low: -6, high: 0 });
  });
  test("shows what is always the same in the middle, and nothing at all", () => {
    expect(fitAxis(axis(), [5, 5])).toMatchObject({ low: 4.75, high: 5.25 });
    expect(fitAxis(axis(), [])).toMatchObject({ low: 0 });
    expect(fitAxis(axis({ logarithmic: true }), [8, 8], 0)).toMatchObject({ kind: "log", low: 4, high: 16 });
  });
  test("names numbers of GPUs themselves, and round places of all else", () => {
    expect(places(axis({ from_zero: true }), [1, 8], 8, [1, 2, 4, 8, 8])).toEqual([1, 2, 4, 8]);
    expect(places(axis(), [0.0012, 0.0049], 6, [0.0012, 0.0049])).toEqual([0.002, 0.003, 0.004, 0.005]);
    expect(places(axis(), [1, 3], 8, [1, 2, 3, 3])).toEqual([1, 2, 3]);
    expect(places(axis({ from_zero: true }), [0, 3], 12, Array.from({ length: 40 }, (_, i) => i % 4))).toEqual([0, 1, 2, 3]);
  });
  test("has round places in the unit that they are shown in", () => {
    expect(places(axis({ unit: "B" }), [1.5 * 2 ** 30, 6 * 2 ** 30], 4).map((place) => place / 2 ** 30)).toEqual([2, 4, 6]);
    expect(places(axis({ unit: "s", from_zero: true }), [0, 600], 6).map((place) => place / 60)).toEqual([0, 2, 4, 6, 8, 10]);
  });
});

describe("a figure of a report", () => {
  const scene = (of: XyFigure) => sceneOf(of, 400, 300);
  test("keeps the order of its points: a load that turns back is drawn so", () => {
    const [curve] = scene(figure([line("load", [[1, 1], [3, 2], [2, 9]])])).curves;
    expect(curve?.runs[0]?.map(({ point }) => point.x)).toEqual([1, 3, 2]);
  });
  test("has a gap where there is no value, and says how many a logarithmic axis leaves out", () => {
    const made = scene(figure([line("a", [[1, 1], [2, null], [3, 0], [4, 5]])], { y: axis({ logarithmic: true }) }));
    expect(made.curves[0]?.runs.map((run) => run.length)).toEqual([1, 1]);
    expect(made.leftOut).toBe(1);
  });
  test("covers whiskers, bands and levels, and marks few points and all that are flagged", () => {
    const measured: XySeries = { name: "m", stroke: "line", points: [{ x: 1, y: 1 }, { x: 2, y: 1.8, range: [1.5, 4] }, { x: 4, y: 3, marked: true }] };
    const band: XySeries = { name: "expected", stroke: "expected_range", points: [{ x: 1, y: 0, range: [1, 1] }, { x: 4, y: 0, range: [2, 8] }] };
    const made = scene(figure([measured, band], { references: [{ label: "limit", y: 12 }, { label: "none", y: null }] }));
    expect(made.levels.map(({ label }) => label)).toEqual(["limit"]);
    expect(made.levels[0]?.y).toBeGreaterThan(made.frame.top);
    expect(made.curves[1]?.runs[0]?.[1]?.range?.high).toBeGreaterThan(made.levels[0]?.y ?? 0);
    expect(made.curves[0]?.marks).toHaveLength(3);
    const many = line("n", Array.from({ length: 500 }, (_, i) => [i, i % 7]));
    many.points.splice(3, 1, { x: 3, y: 20, marked: true });
    expect(scene(figure([many])).curves[0]?.marks.map(({ point }) => point.y)).toEqual([20]);
  });
  test("draws of many points what can be seen, with every spike", () => {
    const many = line("n", Array.from({ length: 100_000 }, (_, i) => [i, i === 54_321 ? 50 : i % 3]));
    const run = scene(figure([many])).curves[0]?.runs[0] ?? [];
    expect(run.length).toBeLessThan(1700);
    expect(run.some(({ point }) => point.y === 50)).toBe(true);
  });
  test("tells what was not measured by its dash, and series beyond the colours by their marks", () => {
    const looks = looksOf([{ stroke: "line" }, { stroke: "dashed" }, { stroke: "points" }, { stroke: "expected_range" }, { stroke: "dashed" }]);
    expect(looks.map(({ colour }) => colour)).toEqual(["--line-0", "--muted", "--line-1", "--muted", "--muted"]);
    expect(looks[1]?.dash).not.toEqual(looks[4]?.dash);
    const arms = looksOf(Array.from({ length: 32 }, () => ({ stroke: "points" as const })));
    expect(new Set(arms.map(({ colour, shape }) => `${colour} ${shape}`)).size).toBe(32);
  });
  test("is pointed at and walked through", () => {
    const points = pointsOf(scene(figure([line("a", [[1, 1], [2, 2]]), line("b", [[1, 5], [2, 6]]), { name: "e", stroke: "expected_range", points: [{ x: 1, y: 1, range: [0, 2] }] }])));
    const at = (key: string, from: number | null) => points.indexOf(pointBeside(points, from === null ? null : (points[from] ?? null), key) ?? points[0]!);
    expect(points).toHaveLength(4);
    expect([at("ArrowRight", null), at("ArrowRight", 0), at("ArrowRight", 1), at("ArrowLeft", 0), at("ArrowDown", 1), at("ArrowUp", 3), at("ArrowDown", 3)]).toEqual([0, 1, 1, 0, 3, 1, 3]);
    const [first] = points;
    expect(pointNear(points, (first?.x ?? 0) + 5, first?.y ?? 0)).toBe(first);
    expect(pointNear(points, -100, -100)).toBeNull();
  });
});

describe("the picture", () => {
  /** What is drawn, as the words of the pen; `fill` and `stroke` with colour and dash. */
  function drawn(of: XyFigure): string[] {
    const said: string[] = [];
    let dash: number[] = [];
    const own: Record<string, unknown> = { strokeStyle: "", fillStyle: "" };
    const pen = new Proxy(own, {
      get: (_, name: string) => {
        if (name === "measureText") return (text: string) => ({ width: 6 * text.length });
        if (name === "setLineDash") return (next: number[]) => void (dash = next);
        if (name === "fillText") return (text: string) => void said.push(`text ${text}`);
        if (name === "stroke") return () => void said.push(`stroke ${String(own["strokeStyle"])}${dash.length ? ` dashed ${dash.join(" ")}` : ""}`);
        if (name === "fill") return () => void said.push(`fill ${String(own["fillStyle"])}`);
        if (name === "lineTo" || name === "moveTo" || name === "arc") return () => void said.push(name);
        return typeof own[name] === "string" ? own[name] : () => undefined;
      },
      set: (_, name: string, value: unknown) => ((own[name] = value), true),
    }) as unknown as CanvasRenderingContext2D;
    paintXy(pen, (variable) => variable, sceneOf(of, 400, 300), { across: "GPUs", up: "Speed-up" }, null);
    return said;
  }
  test("names both axes and every level", () => {
    const said = drawn(figure([line("a", [[1, 1], [2, 2]])], { references: [{ label: "75 %", y: 0.75 }] }));
    for (const words of ["text GPUs", "text Speed-up", "text 75 %"]) expect(said).toContain(words);
    expect(said).toContain("stroke --muted dashed 6 4");
  });
  test("connects no points that stand for themselves", () => {
    const said = drawn(figure([line("a", [[1, 1], [2, 2], [3, 1]], { stroke: "points" })]));
    expect(said.filter((one) => one === "lineTo")).toEqual([]);
    expect(said.filter((one) => one === "fill --line-0")).toHaveLength(3);
  });
  test("goes in steps where shares are counted", () => {
    const lines = (stroke: XySeries["stroke"]) => drawn(figure([line("a", [[1, 0.2], [2, 0.6], [3, 1]], { stroke })])).filter((one) => one === "lineTo").length;
    expect([lines("line"), lines("steps")]).toEqual([2, 4]);
  });
  test("leaves hollow what must not be used, and fills the expected range", () => {
    const said = drawn(figure([{ name: "m", stroke: "line", points: [{ x: 1, y: 1 }, { x: 2, y: 2, marked: true }] }, { name: "e", stroke: "expected_range", points: [{ x: 1, y: 1, range: [0, 2] }, { x: 2, y: 1, range: [0, 3] }] }]));
    expect(said.filter((one) => one.startsWith("fill"))).toEqual(["fill --muted", "fill --line-0", "fill --surface"]);
  });
  test("says where there is nothing", () => expect(drawn(figure([line("a", [[null, 1]])]))).toContain("text No data"));
});
