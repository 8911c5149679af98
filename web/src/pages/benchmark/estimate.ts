// What a specification will probably take, from runs like it. Pure functions: no history, no figure.

import type { PriceList, Run } from "../../api/types";
import { flattened } from "../../curves/curves";
import type { SchemaField } from "./draft";

/** What a specification's text says, as far as it can be compared with settings of runs. */
export interface DraftSettings {
  /** By dotted key, as written */
  values: Map<string, string>;
  /** What a study varies: such runs are alike whatever these are */
  varied: Set<string>;
  /** Written in a way that is not read here */
  unread: string[];
}

const kVaries = new Set(["sweep", "matrix", "scale"]);
// What changes neither time nor memory, or is no setting of a run.
const kNoMatter = /^(kind|name|tags|seed|seeds|learning_rate|notes|price|repeat|time_limit|sweep|matrix|scale|scaling|(expect|goals|baseline)(\..*)?)$/;

function unquoted(text: string): string {
  const value = text.replace(/\s+#.*$/, "").trim();
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value;
}

/** The parts of `{a: 1, b: [2, 3]}`, apart at commas that are in no brackets. */
function inlineParts(text: string): [string, string][] {
  const parts: string[] = [""];
  let depth = 0;
  for (const sign of text.slice(1, -1)) {
    if ("[{".includes(sign)) depth += 1;
    if ("]}".includes(sign)) depth -= 1;
    if (sign === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += sign;
  }
  return parts.flatMap((part): [string, string][] => {
    const found = /^\s*["']?([\w.-]+)["']?\s*:\s*([^]*)$/.exec(part);
    return found ? [[found[1] ?? "", unquoted(found[2] ?? "")]] : [];
  });
}

/** Reads the YAML that people write here: keys, one level of nesting, lists on one line. The rest is named as not read. */
export function settingsIn(text: string): DraftSettings {
  const draft: DraftSettings = { values: new Map(), varied: new Set(), unread: [] };
  let top = "";
  const skip = (key: string) => {
    if (!draft.unread.includes(key) && !kNoMatter.test(key)) draft.unread.push(key);
  };
  const set = (key: string, value: string) => {
    if (value.startsWith("{") && value.endsWith("}")) for (const [part, one] of inlineParts(value)) set(`${key}.${part}`, one);
    else if (kVaries.has(top)) {
      // `scale: [1, 2, 4]` is a list of ranks.
      if (top === "scale") draft.varied.add("ranks");
      else if (key !== top) draft.varied.add(key.slice(top.length + 1));
    } else if (/^[|>]/.test(value)) skip(top);
    else if (value !== "") draft.values.set(key, value);
  };
  for (const line of text.split("\n")) {
    if (/^\s*(#.*)?$/.test(line)) continue;
    const found = /^(\s*)["']?([\w.-]+)["']?\s*:(?:\s+([^]*))?$/.exec(line);
    if (found && found[1] === "") {
      top = found[2] ?? "";
      set(top, unquoted(found[3] ?? ""));
    } else if (found && (found[1] ?? "").length <= 4 && !draft.unread.includes(top)) set(`${top}.${found[2] ?? ""}`, unquoted(found[3] ?? ""));
    else if (!kVaries.has(top)) skip(top);
  }
  return draft;
}

const kUnits: Record<string, number> = {
  ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400,
  B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, "%": 0.01, "/s": 1,
};

function numberIn(text: string): number {
  const found = /^([\d.]+(?:e[+-]?\d+)?)\s*(\S*)$/i.exec(text);
  const unit = found?.[2] ? kUnits[found[2]] : 1;
  return found && unit !== undefined ? Number(found[1]) * unit : NaN;
}

/** Whether a value as somebody writes it is the one that a run has: `1e-3` is 0.001, `2min` is 120, `[1, 2]` is [1,2]. */
export function isSame(written: string, kept: string): boolean {
  if (written === kept) return true;
  const [a, b] = [numberIn(written), Number(kept)];
  if (kept.trim() !== "" && Number.isFinite(a) && Number.isFinite(b)) return Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
  const plain = (text: string) => text.replace(/\s|["']/g, "");
  return /^\[/.test(written) && plain(written) === plain(kept);
}

/** The default that the schema names; undefined: none. */
function usualOf(properties: Record<string, SchemaField>, key: string): string | undefined {
  return /Default: ([^]*)$/.exec(properties[key]?.description ?? "")?.[1]?.trim();
}

/** By what a training's length is told, and by how much of it; undefined: by time, or the schema does not know. */
function lengthOf(value: (key: string) => string | undefined, properties: Record<string, SchemaField>): { by: "steps" | "epochs"; n: number } | undefined {
  const known = (key: string) => {
    const text = value(key);
    return text === undefined || text === "null" ? NaN : numberIn(text);
  };
  if (Number.isFinite(known("duration"))) return undefined;
  if (Number.isFinite(known("steps"))) return { by: "steps", n: known("steps") };
  const epochs = Number.isFinite(known("epochs")) ? known("epochs") : numberIn(usualOf(properties, "epochs") ?? "");
  return Number.isFinite(epochs) ? { by: "epochs", n: epochs } : undefined;
}

/** A run that a draft is like but for its length, and how many times as long the draft's is. */
export interface Alike {
  run: Run;
  scale: number;
}

/** The runs that a draft is like, those of the same length first: from others its time is scaled. */
export function alikeIn(draft: DraftSettings, runs: Run[], properties: Record<string, SchemaField>): Alike[] {
  const wanted = draft.varied.has("epochs") || draft.varied.has("steps") ? undefined : lengthOf((key) => draft.values.get(key), properties);
  const found = runs.flatMap((run): Alike[] => {
    if (!isAlike(draft, run, properties)) return [];
    if (!wanted) return [{ run, scale: 1 }];
    const kept = new Map(flattened(run.spec).map(({ key, value }) => [key, value]));
    const had = lengthOf((key) => kept.get(key), properties);
    return had && had.by === wanted.by && had.n > 0 ? [{ run, scale: wanted.n / had.n }] : [];
  });
  const same = found.filter(({ scale }) => scale === 1);
  return same.length > 0 ? same : found;
}

/** What a run of another length would take, in seconds: its training is scaled, what comes before and after is not. */
function secondsOf({ run, scale }: Alike): number {
  const whole = run.duration_seconds ?? 0;
  const training = Math.min(whole, run.metrics["train_seconds"] ?? whole);
  return whole - training + training * scale;
}

/**
 * Whether a run had the settings of a draft, whatever their lengths in epochs or steps are: every one that is written must be the same, and one that is not written must be the
 * default where the schema names one.
 */
export function isAlike(draft: DraftSettings, run: Run, properties: Record<string, SchemaField>): boolean {
  const kept = new Map(flattened(run.spec).map(({ key, value }) => [key, value]));
  const isLength = (key: string) => key === "epochs" || key === "steps";
  const varies = (key: string) => isLength(key) || draft.varied.has(key) || draft.varied.has(key.replace(/\.name$/, ""));
  for (const [key, written] of draft.values) {
    if (kNoMatter.test(key) || varies(key)) continue;
    // `model: mlp` is short for `model: {name: mlp}`.
    const value = kept.get(key) ?? kept.get(`${key}.name`);
    if (value === undefined || !isSame(written, value)) return false;
  }
  for (const [key, value] of kept) {
    if (kNoMatter.test(key) || varies(key) || draft.values.has(key) || draft.values.has(key.replace(/\.name$/, ""))) continue;
    const usual = usualOf(properties, key);
    // What has no default and no schema follows from the rest.
    if (usual !== undefined && !isSame(usual, value)) return false;
  }
  return true;
}

export interface Spread {
  median: number;
  /** The middle half of them is between these; of fewer than four, all */
  low: number;
  high: number;
  n: number;
}

/** Null for none. Between two values a quantile is interpolated. */
export function spreadOf(values: (number | null | undefined)[]): Spread | null {
  const sorted = values.filter((value): value is number => typeof value === "number" && Number.isFinite(value)).sort((a, b) => a - b);
  const at = (share: number): number => {
    const place = share * (sorted.length - 1);
    const [low, high] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
    return low + (high - low) * (place - Math.floor(place));
  };
  return sorted.length === 0 ? null : { median: at(0.5), low: at(sorted.length < 4 ? 0 : 0.25), high: at(sorted.length < 4 ? 1 : 0.75), n: sorted.length };
}

export interface Price {
  amount: number;
  currency: string;
  per: "GPUh" | "h";
}

/** `0.60 USD/GPUh`; null for anything else. */
export function readPrice(text: string | undefined): Price | null {
  const found = /^\s*([\d.]+)\s*([A-Z]{3})\s*\/\s*(GPUh|h)\s*$/.exec(text ?? "");
  return found && Number.isFinite(Number(found[1])) ? { amount: Number(found[1]), currency: found[2] ?? "", per: found[3] as Price["per"] } : null;
}

/** What the leader's price book says of the GPUs that these runs had; null: nothing, or they had several models. */
export function priceInBook(runs: Run[], book: Pick<PriceList, "gpus"> | undefined): { price: Price; origin: string } | null {
  const names = new Set(runs.flatMap((run) => (run.provenance.gpus ?? []).map((gpu) => gpu.name)));
  const entry = names.size === 1 ? book?.gpus.find((one) => names.has(one.name))?.price : null;
  const amount = entry?.on_demand ?? entry?.spot;
  if (!entry || typeof amount !== "number") return null;
  const origin = `price book, ${entry.gpu}${typeof entry.on_demand === "number" ? "" : ", spot"}${entry.source ? `: ${entry.source}` : ""}`;
  return { price: { amount, currency: entry.currency, per: "GPUh" }, origin };
}

/** How many GPUs a run had: those it was given, else one for each process where the machine has any. */
export function gpusOf(run: Run): number {
  const given = run.placement?.gpus?.length ?? 0;
  if (given > 0) return given * Math.max(1, run.nodes);
  const device = (run.spec as { device?: unknown }).device;
  return device === "cpu" || (run.provenance.gpus ?? []).length === 0 ? 0 : Math.max(1, run.ranks);
}

export interface Estimate {
  /** Of one run, in seconds */
  time: Spread;
  /** Of one run on each GPU, in bytes; null: none of them says */
  memory: Spread | null;
  /** Of all that is asked for; null: no price, or it is per GPU and they had none */
  cost: Spread | null;
  currency: string;
  /** Where those runs were */
  hosts: string[];
  /** Whether they were of another length */
  scaled: boolean;
}

/** From runs that are alike and whose figures may be used; null: there is none. `runs`: how many are asked for. */
export function estimateOf(alike: Alike[], price: Price | null, runs: number): Estimate | null {
  const usable = alike.filter(({ run }) => run.state === "ended" && (run.verdict === "valid" || run.verdict === "flagged") && typeof run.duration_seconds === "number");
  const time = spreadOf(usable.map(secondsOf));
  if (!time) return null;
  const costs = usable.map((one) => {
    const { run } = one;
    const units = price?.per === "h" ? Math.max(1, run.nodes) : gpusOf(run);
    return price && units > 0 ? (price.amount * units * runs * secondsOf(one)) / 3600 : null;
  });
  return {
    time,
    memory: spreadOf(usable.map(({ run }) => run.metrics["gpu_memory_peak_bytes"])),
    cost: spreadOf(costs),
    currency: price?.currency ?? "",
    hosts: [...new Set(usable.map(({ run }) => run.placement?.node || run.provenance.hostname || "").filter(Boolean))].sort(),
    scaled: usable.some(({ scale }) => scale !== 1),
  };
}

/** Parameters that a model's name tells: `llama-3.1-8b` has eight billion; undefined: it tells none. */
function parametersIn(name: string): number | undefined {
  const found = /(?:^|[-_])(\d+(?:\.\d+)?)([bm])(?:$|[-_])/i.exec(name);
  return found ? Number(found[1]) * (found[2]?.toLowerCase() === "b" ? 1e9 : 1e6) : undefined;
}

export interface MemoryBound {
  /** On each GPU */
  bytes: number;
  parameters: number;
  /** What of it must fit at the least */
  parts: string;
}

/**
 * What a model that is trained must at least have of a GPU's memory, from the number of parameters in its name; null: that is not told, or its
 * size was changed. Activations, caches and buffers come on top.
 */
export function leastMemory(draft: DraftSettings): MemoryBound | null {
  const value = (key: string) => draft.values.get(key);
  const parameters = parametersIn(value("model") ?? value("model.name") ?? "");
  const resized = ["layers", "width", "heads", "vocabulary"].some((part) => draft.values.has(`model.${part}`));
  if (parameters === undefined || resized || value("device") === "cpu" || draft.varied.has("model") || draft.varied.has("precision")) return null;
  // Weights that are trained are kept in 32 bits, whatever products are computed in; those below adapters need not be.
  if (value("task") === "lora" || [...draft.values.keys()].some((key) => key.startsWith("lora"))) return { bytes: parameters * 2, parameters, parts: "its frozen weights in 16 bits" };
  const states = { sgd: 0, adam: 8, adamw: 8, adamw_8bit: 2, paged_adamw_8bit: 0 }[value("optimizer") ?? "adamw"];
  const gradients = value("precision")?.endsWith("_all") ? 2 : 4;
  return states === undefined ? null : { bytes: parameters * (4 + gradients + states), parameters, parts: "weights, gradients and the optimiser's states" };
}
