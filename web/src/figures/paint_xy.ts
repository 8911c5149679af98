// Draws what xy_scene.ts has placed.

import { fitted } from "../explore/paint";
import type { Curve, Placed, Scene } from "./xy_scene";

type Pen = CanvasRenderingContext2D;
type Colour = (variable: string) => string;

export interface XyTitles {
  across: string;
  up: string;
}

export function paintXy(pen: Pen, colour: Colour, scene: Scene, titles: XyTitles, chosen: Placed | null) {
  const { frame, curves } = scene;
  paintAxes(pen, colour, scene, titles);
  pen.save();
  pen.beginPath();
  // With room for marks at the edge.
  pen.rect(frame.left - 6, frame.top - 6, frame.width - frame.left - frame.right + 12, frame.height - frame.top - frame.bottom + 12);
  pen.clip();
  for (const curve of curves) if (curve.stroke === "expected_range") paintRange(pen, colour, curve);
  paintLevels(pen, colour, scene);
  for (const curve of curves) paintLine(pen, colour, curve);
  for (const curve of curves) paintMarks(pen, colour, curve);
  if (chosen) paintChosen(pen, colour, chosen);
  pen.restore();
  // Behind the clip: a level's name is beside the plot.
  pen.fillStyle = colour("--muted");
  pen.textAlign = "left";
  let free = -Infinity;
  for (const { y, label } of [...scene.levels].sort((a, b) => a.y - b.y)) {
    const at = Math.max(y + 4, free);
    pen.fillText(fitted(pen, label, frame.right - 6), frame.width - frame.right + 5, at);
    free = at + 14;
  }
  if (scene.isEmpty) {
    pen.textAlign = "center";
    pen.fillText("No data", frame.left + (frame.width - frame.left - frame.right) / 2, frame.height / 2);
  }
}

function paintAxes(pen: Pen, colour: Colour, { frame, xMarks, yMarks }: Scene, titles: XyTitles) {
  const [bottom, right] = [frame.height - frame.bottom, frame.width - frame.right];
  pen.lineWidth = 1;
  pen.textAlign = "right";
  for (const { at, label } of yMarks) {
    pen.fillStyle = colour("--grid");
    pen.fillRect(frame.left, Math.round(at), right - frame.left, 1);
    pen.fillStyle = colour("--muted");
    pen.fillText(label, frame.left - 9, at + 4);
  }
  pen.fillStyle = colour("--border");
  pen.fillRect(frame.left, Math.round(bottom), right - frame.left, 1);
  pen.textAlign = "center";
  let free = -Infinity;
  for (const { at, label } of xMarks) {
    pen.fillStyle = colour("--border");
    pen.fillRect(Math.round(at), bottom, 1, 5);
    const half = pen.measureText(label).width / 2;
    if (at - half < free) continue;
    pen.fillStyle = colour("--muted");
    // The last one would stick out of the picture.
    pen.fillText(label, Math.min(at, frame.width - half), bottom + 18);
    free = at + half + 6;
  }
  pen.fillStyle = colour("--text");
  pen.fillText(fitted(pen, titles.across, right - frame.left), (frame.left + right) / 2, frame.height - 6);
  pen.textAlign = "left";
  pen.fillText(fitted(pen, titles.up, frame.width), 0, 13);
}

function paintRange(pen: Pen, colour: Colour, { look, runs }: Curve) {
  pen.fillStyle = colour(look.colour);
  pen.globalAlpha = 0.18;
  for (const run of runs) {
    pen.beginPath();
    run.forEach(({ x, range }, i) => (i === 0 ? pen.moveTo(x, range?.high ?? 0) : pen.lineTo(x, range?.high ?? 0)));
    for (const { x, range } of [...run].reverse()) pen.lineTo(x, range?.low ?? 0);
    pen.closePath();
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function paintLevels(pen: Pen, colour: Colour, { frame, levels }: Scene) {
  pen.strokeStyle = colour("--muted");
  pen.lineWidth = 1.2;
  for (const { y, dash } of levels) {
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(frame.left, y);
    pen.lineTo(frame.width - frame.right, y);
    pen.stroke();
  }
  pen.setLineDash([]);
}

function paintLine(pen: Pen, colour: Colour, { stroke, look, runs }: Curve) {
  if (stroke === "points" || stroke === "expected_range") return;
  pen.strokeStyle = colour(look.colour);
  pen.lineWidth = stroke === "dashed" ? 1.2 : 1.8;
  pen.setLineDash(look.dash);
  pen.lineJoin = "bevel";
  for (const run of runs) {
    pen.beginPath();
    run.forEach(({ x, y }, i) => {
      if (i === 0) return pen.moveTo(x, y);
      if (stroke === "steps") pen.lineTo(x, run[i - 1]?.y ?? y);
      pen.lineTo(x, y);
    });
    pen.stroke();
  }
  pen.setLineDash([]);
}

function paintMarks(pen: Pen, colour: Colour, { look, runs, stroke, marks }: Curve) {
  pen.strokeStyle = colour(look.colour);
  pen.lineWidth = 1.4;
  if (stroke !== "expected_range") for (const placed of runs.flat()) paintWhisker(pen, placed);
  for (const placed of marks) {
    pen.fillStyle = placed.point.marked ? colour("--surface") : colour(look.colour);
    shapePath(pen, look.shape, placed.x, placed.y, 4);
    pen.fill();
    if (placed.point.marked) pen.stroke();
  }
}

function paintWhisker(pen: Pen, { x, range }: Placed) {
  if (!range) return;
  pen.beginPath();
  pen.moveTo(x, range.low);
  pen.lineTo(x, range.high);
  for (const end of [range.low, range.high]) {
    pen.moveTo(x - 4, end);
    pen.lineTo(x + 4, end);
  }
  pen.stroke();
}

/** A circle, a square, a triangle, a diamond: series differ by more than their colour. */
export function shapePath(pen: Pen, shape: number, x: number, y: number, size: number) {
  pen.beginPath();
  if (shape === 0) return pen.arc(x, y, size, 0, 2 * Math.PI);
  const corners: [number, number][] = shape === 1 ? [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]] : shape === 2 ? [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]] : [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]];
  corners.forEach(([dx, dy], i) => (i === 0 ? pen.moveTo(x + dx * size, y + dy * size) : pen.lineTo(x + dx * size, y + dy * size)));
  pen.closePath();
}

function paintChosen(pen: Pen, colour: Colour, { x, y }: Placed) {
  pen.strokeStyle = colour("--focus");
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(x, y, 8, 0, 2 * Math.PI);
  pen.stroke();
}
