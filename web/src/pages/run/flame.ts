// A Chrome trace as a flame view. Pure functions from a trace to a picture; whoever mounts it owns the canvas, the view and
// the mouse. x and y are CSS pixels.

import type { Flame, FlameLane } from "./flame_trace";

export * from "./flame_trace";

/** What of a trace is to be seen. */
export interface FlameView {
  /** Times at the left and at the right edge. */
  begin: number;
  end: number;
  width: number;
  height: number;
  /** How far it is scrolled down. */
  top: number;
}

export interface FlameSizes {
  row: number;
  /** Of a lane's title. */
  title: number;
  /** Of the ruler above everything. */
  ruler: number;
}
export const kFlameSizes: FlameSizes = { row: 18, title: 22, ruler: 20 };

/** One rectangle: an event, or several of which none is a pixel wide. */
export interface FlameBox {
  x: number;
  y: number;
  width: number;
  height: number;
  /** The event, or the first of them. */
  event: number;
  count: number;
  lane: FlameLane;
  label: string;
  /** The same for the same name, wherever it is: a number to choose a colour by. */
  hue: number;
}
export interface FlameTitle {
  y: number;
  height: number;
  text: string;
  lane: FlameLane;
  folded: boolean;
}
export interface FlameTick {
  x: number;
  text: string;
}
export interface FlameLayout {
  view: FlameView;
  sizes: FlameSizes;
  /** By row, from left to right. */
  boxes: FlameBox[];
  titles: FlameTitle[];
  ticks: FlameTick[];
  /** Of everything, seen or not: how far one can scroll. */
  contentHeight: number;
}

/** The whole trace in a picture of this size. */
export function wholeView(flame: Flame, width: number, height: number): FlameView {
  return { begin: 0, end: Math.max(flame.end, 1), width, height, top: 0 };
}

// No clock of a trace is finer than a nanosecond.
const kShortestSpan = 0.01;

/** Closer by `factor` (further away below 1), with what is at `x` staying where it is; never beyond the trace. */
export function zoomed(flame: Flame, view: FlameView, factor: number, x: number): FlameView {
  const span = view.end - view.begin;
  const wanted = Math.min(Math.max(span / factor, kShortestSpan), Math.max(flame.end, 1));
  const middle = view.begin + (span * x) / view.width;
  return within(flame, { ...view, begin: middle - (wanted * x) / view.width }, wanted);
}

/** Moved by so many pixels: what was at `x` is at `x + dx`. */
export function panned(flame: Flame, view: FlameView, dx: number, dy: number): FlameView {
  const span = view.end - view.begin;
  return within(flame, { ...view, begin: view.begin - (span * dx) / view.width, top: Math.max(0, view.top - dy) }, span);
}

function within(flame: Flame, view: FlameView, span: number): FlameView {
  const begin = Math.max(0, Math.min(view.begin, Math.max(flame.end, 1) - span));
  return { ...view, begin, end: begin + span };
}

/** What is to be painted of a view: a few rectangles for each pixel at most, however many events there are. */
export function layoutFlame(
  flame: Flame,
  view: FlameView,
  folded: ReadonlySet<string> = new Set(),
  sizes: FlameSizes = kFlameSizes,
): FlameLayout {
  const layout: FlameLayout = { view, sizes, boxes: [], titles: [], ticks: ticksOf(view), contentHeight: 0 };
  const isSeen = (y: number, height: number): boolean => y + height > sizes.ruler && y < view.height;
  let y = sizes.ruler - view.top;
  for (const lane of flame.lanes) {
    const isFolded = folded.has(lane.key);
    if (isSeen(y, sizes.title)) {
      layout.titles.push({ y, height: sizes.title, text: `${lane.process} · ${lane.thread}`, lane, folded: isFolded });
    }
    y += sizes.title;
    for (const row of isFolded ? [] : lane.rows) {
      if (isSeen(y, sizes.row)) layoutRow(flame, lane, row, y, layout);
      y += sizes.row;
    }
  }
  layout.contentHeight = y + view.top;
  return layout;
}

function layoutRow(flame: Flame, lane: FlameLane, row: Uint32Array, y: number, layout: FlameLayout): void {
  const { view, sizes, boxes } = layout;
  const scale = view.width / (view.end - view.begin);
  const startOf = (i: number): number => flame.start[row[i] ?? 0] ?? 0;
  const widthOf = (i: number): number => (flame.duration[row[i] ?? 0] ?? 0) * scale;
  const xOf = (i: number): number => (startOf(i) - view.begin) * scale;
  // The one before the first that begins within the view may reach into it.
  let i = Math.max(0, firstFrom(row, flame.start, view.begin, 0) - 1);
  if (startOf(i) < view.begin && xOf(i) + widthOf(i) <= 0) i += 1;
  while (i < row.length && startOf(i) < view.end) {
    let next = i + 1;
    let left = Math.max(0, xOf(i));
    let right = Math.min(view.width, xOf(i) + widthOf(i));
    if (widthOf(i) < 1) {
      // All that begin within this pixel, but for the last of them, which may be long: only it can be.
      left = Math.max(0, Math.floor(xOf(i)));
      right = left + 1;
      next = Math.max(next, firstFrom(row, flame.start, view.begin + right / scale, next));
      if (next - i > 1 && widthOf(next - 1) >= 1) next -= 1;
    }
    const event = row[i] ?? 0;
    const hue = flame.name[event] ?? 0;
    const label = flame.names[hue] ?? "";
    boxes.push({ x: left, y, width: right - left, height: sizes.row, event, count: next - i, lane, label, hue });
    i = next;
  }
}

