import { describe, expect, it } from "vitest";
import type { Run } from "../../api/types";
import { alikeIn, estimateOf as estimateOfAlike, gpusOf, isAlike, isSame, leastMemory, priceInBook, readPrice, settingsIn, spreadOf } from "./estimate";

const estimateOf = (runs: Run[], ...more: [Parameters<typeof estimateOfAlike>[1], number]) => estimateOfAlike(runs.map((run) => ({ run, scale: 1 })), ...more);
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
  });
  it("lets names, seeds and what is varied be anything", () => {
    expect(alike("model: mlp\nname: other\nseed: 1\nprice: 1 USD/h\nepochs: 10\nsweep:\n  batch_size: [16, 64]\n", { ...spec, batch_size: 64 })).toBe(true);
  });
});

describe("alikeIn", () => {
  const lengths = { ...properties, epochs: { description: "Default: 10" }, learning_rate: { description: "Default: 1e-3" } };
  const run = (seconds: number, training: number, more: Record<string, unknown>) => made({ ...spec, ...more }, { duration_seconds: seconds, metrics: { train_seconds: training } });
  const estimate = (text: string, runs: Run[]) => estimateOfAlike(alikeIn(settingsIn(text), runs, lengths), null, 1);
  it("scales the time of training, not what comes before and after it", () => {
    expect(estimate("model: mlp\nepochs: 50\n", [run(14, 10, { epochs: 10 })])).toMatchObject({ time: { median: 54 }, scaled: true });
    expect(estimate("model: mlp\nsteps: 200\n", [run(14, 10, { steps: 100, epochs: null })])).toMatchObject({ time: { median: 24 }, scaled: true });
  });
  it("prefers runs of the same length, whatever their learning rate and seed", () => {
    expect(estimate("model: mlp\nepochs: 10\nlearning_rate: 0.1\nseed: 9\n", [run(14, 10, { epochs: 10 }), run(40, 36, { epochs: 40 })])).toMatchObject({ time: { median: 14, n: 1 }, scaled: false });
    expect(estimate("model: mlp\n", [run(14, 10, { epochs: 10, learning_rate: 0.5 })])).toMatchObject({ time: { median: 14 }, scaled: false });
  });
  it("does not compare steps with epochs", () => expect(estimate("model: mlp\nepochs: 10\n", [run(14, 10, { steps: 5 })])).toBeNull());
});

describe("leastMemory", () => {
  const of = (text: string) => leastMemory(settingsIn(text))?.bytes;
  it("counts what must fit, from the number in the model's name", () => {
    expect(of("model: llama-3.1-8b\n")).toBe(8e9 * 16);
    expect(of("model: llama-3.1-8b\nprecision: bf16_all\noptimizer: sgd\n")).toBe(8e9 * 6);
    expect(of("model: {name: mistral-7b}\ntask: lora\n")).toBe(7e9 * 2);
    expect(of("model: tinyllama-1.1b\noptimizer: adamw_8bit\n")).toBe(1.1e9 * 10);
  });
  it("says nothing where it is not told", () => {
    for (const text of ["model: gpt2-xl\n", "model: mlp\n", "model: {name: llama-3.1-8b, layers: 2}\n", "model: llama-3.1-8b\ndevice: cpu\n"]) expect(of(text)).toBeUndefined();
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
