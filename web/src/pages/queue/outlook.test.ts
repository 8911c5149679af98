import { describe, expect, it } from "vitest";
import type { QueuedRun } from "../../api/types";
import { expectedStart, lengthText, partsOf, progressOf, startText } from "./outlook";

const plain = (text: string) => text.replace(/\u202f/g, " ");
const now = new Date(2026, 10, 18, 14, 0, 0).getTime();
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString();

describe("what is to be expected of a run", () => {
  it("has a length with its error, or a guess where nothing was like it", () => {
    expect(plain(lengthText({ seconds: 60, factor: 2, from_runs: 5 }))).toBe("60 s (30 s … 2 min 0 s)");
    expect(plain(lengthText({ seconds: 60, factor: 1, from_runs: 5 }))).toBe("60 s");
    expect(plain(lengthText({ seconds: 60, factor: 3, from_runs: 0 }))).toBe("60 s, a guess");
    expect(lengthText({ seconds: null, factor: null, from_runs: 0 })).toBe("not known");
  });
  it("has a start today, another day, now or never", () => {
    expect(startText(now, now)).toBe("now");
    expect(startText(now + 300_000, now)).toBe("14:05");
    expect(startText(now + 86_400_000, now)).toBe("2026-11-19 14:00");
    expect(startText(NaN, now)).toBe("");
  });
  it("says how late it may become", () => {
    expect(expectedStart({ expected_start: at(300), late_start: at(900) }, now)).toBe("14:05 … 14:15");
    expect(expectedStart({ expected_start: at(300), late_start: at(301) }, now)).toBe("14:05");
    expect(expectedStart({}, now)).toBe("cannot be told");
  });
  it("knows how far it is, and is never done before it has ended", () => {
    const run = { started: at(-30), expected_end: at(30), length: { seconds: 60, factor: 2, from_runs: 1 } };
    expect(progressOf(run, now)).toBeCloseTo(0.5);
    expect(progressOf(run, now + 3_600_000)).toBe(0.99);
    expect(progressOf({ ...run, length: { seconds: 60, factor: 2, from_runs: 0 } }, now)).toBeNull();
    expect(progressOf({ length: run.length }, now)).toBeNull();
  });
});

it("a run with a place goes on, one with a reason waits", () => {
  const run = (id: string, state: QueuedRun["state"], reason?: string) => ({ run: id, state, ...(reason ? { reason } : {}) }) as QueuedRun;
  const parts = partsOf([run("a", "running"), run("b", "queued"), run("c", "queued", "gpus_busy")]);
  expect([parts.going.map((one) => one.run), parts.waiting.map((one) => one.run)]).toEqual([["a", "b"], ["c"]]);
});
