// What runs can be held against each other by: settings that differ and results, each with its scale. Pure functions.

import { differences, type Setting } from "../curves/curves";

/** A run, as far as it is drawn. */
export interface Subject {
  id: string;
  label: string;
  settings: Setting[];
  results: Record<string, number | null>;
}

export interface Dimension {
  /** Unique: a setting, or `metrics.NAME` */
  key: string;
  title: string;
  unit: string;
  isResult: boolean;
  isText: boolean;
  /** One of each subject; null: it has none */
  values: (number | string | null)[];
}

const kNoSettings = new Set(["name", "tags", "seed"]);

/** Settings that differ, then results that any subject has. */
export function dimensionsOf(subjects: Subject[], unitOf: (metric: string) => string): Dimension[] {
  const settings = differences(subjects.map(({ settings }) => settings.filter(({ key }) => !kNoSettings.has(key)))).map(({ key, values }): Dimension => {
    const given = values.map((value) => (value === "–" || value === "null" ? null : value));
    const isText = given.some((value) => value !== null && (value.trim() === "" || !Number.isFinite(Number(value))));
    return { key, title: key, unit: "", isResult: false, isText, values: given.map((value) => (value === null || isText ? value : Number(value))) };
  });
  const names = [...new Set(subjects.flatMap(({ results }) => Object.keys(results)))];
  const results = names.map((name): Dimension => {
    const values = subjects.map(({ results }) => (Number.isFinite(results[name]) ? (results[name] ?? null) : null));
    return { key: `metrics.${name}`, title: name, unit: unitOf(name), isResult: true, isText: false, values };
  });
  return [...settings, ...results].filter(({ values }) => values.some((value) => value !== null));
}

const kAskedFirst = ["val_loss", "final_loss", "loss", "val_accuracy", "samples_per_second", "tokens_per_second", "gpu_memory_peak_bytes", "duration_seconds"];

/** The axes that are shown until somebody chooses: a few settings, and the results that people ask for first. */
export function usualAxes(dimensions: Dimension[]): string[] {
  const settings = dimensions.filter(({ isResult }) => !isResult).slice(0, 5);
  const results = dimensions.filter(({ isResult }) => isResult);
  const known = kAskedFirst.flatMap((name) => results.filter(({ title }) => title === name));
  return [...settings, ...(known.length > 0 ? known : results).slice(0, 3)].map(({ key }) => key);
}

export interface Scale {
  kind: "linear" | "log" | "text";
  low: number;
  high: number;
  /** Of a scale of text, in order; the place of one is its index */
  words: string[];
}

/** Logarithmic only where every value is above zero. */
export function scaleOf(dimension: Dimension, logarithmic: boolean): Scale {
  if (dimension.isText) {
    const words = [...new Set(dimension.values.filter((value): value is string => typeof value === "string"))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return { kind: "text", low: 0, high: Math.max(0, words.length - 1), words };
  }
  let [low, high] = [Infinity, -Infinity];
  for (const value of dimension.values) {
    if (typeof value !== "number") continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) [low, high] = [0, 1];
  return { kind: logarithmic && low > 0 ? "log" : "linear", low, high, words: [] };
}

/** Whether values are so far apart that a linear axis would show the largest alone. */
export function isWide(dimension: Dimension): boolean {
  const { kind, low, high } = scaleOf(dimension, true);
  return kind === "log" && high / low >= 50;
}

/** A value as a number: itself, or the index of a word; null for none. */
export function placeOf(scale: Scale, value: number | string | null | undefined): number | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return null;
  const index = scale.words.indexOf(value);
  return index < 0 ? null : index;
}

/** How far along the axis a place is, 0…1 for those within; all the same: in the middle. */
export function shareOf(scale: Scale, place: number): number {
  const { kind, low, high } = scale;
  if (high === low) return 0.5;
  if (kind === "log") return place <= 0 ? -1 : Math.log(place / low) / Math.log(high / low);
  return (place - low) / (high - low);
}

/** The other way round. */
export function atShare(scale: Scale, share: number): number {
  const { kind, low, high } = scale;
  if (high === low) return low + (share - 0.5);
  return kind === "log" ? low * (high / low) ** share : low + (high - low) * share;
}

