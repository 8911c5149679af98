import { describe, expect, it } from "vitest";
import {
  durationText,
  flameOf,
  FlameError,
  hitFlame,
  hitTitle,
  layoutFlame,
  paintFlame,
  panned,
  parseFlame,
  wholeView,
  zoomed,
  type Flame,
  type FlameBox,
  type FlameCanvas,
  type FlameLane,
  type FlameTheme,
} from "./flame";

type Event = Record<string, unknown>;
const whole = (name: string, ts: number, dur: number, more: Event = {}): Event => ({ ph: "X", pid: 1, tid: 1, name, ts, dur, ...more });
const begin = (name: string, ts: number, more: Event = {}): Event => ({ ph: "B", pid: 1, tid: 1, name, ts, ...more });
const end = (ts: number, more: Event = {}): Event => ({ ph: "E", pid: 1, tid: 1, ts, ...more });

function only<T>(list: readonly T[]): T {
  expect(list).toHaveLength(1);
  return list[0] as T;
}
const nameOf = (flame: Flame, event: number): string => flame.names[flame.name[event] ?? 0] ?? "";
const rowNames = (flame: Flame, lane: FlameLane): string[][] =>
  lane.rows.map((row) => [...row].map((event) => nameOf(flame, event)));

describe("reading a trace", () => {
  it("nests events by their times, from a list or an object", () => {
    const events = [whole("child", 12, 3), whole("next", 30, 5), whole("parent", 10, 10), whole("grandchild", 13, 1)];
    for (const flame of [flameOf(events), flameOf({ traceEvents: events, other: 1 })]) {
      expect(rowNames(flame, only(flame.lanes))).toEqual([["parent", "next"], ["child"], ["grandchild"]]);
      expect(flame.end).toBe(25);
      expect([...flame.start]).toEqual([2, 20, 0, 3]);
    }
  });

  it("pairs beginnings with ends, and lets what never ended reach to the end", () => {
    const flame = flameOf([
      begin("outer", 0, { args: { a: 1 } }),
      begin("inner", 2),
      end(5),
      end(10, { args: { b: 2 } }),
      begin("lost", 12),
      whole("last", 13, 7),
      end(99, { tid: 2 }),
    ]);
    expect(rowNames(flame, only(flame.lanes))).toEqual([["outer", "lost"], ["inner", "last"]]);
    expect([...flame.duration]).toEqual([10, 3, 8, 7]);
    expect(flame.args[0]).toEqual({ a: 1, b: 2 });
    expect(flame.unfinished).toBe(1);
    expect(flame.ignored).toBe(1);
  });

  it("has a lane for each thread, named and ordered as the trace says", () => {
    const flame = flameOf([
      whole("a", 0, 1, { pid: 10, tid: 2 }),
      whole("b", 0, 1, { pid: 10, tid: 10 }),
      whole("c", 0, 1, { pid: 9, tid: "stream 7" }),
      { ph: "M", name: "process_name", pid: 10, args: { name: "python" } },
      { ph: "M", name: "thread_name", pid: 10, tid: 2, args: { name: "main" } },
      { ph: "M", name: "process_sort_index", pid: 9, args: { sort_index: 5 } },
      { ph: "M", name: "thread_name", pid: 77, tid: 7, args: { name: "without events" } },
    ]);
    expect(flame.lanes.map(({ process, thread }) => `${process}: ${thread}`)).toEqual([
      "python: main",
      "python: thread 10",
      "process 9: thread stream 7",
    ]);
    expect(flame.ignored).toBe(0);
  });

  it("puts what overlaps without nesting one below the other, and neighbours that touch side by side", () => {
    const flame = flameOf([whole("a", 0, 10), whole("b", 5, 10), whole("c", 12, 1), whole("d", 15, 1), whole("e", 15.9995, 1)]);
    expect(rowNames(flame, only(flame.lanes))).toEqual([["a", "d", "e"], ["b"], ["c"]]);
  });

  it("takes two rows for a chain of events of which each overlaps the next", () => {
    const flame = flameOf(Array.from({ length: 100 }, (_, i) => whole("link", 10 * i, 15)));
    expect(only(flame.lanes).rows.map((row) => row.length)).toEqual([50, 50]);
  });

  it("ignores what it cannot show, and takes what nobody closed", () => {
    const flame = flameOf([
      { ph: "C", name: "counter", ts: 1 },
      { ph: "s", id: 1, ts: 1 },
      whole("bad", NaN, 1),
      whole("backwards", 1, -1),
      null,
      "text",
      whole("good", 1, 1, { name: undefined }),
    ]);
    expect(flame.ignored).toBe(6);
    expect(rowNames(flame, only(flame.lanes))).toEqual([["(no name)"]]);
    expect(only(parseFlame('[{"ph":"X","name":"a","ts":"1","dur":2,"pid":1,"tid":1},\n').lanes).rows).toHaveLength(1);
    expect(flameOf([]).end).toBe(0);
  });

  it("says what is no trace", () => {
    expect(() => parseFlame("step,loss")).toThrow(FlameError);
    expect(() => parseFlame('{"a": 1}')).toThrow("no list of events");
    expect(() => parseFlame("3")).toThrow("no list of events");
    expect(() => parseFlame('[{"ph": "X"')).toThrow("no JSON");
  });
});

