// How an axis of a report's chart is laid out: the range that it covers and the places that it names. Pure functions.

import { shareOf, ticksOf, type Scale, type Tick } from "../explore/dimensions";
import type { FigureAxis } from "./document";

/** Whether a value can be shown on an axis. */
export function hasPlace(axis: FigureAxis, value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value) && (!axis.logarithmic || value > 0);
}

/** What is at or below zero, where a logarithmic axis has no place for it. */
export function isBelowLogarithm(axis: FigureAxis, value: number | null | undefined): boolean {
  return axis.logarithmic && typeof value === "number" && value <= 0;
}

/** From the smallest to the largest value with some room at both ends; zero is an end of its own where lengths are to be compared. */
export function fitAxis(axis: FigureAxis, values: number[], padding = 0.05): Scale {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) [low, high] = axis.logarithmic ? [1, 10] : [0, 1];
  if (axis.logarithmic) {
    if (high / low < 1 + 1e-9) [low, high] = [low / 2, high * 2];
    const room = (high / low) ** padding;
    return { kind: "log", low: low / room, high: high * room, words: [] };
  }
  if (axis.from_zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const size = Math.max(Math.abs(low), Math.abs(high));
  // What differs by less than figures are written with is flat.
  const span = high - low > size * 1e-9 ? high - low : 0;
  const room = span > 0 ? span * padding : size > 0 ? size * 0.05 : 1;
  // Nothing is drawn beyond zero that would need room.
  return { kind: "linear", low: low === 0 && (span > 0 || axis.from_zero) ? 0 : low - room, high: high === 0 && span > 0 ? 0 : high + room, words: [] };
}

const kFewPlaces = 10;
const kApart = 0.055;

/** The values themselves where they are few, whole and apart: 1, 2, 4, 8 GPUs; else none. */
function placesOf(scale: Scale, values: number[], most: number): Tick[] {
  const places = [...new Set(values)].sort((a, b) => a - b);
  if (places.length < 2 || places.length > Math.min(kFewPlaces, most + 2)) return [];
  const ticks = places.map((place) => ({ place, share: shareOf(scale, place) }));
  const isGood = ticks.every(({ place, share }, i) => Number.isInteger(place) && Math.abs(place) < 1e5 && (i === 0 || share - (ticks[i - 1]?.share ?? 0) >= kApart));
  return isGood ? ticks : [];
}

/** By what bytes and times are divided to have round places: they are shown in GiB, in minutes. */
function sizeOf(unit: string, largest: number): number {
  if (unit === "B" || unit === "B/s") return 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, largest)) / Math.log(1024)));
  if (unit === "s") return largest >= 7200 ? 3600 : largest >= 120 ? 60 : 1;
  return 1;
}

/** Round places along an axis; `values`: what is to be named itself where that is readable. */
export function figureTicks(axis: FigureAxis, scale: Scale, most: number, values: number[] = []): Tick[] {
  const places = placesOf(scale, values, most);
  if (places.length > 0) return places;
  const size = sizeOf(axis.unit, Math.max(Math.abs(scale.low), Math.abs(scale.high)));
  const shown = ticksOf({ ...scale, low: scale.low / size, high: scale.high / size }, most);
  const ticks = shown.map(({ place }) => ({ place: place * size, share: shareOf(scale, place * size) }));
  // There is no half a GPU, and no half a step.
  const isCounted = values.length > 0 && axis.unit === "" && values.every((value) => Number.isInteger(value));
  return isCounted ? ticks.filter(({ place }) => Number.isInteger(place)) : ticks;
}
