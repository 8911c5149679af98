import { expect, test, vi } from "vitest";
import type { CurveQuestion } from "../api/types";

vi.mock("../api/ask", () => ({
  ask: (_: string, { path, body }: { path: { run: string }; body: CurveQuestion }) =>
    // Like a leader whose grid is too coarse for epochs, unless it is asked for them alone.
    Promise.resolve({ curves: (body.names ?? ["loss", "epoch.loss"]).map((name) => ({ name, run: path.run, begin: [1], span: body.names?.length === 1 ? 1 : 9 })) }),
}));
const { curvesAlong, curvesOfAll } = await import("./ask_curves");
const signal = new AbortController().signal;

test("answers are known by their run, whatever became of the list meanwhile", async () => {
  const all = await curvesOfAll([["a", { axis: "step", names: ["loss"] }], ["b", { axis: "time", names: ["loss"] }]], signal);
  expect([...all.keys()]).toEqual(["a", "b"]);
  expect(all.get("b")?.curves[0]).toMatchObject({ run: "b" });
});

test("an answer of another axis is not drawn", async () => {
  const all = await curvesOfAll([["a", { axis: "step", names: ["loss"] }], ["b", { axis: "time", names: ["loss"] }]], signal);
  const drawn = (run: string, axis: "step" | "relative" | "wall") => curvesAlong(all.get(run), axis)?.length ?? null;
  expect([drawn("a", "step"), drawn("a", "wall"), drawn("b", "step"), drawn("b", "wall"), drawn("b", "relative"), drawn("c", "step")]).toEqual([1, null, null, 1, 1, null]);
});

test("epochs are asked for on their own where the others' grid would lose some", async () => {
  const all = await curvesOfAll([["a", { axis: "step" }]], signal);
  expect(all.get("a")?.curves.map(({ name, span }) => [name, span])).toEqual([["loss", 9], ["epoch.loss", 1]]);
});