/** The same numbers each time. */
function* numbers(): Generator<number, never> {
  let state = 42;
  for (;;) {
    state = (state * 1664525 + 1013904223) % 4294967296;
    yield state / 4294967296;
  }
}

function randomFlame(count: number): Flame {
  const random = numbers();
  const next = (): number => random.next().value;
  return flameOf(
    Array.from({ length: count }, () => {
      const length = next() < 0.02 ? 3000 * next() : 4 * next();
      return whole(`n${Math.floor(next() * 20)}`, 10_000 * next(), length, { tid: Math.floor(next() * 3) });
    }),
  );
}

const countOf = (boxes: FlameBox[]): number => boxes.reduce((sum, box) => sum + box.count, 0);

describe("laying a trace out", () => {
  it("shows every event once, and never two at one place", () => {
    const flame = randomFlame(20_000);
    const layout = layoutFlame(flame, wholeView(flame, 800, 1e6));
    expect(countOf(layout.boxes)).toBe(20_000);
    expect(layout.boxes.length).toBeLessThan(20_000);
    const wrong = layout.boxes.filter((box, i) => {
      const before = layout.boxes[i - 1];
      // A box of a pixel may begin within the last pixel of the one before it.
      const overlaps = before !== undefined && before.y === box.y && box.x <= before.x + before.width - 1.01;
      return overlaps || box.width <= 0 || box.x < 0 || box.x + box.width > 801;
    });
    expect(wrong).toEqual([]);
  });

  it("has no more boxes in a row than two for each pixel, however many events", () => {
    const flame = flameOf(Array.from({ length: 50_000 }, (_, i) => whole("tick", i, 0.5)));
    const layout = layoutFlame(flame, wholeView(flame, 500, 300));
    expect(layout.boxes.length).toBeLessThanOrEqual(1000);
    expect(countOf(layout.boxes)).toBe(50_000);
  });

  it("keeps a long event beside short ones, also one that began before the view", () => {
    const flame = flameOf([whole("short", 0, 0.1), whole("short", 0.2, 0.1), whole("long", 0.4, 500), whole("late", 900, 100)]);
    const labels = (view: { begin: number; end: number }): [string, number, number, number][] =>
      layoutFlame(flame, { ...view, width: 1000, height: 200, top: 0 }).boxes.map((box) => [box.label, box.x, box.width, box.count]);
    expect(labels({ begin: 0, end: 1000 })).toEqual([
      ["short", 0, 1, 2],
      ["long", 0.4, 500, 1],
      ["late", 900, 100, 1],
    ]);
    expect(labels({ begin: 100, end: 200 })).toEqual([["long", 0, 1000, 1]]);
    expect(labels({ begin: 600, end: 800 })).toEqual([]);
  });

  it("leaves out what is scrolled away or folded, and knows how high everything is", () => {
    const flame = flameOf([whole("a", 0, 10), whole("b", 1, 2), whole("c", 0, 10, { tid: 2 })]);
    const view = { ...wholeView(flame, 100, 60), top: 0 };
    const all = layoutFlame(flame, { ...view, height: 500 });
    expect(all.boxes.map(({ label, y }) => [label, y])).toEqual([["a", 42], ["b", 60], ["c", 100]]);
    expect(all.contentHeight).toBe(20 + 2 * 22 + 3 * 18);
    expect(layoutFlame(flame, view).boxes.map(({ label }) => label)).toEqual(["a"]);
    expect(layoutFlame(flame, { ...view, top: 60 }).boxes.map(({ label }) => label)).toEqual(["c"]);
    const folded = layoutFlame(flame, { ...view, height: 500 }, new Set(["1/1"]));
    expect(folded.boxes.map(({ label, y }) => [label, y])).toEqual([["c", 64]]);
    expect(hitTitle(folded, 21)?.folded).toBe(true);
    expect(hitTitle(folded, 10)).toBeUndefined();
  });

  it("zooms around the mouse and stays within the trace", () => {
    const flame = flameOf([whole("a", 0, 1000)]);
    const view = wholeView(flame, 500, 100);
    const closer = zoomed(flame, view, 4, 250);
    expect([closer.begin, closer.end]).toEqual([375, 625]);
    expect(panned(flame, closer, 100, 0)).toMatchObject({ begin: 325, end: 575 });
    expect(panned(flame, closer, 1e6, 5)).toMatchObject({ begin: 0, end: 250, top: 0 });
    expect(panned(flame, closer, -1e6, -7)).toMatchObject({ begin: 750, end: 1000, top: 7 });
    expect(zoomed(flame, closer, 0.001, 0)).toMatchObject({ begin: 0, end: 1000 });
    const closest = zoomed(flame, view, 1e12, 0);
    expect(closest.end - closest.begin).toBeCloseTo(0.01);
  });

  it("marks round times that can be told apart", () => {
    const flame = flameOf([whole("a", 0, 10_000_000)]);
    const texts = (begin: number, end: number): string[] =>
      layoutFlame(flame, { begin, end, width: 550, height: 100, top: 0 }).ticks.map(({ text }) => text);
    expect(texts(0, 10_000_000)).toEqual(["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]);
    expect(texts(5_000_000, 5_001_000)).toEqual(["5000.0 ms", "5000.2 ms", "5000.4 ms", "5000.6 ms", "5000.8 ms", "5001.0 ms"]);
    const fine = texts(1234.5, 1234.6);
    expect(fine.length).toBeGreaterThan(3);
    expect(new Set(fine).size).toBe(fine.length);
  });
});

describe("pointing at it", () => {
  it("finds each box where it is", () => {
    const flame = randomFlame(3000);
    const layout = layoutFlame(flame, wholeView(flame, 700, 1e6));
    for (const box of layout.boxes.filter(({ width }) => width > 3)) {
      expect(hitFlame(layout, box.x + box.width / 2, box.y + 1)).toBe(box);
    }
  });

  it("helps with what is too small to point at, and finds nothing where nothing is", () => {
    const flame = flameOf([whole("tiny", 500, 0.01), whole("a", 0, 100), whole("b", 900, 100)]);
    const layout = layoutFlame(flame, wholeView(flame, 1000, 200));
    expect(hitFlame(layout, 499, 45)?.label).toBe("tiny");
    expect(hitFlame(layout, 480, 45)).toBeUndefined();
    expect(hitFlame(layout, 50, 65)).toBeUndefined();
    expect(hitFlame(layout, 50, 5)).toBeUndefined();
  });

  it("says durations as people do", () => {
    expect([0, 0.5, 1, 999, 1500, 2_345_678].map(durationText)).toEqual(["0 ns", "500 ns", "1 µs", "999 µs", "1.5 ms", "2.35 s"]);
  });
});

/** Notes what is painted. */
class Recorder implements FlameCanvas {
  fillStyle = "";
  strokeStyle = "";
  font = "";
  textBaseline: CanvasTextBaseline = "top";
  globalAlpha = 1;
  readonly rects: [string, number, number][] = [];
  readonly texts: string[] = [];
  readonly outlines: number[] = [];
  fillRect(x: number, _y: number, width: number): void {
    this.rects.push([this.fillStyle, x, width]);
  }
  strokeRect(x: number): void {
    this.outlines.push(x);
  }
  fillText(text: string): void {
    this.texts.push(text);
  }
  measureText(text: string): TextMetrics {
    return { width: 7 * text.length } as TextMetrics;
  }
}

const theme: FlameTheme = {
  background: "white",
  raised: "silver",
  text: "black",
  muted: "gray",
  grid: "beige",
  outline: "red",
  fills: [
    { fill: "blue", text: "white" },
    { fill: "green", text: "white" },
  ],
  font: "11px sans-serif",
};

describe("painting it", () => {
  it("paints boxes in the colours of their names, with as much of a name as fits", () => {
    const flame = flameOf([whole("aten::convolution", 0, 100), whole("relu", 100, 900), whole("aten::convolution", 200, 20)]);
    const layout = layoutFlame(flame, wholeView(flame, 1000, 200));
    const ctx = new Recorder();
    paintFlame(ctx, layout, theme, layout.boxes[1]);
    const boxes = ctx.rects.filter(([colour]) => colour === "blue" || colour === "green");
    expect(boxes).toEqual([
      ["blue", 0, 99.5],
      ["green", 100, 899.5],
      ["blue", 200, 19.5],
    ]);
    expect(ctx.texts).toContain("relu");
    expect(ctx.texts).toContain("aten::convol…");
    expect(ctx.texts).toContain("▾ process 1 · thread 1");
    expect(ctx.texts).toContain("0.2 ms");
    expect(ctx.outlines).toEqual([100.5]);
  });
});
