// Where everything of a report's chart is drawn, in CSS pixels; y grows downwards. Pure functions.

import { shareOf, type Scale } from "../explore/dimensions";
import { shareX, shareY, type Frame } from "../explore/geometry";
import { tickLabels } from "../format/units";
import { figureTicks, fitAxis, hasPlace, isBelowLogarithm } from "./axis";
import type { FigureAxis, FigureStroke, XyFigure, XyPoint, XySeries } from "./document";

export interface Placed {
  x: number;
  y: number;
  /** Ends of the whiskers or of the band; null: it has none */
  range: { low: number; high: number } | null;
  series: number;
  point: XyPoint;
}

export interface AxisMark {
  /** Along the axis */
  at: number;
  label: string;
}

/** How a series is told from others: by colour and by the shape of its marks, or by its dash. */
export interface SeriesLook {
  /** A variable of theme.css */
  colour: string;
  dash: number[];
  shape: number;
}

export interface Curve {
  stroke: FigureStroke;
  look: SeriesLook;
  /** Points without a gap between them */
  runs: Placed[][];
  marks: Placed[];
}

export interface Scene {
  frame: Frame;
  xMarks: AxisMark[];
  yMarks: AxisMark[];
  curves: Curve[];
  levels: { y: number; label: string; dash: number[] }[];
  /** Points that a logarithmic axis has no place for */
  leftOut: number;
  isEmpty: boolean;
}

const kLetter = 6.7;
const kDashes: number[][] = [[6, 4], [2, 3], [10, 3, 2, 3]];
const kShapes = 4;
const kColours = 8;

/** What was not measured is grey and broken, and tells itself apart by its dash. */
export function looksOf(series: Pick<XySeries, "stroke">[]): SeriesLook[] {
  let [measured, dashed] = [0, 0];
  return series.map(({ stroke }): SeriesLook => {
    if (stroke === "expected_range") return { colour: "--muted", dash: [], shape: 0 };
    if (stroke === "dashed") return { colour: "--muted", dash: kDashes[dashed++ % kDashes.length] ?? [], shape: 0 };
    const n = measured++;
    // Beyond eight the colours come again, with shapes that have moved on.
    return { colour: `--line-${n % kColours}`, dash: n >= kColours ? [14, 2] : [], shape: (n + Math.floor(n / kColours)) % kShapes };
  });
}

function isDrawn(figure: XyFigure, { stroke }: XySeries, { x, y, range }: XyPoint): boolean {
  if (!hasPlace(figure.x, x)) return false;
  return stroke === "expected_range" ? hasPlace(figure.y, range?.[1]) && typeof range?.[0] === "number" : hasPlace(figure.y, y);
}

/** All that the axes have to show. */
function extentOf(figure: XyFigure): { xs: number[]; ys: number[]; leftOut: number } {
  const [xs, ys]: [number[], number[]] = [[], []];
  let leftOut = 0;
  for (const series of figure.series) {
    for (const point of series.points) {
      if (!isDrawn(figure, series, point)) {
        if (isBelowLogarithm(figure.x, point.x) || isBelowLogarithm(figure.y, series.stroke === "expected_range" ? point.range?.[1] : point.y)) ++leftOut;
        continue;
      }
      xs.push(point.x ?? 0);
      for (const y of [series.stroke === "expected_range" ? null : point.y, ...(point.range ?? [])]) if (hasPlace(figure.y, y)) ys.push(y);
    }
  }
  if (ys.length > 0) for (const { y } of figure.references) if (hasPlace(figure.y, y)) ys.push(y);
  return { xs, ys, leftOut };
}

/** Points without a place end a run: a gap is a gap. Their order is the report's. */
function runsOf(figure: XyFigure, series: XySeries, index: number, xOf: (value: number) => number, yOf: (value: number) => number, bottom: number): Placed[][] {
  const runs: Placed[][] = [];
  let run: Placed[] | null = null;
  for (const point of series.points) {
    if (!isDrawn(figure, series, point)) {
      run = null;
      continue;
    }
    const [low, high] = point.range ?? [null, null];
    const placed: Placed = {
      x: xOf(point.x ?? 0), y: yOf(point.y ?? 0), series: index, point,
      // A lower end that a logarithmic axis cannot show is below whatever it shows.
      range: low !== null && hasPlace(figure.y, high) ? { low: hasPlace(figure.y, low) ? yOf(low) : bottom, high: yOf(high) } : null,
    };
    if (run) run.push(placed);
    else runs.push((run = [placed]));
  }
  return runs;
}

