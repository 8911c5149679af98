import { describe, expect, it } from "vitest";
import type { Run } from "../../api/types";
import { estimateOf, gpusOf, isAlike, isSame, priceInBook, readPrice, settingsIn, spreadOf } from "./estimate";

const made = (spec: Record<string, unknown>, more: Partial<Run> = {}): Run => ({
  schema: 1, id: "r", name: "", kind: "train", tags: [], state: "ended", verdict: "valid", ranks: 1, nodes: 1, flags: [], duration_seconds: 10,
  metrics: {}, series: [], spec, spec_hash: "", provenance: {}, ...more,
});
const spec = { kind: "train", name: "x", seed: 7, model: { name: "mlp", hidden: [64, 32] }, batch_size: 32, learning_rate: 0.001, precision: "fp32", epochs: 10 };
const properties = { batch_size: { description: "Samples. Default: 32" }, learning_rate: { description: "Default: 1e-3" }, precision: { description: "Default: fp32" }, "model.hidden": { description: "Widths. Default: [64, 32]" } };

describe("settingsIn", () => {
  it("reads lines, nesting and inline maps", () => {
    const { values, unread } = settingsIn("kind: train  # what\nmodel:\n  name: mlp\n  hidden: [1, 2]\ndata: {workers: 2, sizes: [1, 2]}\nlora.rank: 8\nname: 'a b'\n");
    expect([...values]).toEqual([["kind", "train"], ["model.name", "mlp"], ["model.hidden", "[1, 2]"], ["data.workers", "2"], ["data.sizes", "[1, 2]"], ["lora.rank", "8"], ["name", "a b"]]);
    expect(unread).toEqual([]);
  });
  it("knows what a study varies", () => {
    expect([...settingsIn("sweep:\n  batch_size: [16, 32]\n  params.rate:\n    - 1\n").varied]).toEqual(["batch_size", "params.rate"]);
    expect([...settingsIn("matrix: {precision: [fp32, bf16]}\n").varied]).toEqual(["precision"]);
    expect([...settingsIn("scale: [1, 2, 4]\n").varied]).toEqual(["ranks"]);
  });
  it("names what it cannot read", () => {
    expect(settingsIn("command:\n  - python3\n  - train.py\n").unread).toEqual(["command"]);
    expect(settingsIn("command: |\n  a: b\n  c\nnotes: |\n  anything\n").unread).toEqual(["command"]);
  });
});

describe("isSame", () => {
  it("knows values in other words", () => {
    for (const [written, kept] of [["1e-3", "0.001"], ["2min", "120"], ["1 GiB", "1073741824"], ["[1, 2]", "[1,2]"], ["true", "true"], ["20/s", "20"], ["10%", "0.1"]] as const) expect(isSame(written, kept)).toBe(true);
    for (const [written, kept] of [["1e-3", "0.002"], ["mlp", "gpt2"], ["[1]", "[1,2]"], ["2 miles", "2"], ["0", ""]] as const) expect(isSame(written, kept)).toBe(false);
  });
});

describe("isAlike", () => {
  const alike = (text: string, of: Record<string, unknown> = spec) => isAlike(settingsIn(text), made(of), properties);
  it("asks that what is written is the same", () => {
    expect(alike("kind: train\nmodel: mlp\nepochs: 10\n")).toBe(true);
    expect(alike("kind: train\nmodel: gpt2\nepochs: 10\n")).toBe(false);
    expect(alike("kind: train\nmodel: mlp\nepochs: 10\nlora.rank: 8\n")).toBe(false);
  });
  it("asks that what is not written is the default", () => {
    expect(alike("model: mlp\nepochs: 10\n", { ...spec, batch_size: 64 })).toBe(false);
    expect(alike("model: mlp\nepochs: 10\n", { ...spec, model: { name: "mlp", hidden: [8] } })).toBe(false);
    expect(alike("model: mlp\nepochs: 10\n", { ...spec, steps: 5 })).toBe(false);
  });
  it("lets names, seeds and what is varied be anything", () => {
    expect(alike("model: mlp\nname: other\nseed: 1\nprice: 1 USD/h\nepochs: 10\nsweep:\n  batch_size: [16, 64]\n", { ...spec, batch_size: 64 })).toBe(true);
  });
});

