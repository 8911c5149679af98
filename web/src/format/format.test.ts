import { describe, expect, test } from "vitest";
import { csv, csvCell } from "./csv";
import { strokeName } from "./palette";
import { ago, localised, readRange, readSpan, stamp, writeRange } from "./time";
import { duration, plainFigures, quantity, tickLabels } from "./units";

const plain = (text: string) => text.replace(/\u202f/g, " ");

describe("labels along an axis", () => {
  test("are told apart", () => {
    expect(tickLabels([1.3401 * 2 ** 30, 1.3402 * 2 ** 30], "B").map(plain)).toEqual(["1.3401 GiB", "1.3402 GiB"]);
    expect(tickLabels([0, 0.2, null], "ratio").map(plain)).toEqual(["0 %", "20 %", ""]);
    expect(tickLabels([10_000, 20_000], "samples/s").map(plain)).toEqual(["10,000", "20,000"]);
  });
  test("of many cells have one unit", () => {
    const written = (values: (number | null)[], unit: string) => {
      const figures = plainFigures(values, unit);
      return { texts: values.map(figures.text), unit: figures.unit };
    };
    expect(written([0, 512 * 2 ** 20, 3.92 * 2 ** 30, null], "B")).toEqual({ texts: ["0.00", "0.50", "3.92", "–"], unit: "GiB" });
    expect(written([0.702, 1, NaN], "ratio")).toEqual({ texts: ["70", "100", "–"], unit: "%" });
    expect(written([61.4, null], "°C")).toEqual({ texts: ["61", "–"], unit: "°C" });
  });
});

describe("quantities", () => {
  test("have their unit", () => {
    expect(plain(quantity(0.832, "ratio"))).toBe("83.2 %");
    expect(plain(quantity(1.5 * 2 ** 30, "B"))).toBe("1.5 GiB");
    expect(plain(quantity(12_340, "tok/s"))).toBe("12,340 tok/s");
    expect(plain(quantity(668_060))).toBe("668,060");
    expect(plain(quantity(22_915.34, "samples/s"))).toBe("22,915 samples/s");
    expect(plain(quantity(3.5, "USD/GPUh"))).toBe("3.50 USD/GPUh");
    expect(plain(quantity(0.2855, "EUR/kWh"))).toBe("0.2855 EUR/kWh");
    expect(plain(quantity(340, "W"))).toBe("340 W");
    expect(plain(quantity(0.0133))).toBe("0.0133");
    expect(plain(quantity(4, "GPUs"))).toBe("4 GPUs");
  });
  test("that are not known are a dash", () => {
    for (const nothing of [null, undefined, NaN, Infinity]) expect(quantity(nothing, "W")).toBe("–");
  });
  test("of time are read at a glance", () => {
    expect(plain(duration(0.00025))).toBe("250 µs");
    expect(plain(duration(61))).toBe("61 s");
    expect(plain(duration(3725))).toBe("1 h 2 min");
    expect(plain(duration(-200))).toBe("−3 min 20 s");
    expect(plain(duration(90_000))).toBe("1 d 1 h");
  });
});

describe("ranges of time", () => {
  test("are spans that end now, or fixed", () => {
    expect(readRange("15min", 1_000_000_000)).toEqual({ from: 999_100_000, to: 1_000_000_000 });
    expect(readRange("5..9", 100)).toEqual({ from: 5, to: 9 });
    expect(readRange(writeRange({ from: 5.4, to: 9.6 }), 0)).toEqual({ from: 5, to: 10 });
  });
  test("that cannot be read are the usual one", () => {
    for (const bad of ["9..5", "x", "", "15 min", "-1h"]) expect(readRange(bad, 1e9).to - readRange(bad, 1e9).from).toBe(900_000);
    expect(readSpan("2w")).toBe(1_209_600_000);
  });
  test("are told from now", () => {
    expect(ago(1000, 2000)).toBe("just now");
    expect(ago(0, 600_000)).toBe("10 min ago");
    expect(ago(NaN)).toBe("–");
  });
});

describe("CSV", () => {
  test("quotes what needs it and defuses formulas", () => {
    expect(csvCell('say "a", b')).toBe('"say ""a"", b"');
    expect(csvCell("=HYPERLINK(1)")).toBe("'=HYPERLINK(1)");
    expect(csvCell(-1.5)).toBe("-1.5");
    expect(csvCell("-1.5")).toBe("-1.5");
    expect(csv(["a"], [[null], ["x\ny"]])).toBe('a\r\n\r\n"x\ny"\r\n');
  });
});

test("thirty-two lines differ by colour or dash", () => {
  const seen = new Set(Array.from({ length: 32 }, (_, i) => JSON.stringify(strokeName(i))));
  expect(seen.size).toBe(32);
});

test("times in texts are those of the browser's zone", () => {
  const at = "2026-11-18T20:48:10.218Z";
  expect(localised(`heard at ${at}.`)).toBe(`heard at ${stamp(Date.parse(at))}.`);
  expect(localised("no time 2026")).toBe("no time 2026");
});
