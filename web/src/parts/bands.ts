// The stretch between the smallest and the largest value that each point of a line stands for, drawn behind the line.

import { meansOf, type Line } from "./chart_data";

/** More of them hide each other and their lines; of more lines, those that somebody points at have theirs. */
export const kMostBands = 8;

/** What of a chart it takes: uPlot has all of this. */
export interface BandChart {
  ctx: CanvasRenderingContext2D;
  /** In pixels of the canvas */
  bbox: { left: number; top: number; width: number; height: number };
  valToPos: (value: number, scale: string, canvas: true) => number;
}

/** Whether a line stands for more than it shows: for means, or for what was smoothed. */
export function hasBand(line: Line): boolean {
  return line.low !== undefined && line.high !== undefined && (line.raw !== undefined || meansOf([line]) > 1);
}

/** What the bands reach over between two places; null: there is none. */
export function bandExtent(lines: Line[], from = -Infinity, to = Infinity): [number, number] | null {
  let [least, most] = [Infinity, -Infinity];
  for (const { x, low, high } of lines) {
    for (let i = 0; i < x.length; ++i) {
      const at = x[i] ?? NaN;
      if (at < from || at > to) continue;
      least = Math.min(least, low?.[i] ?? Infinity);
      most = Math.max(most, high?.[i] ?? -Infinity);
    }
  }
  return least <= most ? [least, most] : null;
}

export interface BandLook {
  colour: string;
  /** How strongly it is filled, 0…1 */
  fill: number;
  /** Of the line's x for one of the chart's */
  xUnit: number;
  logarithmic: boolean;
}

/** A column of the canvas, and what the band reaches over there. */
interface Column {
  x: number;
  low: number;
  high: number;
}

/** The band as columns of the canvas, one piece for each stretch without a gap: a million points are as many columns as fit. */
function columnsOf({ x, low = [], high = [] }: Line, xOf: (value: number) => number): Column[][] {
  const pieces: Column[][] = [];
  let piece: Column[] | null = null;
  let column: Column | undefined;
  for (let i = 0; i < x.length; ++i) {
    const [least, most] = [low[i], high[i]];
    if (typeof least !== "number" || typeof most !== "number") {
      piece = null;
      continue;
    }
    const at = Math.round(xOf(x[i] ?? 0));
    if (!piece) pieces.push((piece = []));
    else if (column?.x === at) {
      column.low = Math.min(column.low, least);
      column.high = Math.max(column.high, most);
      continue;
    }
    piece.push((column = { x: at, low: least, high: most }));
  }
  return pieces;
}

export function drawBand(chart: BandChart, line: Line, look: BandLook) {
  const { ctx, bbox } = chart;
  const [first, last] = [line.x[0] ?? 0, line.x.at(-1) ?? 0];
  const xPlace = (value: number) => chart.valToPos(value / look.xUnit, "x", true);
  const [begin, end] = [xPlace(first), xPlace(last)];
  const slope = last > first ? (end - begin) / (last - first) : 0;
  // What a logarithmic axis has no place for is below it.
  const yOf = (value: number) => (look.logarithmic && value <= 0 ? bbox.top + bbox.height : chart.valToPos(value, "y", true));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.beginPath();
  for (const columns of columnsOf(line, (value) => begin + (value - first) * slope)) {
    columns.forEach(({ x, high }, i) => (i === 0 ? ctx.moveTo(x, yOf(high)) : ctx.lineTo(x, yOf(high))));
    for (const { x, low } of columns.reverse()) ctx.lineTo(x, yOf(low));
    ctx.closePath();
  }
  ctx.fillStyle = ctx.strokeStyle = look.colour;
  ctx.globalAlpha = look.fill;
  ctx.fill();
  // The edge shows also what is too narrow to be filled: a single value far from the others.
  ctx.lineWidth = 1;
  ctx.globalAlpha = Math.min(1, 2 * look.fill);
  ctx.stroke();
  ctx.restore();
}