export interface Tick {
  share: number;
  /** A place; of text, the index of the word */
  place: number;
}

/** Round places along an axis, about `most`; of a scale of text, words that are evenly apart. */
export function ticksOf(scale: Scale, most: number): Tick[] {
  const { kind, low, high } = scale;
  const tick = (place: number): Tick => ({ place, share: shareOf(scale, place) });
  if (high === low) return [tick(low)];
  if (kind === "text") {
    const step = Math.max(1, Math.ceil(scale.words.length / Math.max(1, most)));
    return scale.words.flatMap((_, i) => (i % step === 0 ? [tick(i)] : []));
  }
  if (kind === "log") {
    const decades = Math.log10(high / low);
    const digits = decades > most ? [1] : decades > most / 3 ? [1, 3] : [1, 2, 5];
    const every = Math.max(1, Math.ceil(decades / most));
    const ticks: Tick[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += every) {
      for (const digit of digits) {
        const place = Number(`${digit}e${power}`);
        if (place >= low * (1 - 1e-9) && place <= high * (1 + 1e-9)) ticks.push(tick(place));
      }
    }
    return ticks.length > 1 ? ticks : [tick(low), tick(high)];
  }
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((digit) => digit * power >= rough) ?? 10) * power;
  const ticks: Tick[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; ++n) ticks.push(tick(Number((n * step).toPrecision(12))));
  return ticks;
}

/** As ticksOf, but the values themselves for a setting that was tried with few: 16, 32, 64. */
export function axisTicks(dimension: Dimension, scale: Scale, most: number): Tick[] {
  const values = [...new Set(dimension.values.filter((value): value is number => typeof value === "number"))].sort((a, b) => a - b);
  const isFew = !dimension.isResult && values.length <= most;
  const shares = values.map((place) => ({ place, share: shareOf(scale, place) }));
  // Where two would be written over each other, round ones are read better.
  const isApart = shares.every(({ share }, i) => i === 0 || share - (shares[i - 1]?.share ?? 0) >= 0.5 / most);
  return isFew && isApart && values.length > 0 ? shares : ticksOf(scale, most);
}

/** What is let through of each axis, in places; ends belong to it. */
export type Brushes = Record<string, [number, number]>;

/** Which subjects every brush lets through. Those without a value are held back. */
export function passing(dimensions: Dimension[], scales: Map<string, Scale>, brushes: Brushes, subjects: number): boolean[] {
  const pass = new Array<boolean>(subjects).fill(true);
  for (const dimension of dimensions) {
    const [brush, scale] = [brushes[dimension.key], scales.get(dimension.key)];
    if (!brush || !scale) continue;
    dimension.values.forEach((value, i) => {
      const place = placeOf(scale, value);
      if (place === null || place < brush[0] || place > brush[1]) pass[i] = false;
    });
  }
  return pass;
}

/** As an address has them: `batch_size:16:64,metrics.loss:0:1`. */
export function writeBrushes(brushes: Brushes): string {
  const short = (value: number) => String(Number(value.toPrecision(6)));
  return Object.entries(brushes).map(([key, [low, high]]) => `${encodeURIComponent(key)}:${short(low)}:${short(high)}`).join(",");
}

/** What cannot be read is left out. */
export function readBrushes(text: string): Brushes {
  const brushes: Brushes = {};
  for (const part of text.split(",")) {
    const found = /^([^:]+):([^:]+):([^:]+)$/.exec(part);
    const [low, high] = [Number(found?.[2]), Number(found?.[3])];
    if (!found || !Number.isFinite(low) || !Number.isFinite(high) || low > high) continue;
    try {
      brushes[decodeURIComponent(found[1] ?? "")] = [low, high];
    } catch {
      // An address that somebody cut short.
    }
  }
  return brushes;
}

/** Between two colours like #0072b2. */
export function mixed(from: string, to: string, share: number): string {
  const parts = (colour: string) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) || 0);
  const [a, b, t] = [parts(from), parts(to), Math.min(1, Math.max(0, share))];
  return "#" + a.map((value, i) => Math.round(value + ((b[i] ?? 0) - value) * t).toString(16).padStart(2, "0")).join("");
}