/** What can be seen of a run: of many points in a column of the picture the first, the lowest, the highest and the last. */
function thinned(run: Placed[]): Placed[] {
  const thin: Placed[] = [];
  for (let from = 0, to = 0; from < run.length; from = to) {
    const column = Math.floor(run[from]?.x ?? 0);
    for (to = from + 1; to < run.length && Math.floor(run[to]?.x ?? 0) === column; ) ++to;
    const mine = run.slice(from, to);
    if (mine.length <= 4) {
      thin.push(...mine);
      continue;
    }
    const ys = mine.map(({ y }) => y);
    const kept = new Set([0, ys.indexOf(Math.max(...ys)), ys.indexOf(Math.min(...ys)), mine.length - 1]);
    thin.push(...mine.filter((placed, i) => kept.has(i) || placed.point.marked));
  }
  return thin;
}

const kFewPoints = 30;

/** Points that get a mark: all while there are few, of many those that are flagged; none that would hide another. */
function marksOf(stroke: FigureStroke, runs: Placed[][]): Placed[] {
  if (stroke === "expected_range") return [];
  const all = runs.flat();
  const isEach = stroke === "points" || (stroke === "line" && all.length <= kFewPoints);
  const taken = new Set<string>();
  return all.filter((placed) => {
    if (!isEach && !placed.point.marked) return false;
    const cell = `${Math.round(placed.x / 2)} ${Math.round(placed.y / 2)} ${placed.point.marked ?? false}`;
    return !taken.has(cell) && taken.add(cell);
  });
}

function marksAlong(axis: FigureAxis, scale: Scale, most: number, at: (share: number) => number, values: number[] = []): AxisMark[] {
  const ticks = figureTicks(axis, scale, most, values);
  const labels = tickLabels(ticks.map(({ place }) => place), axis.unit);
  return ticks.map(({ share }, i) => ({ at: at(share), label: labels[i] ?? "" }));
}

export function sceneOf(figure: XyFigure, width: number, height: number): Scene {
  const { xs, ys, leftOut } = extentOf(figure);
  const [across, up] = [fitAxis(figure.x, xs, 0.03), fitAxis(figure.y, ys, 0.06)];
  const levels = ys.length === 0 ? [] : figure.references.flatMap(({ label, y }, i) => (hasPlace(figure.y, y) ? [{ label, value: y, dash: kDashes[i % kDashes.length] ?? [] }] : []));
  const frame: Frame = { width, height, left: 0, right: 14, top: 26, bottom: 44 };
  const yMarks = marksAlong(figure.y, up, 6, (share) => shareY(frame, share));
  frame.left = Math.max(24, ...yMarks.map(({ label }) => label.length * kLetter + 15));
  frame.right = Math.max(frame.right, ...levels.map(({ label }) => Math.min(label.length, 16) * kLetter + 12));
  const xOf = (value: number) => shareX(frame, shareOf(across, value));
  const yOf = (value: number) => shareY(frame, shareOf(up, value));
  const looks = looksOf(figure.series);
  const curves = figure.series.map((series, i): Curve => {
    const runs = runsOf(figure, series, i, xOf, yOf, height - frame.bottom).map(thinned);
    return { stroke: series.stroke, look: looks[i] ?? { colour: "--line-0", dash: [], shape: 0 }, runs, marks: marksOf(series.stroke, runs) };
  });
  return {
    frame, yMarks, curves, leftOut, isEmpty: xs.length === 0,
    xMarks: marksAlong(figure.x, across, Math.max(2, Math.floor(width / 90)), (share) => shareX(frame, share), xs),
    levels: levels.map(({ label, value, dash }) => ({ label, dash, y: yOf(value) })),
  };
}

/** What can be pointed at; what a band is about is said in the table. */
export function pointsOf(scene: Scene): Placed[] {
  return scene.curves.flatMap(({ stroke, runs }) => (stroke === "expected_range" ? [] : runs.flat()));
}

/** The point that is meant by a place, or null where none is near. */
export function pointNear(points: Placed[], x: number, y: number, near = 24): Placed | null {
  let [best, least]: [Placed | null, number] = [null, near];
  for (const point of points) {
    const away = Math.hypot(point.x - x, point.y - y);
    if (away < least) [best, least] = [point, away];
  }
  return best;
}

/** By the keyboard: along its series, or to the point of the next series that is nearest; from none to the first. */
export function pointBeside(points: Placed[], from: Placed | null, key: string): Placed | null {
  const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  const now = from && points.find(({ point }) => point === from.point);
  if (!now) return points[0] ?? null;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const mine = points.filter(({ series }) => series === now.series);
    return mine[mine.indexOf(now) + step] ?? now;
  }
  const drawn = [...new Set(points.map(({ series }) => series))];
  const next = drawn[drawn.indexOf(now.series) + step];
  const others = points.filter(({ series }) => series === next);
  return others.reduce<Placed>((best, one) => (best === now || Math.abs(one.x - now.x) < Math.abs(best.x - now.x) ? one : best), now);
}