/** The place of the first event of a row, not before place `from`, that begins at `time` or later. */
function firstFrom(row: Uint32Array, start: Float64Array, time: number, from: number): number {
  const isBefore = (place: number): boolean => (start[row[place] ?? 0] ?? 0) < time;
  // It is near, nearly always: in steps that double first, then between the last two.
  let [low, step] = [from, 1];
  while (low + step <= row.length && isBefore(low + step - 1)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, row.length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What is at a place of the picture; the widest where several are near, since nobody points at less than a pixel. */
export function hitFlame(layout: FlameLayout, x: number, y: number): FlameBox | undefined {
  const kNear = 1.5;
  if (y < layout.sizes.ruler) return undefined;
  let best: FlameBox | undefined;
  for (const box of layout.boxes) {
    if (y < box.y || y >= box.y + box.height) continue;
    if (x >= box.x && x < box.x + box.width) return box;
    const isNear = x >= box.x - kNear && x < box.x + box.width + kNear;
    if (isNear && (!best || box.width > best.width)) best = box;
  }
  return best;
}

/** The lane whose title is at a place: to fold it or unfold it. */
export function hitTitle(layout: FlameLayout, y: number): FlameTitle | undefined {
  if (y < layout.sizes.ruler) return undefined;
  return layout.titles.find((title) => y >= title.y && y < title.y + title.height);
}

/** `1.5 ms`, with as many digits as three say. */
export function durationText(micros: number): string {
  const units: [number, string][] = [
    [1e6, "s"],
    [1e3, "ms"],
    [1, "µs"],
  ];
  const [factor, unit] = units.find(([least]) => Math.abs(micros) >= least) ?? [1e-3, "ns"];
  return `${Number((micros / factor).toPrecision(3))} ${unit}`;
}

/** Round times, some hundred pixels apart. */
function ticksOf(view: FlameView): FlameTick[] {
  const kApart = 110;
  const span = view.end - view.begin;
  const least = (span * kApart) / view.width;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5].find((digit) => digit * power >= least) ?? 10) * power;
  const ticks: FlameTick[] = [];
  for (let n = Math.ceil(view.begin / step); n * step <= view.end; n += 1) {
    ticks.push({ x: ((n * step - view.begin) / span) * view.width, text: tickText(n * step, step) });
  }
  return ticks;
}

/** Far from the beginning three digits do not tell one tick from the next. */
function tickText(micros: number, step: number): string {
  const [factor, unit] = step >= 1e5 ? [1e6, "s"] : step >= 100 ? [1e3, "ms"] : [1, "µs"];
  const digits = Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9));
  return `${(micros / factor).toFixed(digits)} ${unit}`;
}

/** Colours as CSS has them. */
export interface FlameTheme {
  background: string;
  /** Of titles and of the ruler. */
  raised: string;
  text: string;
  muted: string;
  grid: string;
  /** Of what is pointed at. */
  outline: string;
  /** Of boxes, by name; at least one. */
  fills: { fill: string; text: string }[];
  font: string;
}

/** The part of a canvas that is needed. */
export type FlameCanvas = Pick<
  CanvasRenderingContext2D,
  "fillStyle" | "strokeStyle" | "font" | "textBaseline" | "globalAlpha" | "fillRect" | "strokeRect" | "fillText" | "measureText"
>;

/** Paints all of it; the canvas is scaled for the screen already. */
export function paintFlame(ctx: FlameCanvas, layout: FlameLayout, theme: FlameTheme, pointed?: FlameBox): void {
  const { view, sizes } = layout;
  ctx.globalAlpha = 1;
  ctx.font = theme.font;
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.background;
  ctx.fillRect(0, 0, view.width, view.height);
  ctx.fillStyle = theme.grid;
  for (const tick of layout.ticks) ctx.fillRect(Math.round(tick.x), sizes.ruler, 1, view.height - sizes.ruler);
  const letter = ctx.measureText("etaoin shrdlu").width / 13;
  for (const box of layout.boxes) paintBox(ctx, box, theme, letter);
  for (const title of layout.titles) {
    ctx.fillStyle = theme.raised;
    ctx.fillRect(0, title.y, view.width, title.height);
    ctx.fillStyle = theme.text;
    ctx.fillText(`${title.folded ? "▸" : "▾"} ${title.text}`, 6, title.y + title.height / 2);
  }
  if (pointed) {
    ctx.strokeStyle = theme.outline;
    ctx.strokeRect(pointed.x + 0.5, pointed.y + 0.5, Math.max(1, pointed.width - 1), pointed.height - 2);
  }
  // Last: what is scrolled passes below it.
  ctx.fillStyle = theme.raised;
  ctx.fillRect(0, 0, view.width, sizes.ruler);
  ctx.fillStyle = theme.muted;
  for (const tick of layout.ticks) ctx.fillText(tick.text, tick.x + 3, sizes.ruler / 2);
}

function paintBox(ctx: FlameCanvas, box: FlameBox, theme: FlameTheme, letter: number): void {
  const colour = theme.fills[box.hue % theme.fills.length];
  if (!colour) return;
  ctx.fillStyle = colour.fill;
  // Several in one pixel are a little fainter than one that fills it.
  ctx.globalAlpha = box.count > 1 ? 0.6 : 1;
  // A gap between neighbours, where there is room for one.
  ctx.fillRect(box.x, box.y, box.width > 3 ? box.width - 0.5 : box.width, box.height - 1);
  ctx.globalAlpha = 1;
  const kMargin = 4;
  const letters = Math.floor((box.width - 2 * kMargin) / letter);
  if (letters < 3) return;
  const text = box.label.length <= letters ? box.label : `${box.label.slice(0, letters - 1)}…`;
  ctx.fillStyle = colour.text;
  ctx.fillText(text, box.x + kMargin, box.y + box.height / 2, box.width - 2 * kMargin);
}
