// What a chart draws, and what of it needs no canvas: joined axes, smoothing, tables. Pure functions.

export interface Line {
  /** Unique in its chart; what selections and pins name */
  key: string;
  label: string;
  x: number[];
  /** What is drawn */
  y: (number | null)[];
  /** The smallest and largest value that each point stands for: a band around the line */
  low?: (number | null)[];
  high?: (number | null)[];
  /** How many values each point is the mean of; without: each is one itself */
  counts?: number[];
  /** The last value that each point stands for */
  last?: (number | null)[];
  /** Where the line was smoothed: what it was before */
  raw?: (number | null)[];
  /** Which colour and dash; without: its place among the lines */
  stroke?: number;
}

export interface Mark {
  x: number;
  /** Where it ends, for something that lasts */
  to?: number;
  label: string;
  tone: "info" | "warn" | "bad";
}

/** Ascending, with a column per line: undefined where it has no point, null where it has a gap. */
export type Joined = [number[], ...(number | null | undefined)[][]];

/** One axis for all lines, as uPlot wants it. A column may end before the axis: the line has no points there. */
export function joined(lines: Line[]): Joined {
  // Thousands of lines have a handful of axes: those of their nodes.
  const axes: number[][] = [];
  const axisOf = lines.map(({ x }) => {
    const known = axes.findIndex((axis) => sameAxis(axis, x));
    return known >= 0 ? known : axes.push(x) - 1;
  });
  const axis = axes.length > 1 ? [...new Set(axes.flat())].sort((a, b) => a - b) : (axes[0] ?? []);
  const places = axes.map((one) => placesIn(axis, one));
  const columns = lines.map(({ y }, line) => {
    const at = places[axisOf[line] ?? 0];
    if (!at) return y;
    const column = new Array<number | null | undefined>(axis.length).fill(undefined);
    for (let i = 0; i < at.length; ++i) column[at[i] ?? 0] = y[i] ?? null;
    return column;
  });
  return [axis, ...columns];
}

/** Where the values of an axis stand in one that has them all; null: as the first there, in their order. */
function placesIn(whole: number[], axis: number[]): Int32Array | null {
  if (whole === axis) return null;
  const places = new Int32Array(axis.length);
  let [at, first] = [-1, true];
  axis.forEach((x, i) => {
    at = whole[at + 1] === x ? at + 1 : placeOf(whole, x);
    first &&= at === i;
    places[i] = at;
  });
  return first ? null : places;
}

/** More of them than a screen has pixels across. */
const kBuckets = 2000;

