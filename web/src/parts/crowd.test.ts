import { describe, expect, it } from "vitest";
import { drawCrowd, type CrowdChart, type CrowdLook } from "./crowd";

/** Writes down what is drawn. */
function recorded(data: CrowdChart["data"], look: Partial<CrowdLook>, y = { min: 0, max: 10 }): string[] {
  const said: string[] = [];
  const state = { strokeStyle: "", lineWidth: 0, globalAlpha: 1, lineJoin: "" };
  const ctx = Object.assign(state, {
    save: () => undefined, restore: () => undefined, rect: () => undefined, clip: () => undefined,
    beginPath: () => said.push("path"),
    moveTo: (x: number, at: number) => said.push(`to ${x},${at}`),
    lineTo: (x: number, at: number) => said.push(`line ${x},${at}`),
    stroke: () => said.push(`${state.strokeStyle} ${state.lineWidth} ${state.globalAlpha}`),
  });
  const chart = { ctx: ctx as unknown as CanvasRenderingContext2D, bbox: { left: 0, top: 0, width: 100, height: 100 }, data, scales: { x: { min: 0, max: 2 }, y } };
  drawCrowd(chart, { colours: ["red", "blue", "red"], front: [], hovered: -1, logarithmic: false, ratio: 1, ...look });
  return said.slice(1); // without the path that clips
}

describe("many lines", () => {
  it("share a path for each colour", () => {
    expect(recorded([[0, 1, 2], [0, 5, 10], [1, 1, 1], [2, 2, 2]], {})).toEqual([
      "path", "to 0,100", "line 50,50", "line 100,0", "to 0,80", "line 50,80", "line 100,80", "red 1 1",
      "path", "to 0,90", "line 50,90", "line 100,90", "blue 1 1",
    ]);
  });
  it("end at a gap, and pass over points of others", () => {
    expect(recorded([[0, 1, 2], [5, null, 5], [5, undefined, 5], []], { colours: ["red", "blue"] })).toEqual(["path", "to 0,50", "to 100,50", "red 1 1", "path", "to 0,50", "line 100,50", "blue 1 1"]);
  });
  it("stay behind what is pinned or near the pointer", () => {
    const strokes = (look: Partial<CrowdLook>) => recorded([[0], [1], [2], [3]], look).filter((one) => /red|blue/.test(one));
    expect(strokes({ front: [0] })).toEqual(["blue 1 0.25", "red 1 0.25", "red 3 1"]);
    expect(strokes({ hovered: 1, ratio: 2 })).toEqual(["red 2 0.15", "blue 4 1"]);
  });
  it("have no place for nothing on a logarithmic axis", () => {
    expect(recorded([[0, 1, 2], [1, 0, 100]], { colours: ["red"], logarithmic: true }, { min: 1, max: 100 })).toEqual(["path", "to 0,100", "to 100,0", "red 1 1"]);
  });
  it("are not drawn before the chart has a scale", () => expect(recorded([[0], [1]], {}, {} as { min: number; max: number })).toEqual([]));
});
