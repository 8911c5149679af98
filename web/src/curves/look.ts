// How somebody wants curves to be drawn, as an address says it. Pure functions.

import type { CurveQuestion } from "../api/types";
import type { Range } from "../format/time";

const kAxes = ["step", "relative", "wall"] as const;
export type CurveAxis = (typeof kAxes)[number];

export interface CurveLook {
  axis: CurveAxis;
  /** 0…0.98 */
  smoothing: number;
  logarithmic: boolean;
}

export const kMostSmoothing = 0.98;

export function axisOf(text: string | undefined): CurveAxis {
  return kAxes.find((axis) => axis === text) ?? "step";
}

/** Whatever an address says, a look that can be drawn. */
export function lookOf(query: Record<string, string>): CurveLook {
  const smoothing = Number(query["smooth"] ?? 0);
  return { axis: axisOf(query["axis"]), smoothing: Number.isFinite(smoothing) ? Math.min(kMostSmoothing, Math.max(0, smoothing)) : 0, logarithmic: query["log10"] === "1" };
}

/** What is usual is left out, so that links stay short. */
export function lookText({ axis, smoothing, logarithmic }: CurveLook): Record<string, string | null> {
  return { axis: axis === "step" ? null : axis, smooth: smoothing > 0 ? String(smoothing) : null, log10: logarithmic ? "1" : null };
}

/** What changes in an address with a look; a part of one axis means nothing on another. */
export function lookChange(before: CurveLook, next: CurveLook): Record<string, string | null> {
  const was = lookText(before);
  const changed = Object.entries(lookText(next)).filter(([name, value]) => value !== was[name]);
  return { ...Object.fromEntries(changed), ...(before.axis === next.axis ? {} : { part: null }) };
}

/** The part of the axis that somebody zoomed to; null: all of it. */
export function partOf(text: string | undefined): Range | null {
  const found = /^(-?[\de.+-]+?)\.\.(-?[\de.+-]+)$/.exec(text ?? "");
  const [from, to] = [Number(found?.[1]), Number(found?.[2])];
  return from < to ? { from, to } : null;
}

export function partText(part: Range | null): string | null {
  // Milliseconds since 1970 have thirteen digits.
  const short = (value: number) => String(Number(value.toPrecision(15)));
  return part ? `${short(part.from)}..${short(part.to)}` : null;
}

/** What a run is asked for; `begin` is where it began, in nanoseconds, for a part of an axis that is relative. */
export function questionOf(axis: CurveAxis, part: Range | null, begin: number, width: number): CurveQuestion {
  const at = (x: number) => Math.round(axis === "step" ? x : axis === "wall" ? x * 1e6 : begin + x * 1e9);
  return { axis: axis === "step" ? "step" : "time", width, ...(part ? { from: at(part.from), to: at(part.to) + 1 } : {}) };
}
