// Where lines and points are, and which of them is meant. x and y are CSS pixels; y grows downwards. Pure functions.

import { placeOf, shareOf, type Dimension, type Scale } from "./dimensions";

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Where the axis of parallel coordinates with this number is. */
export function axisX(frame: Frame, axis: number, axes: number): number {
  const wide = frame.width - frame.left - frame.right;
  return axes < 2 ? frame.left + wide / 2 : frame.left + (wide * axis) / (axes - 1);
}

/** The largest is above. */
export function shareY(frame: Frame, share: number): number {
  return frame.top + (1 - share) * (frame.height - frame.top - frame.bottom);
}

export function yShare(frame: Frame, y: number): number {
  return 1 - (y - frame.top) / (frame.height - frame.top - frame.bottom);
}

/** For each subject where it crosses each axis; null: it has no value there. */
export function crossings(dimensions: Dimension[], scales: Scale[], frame: Frame, subjects: number): (number | null)[][] {
  return Array.from({ length: subjects }, (_, subject) =>
    dimensions.map((dimension, i) => {
      const scale = scales[i];
      const place = scale ? placeOf(scale, dimension.values[subject]) : null;
      return scale && place !== null ? shareY(frame, shareOf(scale, place)) : null;
    }),
  );
}

/** The axis at x, if one is near. */
export function axisAt(frame: Frame, x: number, axes: number, near = 14): number | null {
  for (let axis = 0; axis < axes; ++axis) if (Math.abs(axisX(frame, axis, axes) - x) <= near) return axis;
  return null;
}

/** The line that passes nearest to a place, or null where none is near; `isMeant` leaves lines out. */
export function lineAt(lines: (number | null)[][], frame: Frame, x: number, y: number, isMeant: (subject: number) => boolean, near = 8): number | null {
  let [best, least]: [number | null, number] = [null, near];
  lines.forEach((ys, subject) => {
    if (!isMeant(subject)) return;
    for (let axis = 0; axis + 1 < ys.length; ++axis) {
      const [x0, x1, y0, y1] = [axisX(frame, axis, ys.length), axisX(frame, axis + 1, ys.length), ys[axis], ys[axis + 1]];
      if (typeof y0 !== "number" || typeof y1 !== "number" || x < x0 - near || x > x1 + near) continue;
      const away = fromSegment(x, y, x0, y0, x1, y1);
      if (away < least) [best, least] = [subject, away];
    }
  });
  return best;
}

function fromSegment(x: number, y: number, x0: number, y0: number, x1: number, y1: number): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = dx === 0 && dy === 0 ? 0 : Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}

export interface Point {
  subject: number;
  x: number;
  y: number;
}

/** Those that have both values, with room at the edges. */
export function pointsOf(across: Dimension, acrossScale: Scale, up: Dimension, upScale: Scale, frame: Frame): Point[] {
  return across.values.flatMap((value, subject): Point[] => {
    const [a, b] = [placeOf(acrossScale, value), placeOf(upScale, up.values[subject])];
    if (a === null || b === null) return [];
    return [{ subject, x: shareX(frame, shareOf(acrossScale, a)), y: shareY(frame, shareOf(upScale, b)) }];
  });
}

export function shareX(frame: Frame, share: number): number {
  return frame.left + share * (frame.width - frame.left - frame.right);
}

export function pointAt(points: Point[], x: number, y: number, near = 14): Point | null {
  let [best, least]: [Point | null, number] = [null, near];
  for (const point of points) {
    const away = Math.hypot(point.x - x, point.y - y);
    if (away < least) [best, least] = [point, away];
  }
  return best;
}

/** From one point to the next by the keyboard, by x, then by y; from none to the first. */
export function nextPoint(points: Point[], from: number | null, step: 1 | -1): Point | null {
  const sorted = [...points].sort((a, b) => a.x - b.x || b.y - a.y);
  if (sorted.length === 0) return null;
  const at = sorted.findIndex(({ subject }) => subject === from);
  const next = at < 0 ? (step > 0 ? 0 : sorted.length - 1) : Math.min(sorted.length - 1, Math.max(0, at + step));
  return sorted[next] ?? null;
}