/** The first place in an ascending list whose value is not below. */
function placeOf(axis: number[], value: number): number {
  let [low, high] = [0, axis.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((axis[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Marks what of a column must stay: of each bucket the first and last point, the smallest and largest, and a gap. */
function markKept(column: (number | null | undefined)[], bucketOf: Uint16Array, begin: number, kept: Uint8Array) {
  for (let i = 0; i < bucketOf.length; ) {
    const bucket = bucketOf[i];
    let [first, last, least, most] = [-1, -1, -1, -1];
    let [low, high] = [Infinity, -Infinity];
    for (; i < bucketOf.length && bucketOf[i] === bucket; ++i) {
      const value = column[begin + i];
      if (value === undefined) continue;
      if (value === null) {
        kept[i] = 1;
        continue;
      }
      if (first < 0) first = i;
      last = i;
      if (value < low) [low, least] = [value, i];
      if (value > high) [high, most] = [value, i];
    }
    for (const at of [first, last, least, most]) if (at >= 0) kept[at] = 1;
  }
}

/**
 * The part between `from` and `to` with one point more at each end, thinned to what differs when it is drawn. What is
 * small is given back as it is.
 */
export function thinned(data: Joined, from: number, to: number): Joined {
  const [axis, ...columns] = data;
  if (axis.length <= 4 * kBuckets) return data;
  const begin = Math.max(0, placeOf(axis, from) - 1);
  const end = Math.min(axis.length, placeOf(axis, to) + 2);
  if (end - begin <= 4 * kBuckets) return data.map((column) => column.slice(begin, end)) as Joined;
  const [low, high] = [axis[begin] ?? 0, axis[end - 1] ?? 1];
  const scale = (kBuckets - 1) / (high - low || 1);
  const bucketOf = new Uint16Array(end - begin);
  for (let i = 0; i < bucketOf.length; ++i) bucketOf[i] = ((axis[begin + i] ?? 0) - low) * scale;
  const kept = new Uint8Array(end - begin);
  for (const column of columns) markKept(column, bucketOf, begin, kept);
  const places: number[] = [];
  for (let i = 0; i < kept.length; ++i) if (kept[i]) places.push(begin + i);
  return data.map((column) => places.map((at) => column[at])) as Joined;
}

function sameAxis(a: number[], b: number[]): boolean {
  if (a.length !== b.length) return false;
  if (a === b) return true;
  // Axes that differ mostly do so at their end.
  for (let i = a.length - 1; i >= 0; --i) if (a[i] !== b[i]) return false;
  return true;
}

/** An exponential moving average that is not biased towards its beginning; `weight` 0 leaves the line as it is. */
export function smoothed(values: (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return values;
  let sum = 0;
  let share = 0;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    sum = sum * weight + value * (1 - weight);
    share = share * weight + (1 - weight);
    return sum / share;
  });
}

/** The most values that a point of these lines is the mean of; 1: the points are the values. */
export function meansOf(lines: Line[]): number {
  return lines.reduce((most, { counts }) => counts?.reduce((a, b) => Math.max(a, b), most) ?? most, 1);
}

/** In words, how what is drawn follows from what was recorded; "" where it is that itself. */
export function howDrawn(lines: Line[]): string {
  const means = meansOf(lines);
  const isSmoothed = lines.some(({ raw }) => raw !== undefined);
  return [means > 1 ? `means of up to ${means} values` : "", isSmoothed ? "smoothed" : ""].filter(Boolean).join(", ");
}

/** The place of a point in its line; -1: the line has none there. */
export function pointAt(line: Line, x: number): number {
  const at = placeOf(line.x, x);
  return line.x[at] === x ? at : -1;
}

/** Lines on top of each other: each is drawn at the sum of those before it and its own, with that stretch as its band. */
export function stacked(lines: Line[]): Line[] {
  const [axis, ...columns] = joined(lines.map((line) => ({ ...line, y: line.raw ?? line.y })));
  let below = axis.map(() => 0);
  return lines.map(({ key, label, stroke }, i) => {
    const low = below;
    const high = axis.map((_, at) => (low[at] ?? 0) + (columns[i]?.[at] ?? 0));
    below = high;
    return { key, label, x: axis, y: high, low, high, ...(stroke === undefined ? {} : { stroke }) };
  });
}

export interface Summary {
  last: number | null;
  min: number | null;
  max: number | null;
  mean: number | null;
}

/** Of the finite values of a line within a range: of all that its points stand for, before they were smoothed. */
export function summary(line: Line, from = -Infinity, to = Infinity): Summary {
  let [last, min, max, sum, n]: [number | null, number, number, number, number] = [null, Infinity, -Infinity, 0, 0];
  const means = line.raw ?? line.y;
  for (let i = 0; i < line.x.length; ++i) {
    const [x, y] = [line.x[i] ?? NaN, means[i]];
    if (x < from || x > to || y === null || y === undefined || !Number.isFinite(y)) continue;
    const count = line.counts?.[i] ?? 1;
    last = line.last?.[i] ?? y;
    min = Math.min(min, line.low?.[i] ?? y);
    max = Math.max(max, line.high?.[i] ?? y);
    sum += y * count;
    n += count;
  }
  return n === 0 ? { last: null, min: null, max: null, mean: null } : { last, min, max, mean: sum / n };
}