describe("spreadOf", () => {
  it("has the median and the middle half, or all of a few", () => {
    expect(spreadOf([4, 1, 3, 2, 5])).toEqual({ median: 3, low: 2, high: 4, n: 5 });
    expect(spreadOf([1, 2, null, NaN])).toEqual({ median: 1.5, low: 1, high: 2, n: 2 });
    expect(spreadOf([])).toBeNull();
  });
});

describe("estimateOf", () => {
  const gpus = [{ uuid: "a", name: "H", memory_bytes: 1 }, { uuid: "b", name: "H", memory_bytes: 1 }];
  it("says nothing without a run that may be used", () => {
    expect(estimateOf([], null, 1)).toBeNull();
    expect(estimateOf([made(spec, { verdict: "failed" }), made(spec, { state: "running" })], null, 1)).toBeNull();
  });
  it("has time, memory and the cost of all runs", () => {
    const run = (seconds: number) => made(spec, { duration_seconds: seconds, ranks: 2, metrics: { gpu_memory_peak_bytes: 100 }, provenance: { hostname: "n1", gpus } });
    expect(estimateOf([run(3600), run(7200), run(10800)], readPrice("0.60 USD/GPUh"), 3)).toMatchObject({
      time: { median: 7200, n: 3 }, memory: { median: 100 }, cost: { median: 0.6 * 2 * 2 * 3 }, currency: "USD", hosts: ["n1"],
    });
  });
  it("has no cost per GPU where there was none, and one per node all the same", () => {
    const run = made(spec, { duration_seconds: 3600, nodes: 2 });
    expect(estimateOf([run], readPrice("1 EUR/GPUh"), 1)?.cost).toBeNull();
    expect(estimateOf([run], readPrice("1 EUR/h"), 1)?.cost?.median).toBe(2);
    expect(estimateOf([run], null, 1)?.cost).toBeNull();
  });
  it("counts the GPUs of a run", () => {
    expect(gpusOf(made({ device: "cpu" }, { provenance: { gpus } }))).toBe(0);
    expect(gpusOf(made({}, { placement: { gpus: ["a", "b"] }, provenance: { gpus } }))).toBe(2);
    expect(gpusOf(made({}, { ranks: 4, provenance: { gpus } }))).toBe(4);
  });
  it("takes a price from the book for the GPUs of those runs, and says so", () => {
    const book = { gpus: [{ name: "H", count: 2, price: { gpu: "H*", on_demand: 3, spot: 1, currency: "USD", source: "a list" } }, { name: "T", count: 1, price: { gpu: "T", spot: 0.5, currency: "EUR" } }, { name: "U", count: 1, price: null }] };
    const on = (...names: string[]) => made(spec, { provenance: { gpus: names.map((name) => ({ uuid: name, name, memory_bytes: 1 })) } });
    expect(priceInBook([on("H", "H"), on("H")], book)).toEqual({ price: { amount: 3, currency: "USD", per: "GPUh" }, origin: "price book, H*: a list" });
    expect(priceInBook([on("T")], book)).toEqual({ price: { amount: 0.5, currency: "EUR", per: "GPUh" }, origin: "price book, T, spot" });
    for (const none of [[on("U")], [on("H"), on("T")], [on()], []]) expect(priceInBook(none, book)).toBeNull();
    expect(priceInBook([on("H")], undefined)).toBeNull();
  });
  it("reads prices", () => expect([readPrice("2 USD/h"), readPrice("2/h"), readPrice(undefined)]).toEqual([{ amount: 2, currency: "USD", per: "h" }, null, null]));
});
