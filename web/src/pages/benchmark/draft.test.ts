import { describe, expect, test } from "vitest";
import { formFields, isEditable, nameFor, settingsAt, textOfOffer, valueIn, withValue, yamlOfSettings } from "./draft";

const text = "kind: train\nmodel: mlp   # small\ncommand:\n  - a\n";

describe("a draft", () => {
  test("is read line by line", () => {
    expect(valueIn(text, "model")).toBe("mlp");
    expect(valueIn(text, "epochs")).toBeNull();
    expect(valueIn('name: "a: b"\n', "name")).toBe("a: b");
  });
  test("is changed where it says it, or at its end", () => {
    expect(withValue(text, "model", "gpt2")).toContain("model: gpt2\n");
    expect(withValue(text, "lora.rank", "8")).toContain("\nlora.rank: 8\n");
    expect(withValue(text, "model", "")).not.toContain("model");
    expect(withValue("kind: train\n", "name", "a: b #c")).toBe('kind: train\nname: "a: b #c"\n');
  });
  test("knows whose a line is", () => {
    const nested = "kind: train\nlora:\n  rank: x\n  alpha: 1\nepochs: -1\n";
    expect([1, 2, 3, 5].map((line) => settingsAt(nested, line))).toEqual([["kind"], ["lora"], ["lora.rank", "lora"], ["epochs"]]);
    expect(settingsAt(text, 4)).toEqual(["command"]);
    expect(settingsAt("- x\n", 1)).toEqual([]);
  });
  test("is left alone where it takes several lines", () => {
    expect(isEditable(text, "command")).toBe(false);
    expect(withValue(text, "command", "x")).toBe(text);
  });
});

test("a form has what fits on a line, with its usual value", () => {
  const fields = formFields({
    kind: { enum: ["train"] },
    lora: { type: "object" },
    "lora.rank": { type: "integer", description: "Rank. Default: 16" },
    precision: { enum: ["fp32", "bf16"], description: "Format." },
    matrix: { type: "array" },
  });
  expect(fields.map(({ key, kind, usual }) => [key, kind, usual])).toEqual([["lora.rank", "number", "16"], ["precision", "choice", ""]]);
});

test("what takes a name or a mapping of one's own is typed, with the names on offer", () => {
  const [limits] = formFields({
    limits: { anyOf: [{ type: "object", additionalProperties: { type: "string" } }, { enum: ["mlperf", "mlperf_interactive"] }] },
  });
  expect(limits?.kind).toBe("text");
  expect(limits?.choices).toEqual(["mlperf", "mlperf_interactive"]);
});

test("settings that are kept in seconds are written with their unit", () => {
  const properties = { epochs: { type: "integer", description: "Default: 10" }, time_limit: { type: "string", pattern: "(ms|s|min|h)" }, params: { type: "object" } };
  const yaml = yamlOfSettings({ kind: "train", epochs: 10, time_limit: 30, tags: [], params: { rate: 0.1 }, unknown: 1 }, properties);
  expect(yaml).toBe('kind: train\ntime_limit: 30s\nparams: {"rate":0.1}\n');
});

test("an offer of the catalog is something to begin from", () => {
  expect(textOfOffer({ name: "gpt", kind: "train", models: ["*", "gpt2*"], datasets: ["text:/data/*"] })).toBe("kind: train\nmodel: gpt2\ndataset: text:/data/\nepochs: 20\nbatch_size: 32\n".replace("text:/data/", '"text:/data/"'));
  expect(textOfOffer({ name: "smi", kind: "command", commands: ["nvidia-smi *"] })).toBe("kind: command\ncommand: nvidia-smi\n");
  expect(textOfOffer({ name: "any", kind: "train" })).toContain("model: mlp");
});

test("what has no name is called by what it does", () => {
  expect(nameFor("kind: train\nmodel: mlp\ndataset: spiral\n")).toBe("mlp on spiral");
  expect(nameFor('kind: train\nmodel: {name: "gpt2", layers: 2}\ntask: lora\n')).toBe("lora gpt2");
  expect(nameFor("kind: serve\nmodel: llama-3.1-8b\n")).toBe("serve llama-3.1-8b");
  expect(nameFor("kind: command\ncommand: [a, b]\n")).toBe("command");
  expect(nameFor("kind: train\nmodel:\n  name: mlp\n")).toBe("train");
  expect(nameFor("kind: train\nname: mine\nmodel: mlp\n")).toBe("");
});
