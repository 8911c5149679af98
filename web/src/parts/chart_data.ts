// What a chart draws, and what of it needs no canvas: joined axes, smoothing, tables. Pure functions.

export interface Line {
  /** Unique in its chart; what selections and pins name */
  key: string;
  label: string;
  x: number[];
  y: (number | null)[];
  /** The smallest and largest of each bucket, for a band around the line */
  low?: (number | null)[];
  high?: (number | null)[];
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

/** One axis for all lines, as uPlot wants it: undefined where a line has no point, null where it has a gap. */
export function joined(lines: Line[]): [number[], ...(number | null | undefined)[][]] {
  const first = lines[0];
  if (!first) return [[]];
  if (lines.every((line) => line.x === first.x || sameAxis(line.x, first.x))) return [first.x, ...lines.map((line) => line.y)];
  const axis = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const place = new Map(axis.map((x, i) => [x, i]));
  const columns = lines.map((line) => {
    const column = new Array<number | null | undefined>(axis.length).fill(undefined);
    line.x.forEach((x, i) => (column[place.get(x) ?? 0] = line.y[i] ?? null));
    return column;
  });
  return [axis, ...columns];
}

function sameAxis(a: number[], b: number[]): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i]);
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

export interface Summary {
  last: number | null;
  min: number | null;
  max: number | null;
  mean: number | null;
}

/** Of the finite values of a line within a range. */
export function summary(line: Line, from = -Infinity, to = Infinity): Summary {
  let [last, min, max, sum, n]: [number | null, number, number, number, number] = [null, Infinity, -Infinity, 0, 0];
  for (let i = 0; i < line.x.length; ++i) {
    const [x, y] = [line.x[i] ?? NaN, line.y[i]];
    if (x < from || x > to || y === null || y === undefined || !Number.isFinite(y)) continue;
    last = y;
    min = Math.min(min, line.low?.[i] ?? y);
    max = Math.max(max, line.high?.[i] ?? y);
    sum += y;
    ++n;
  }
  return n === 0 ? { last: null, min: null, max: null, mean: null } : { last, min, max, mean: sum / n };
}
