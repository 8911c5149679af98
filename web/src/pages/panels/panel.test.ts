import { describe, expect, it } from "vitest";
import { readHash, writeHash } from "../../router/hash";
import { contentOf, hasPanel, isSaved, keptIn, panelIn, panelOf, queryOf, titleOf, type Panel } from "./panel";

const full: Panel = { title: "Loss & more", metrics: ["loss", "val_loss"], runs: [], filter: 'tag="a b" metrics.loss<1', axis: "wall", smoothing: 0.5, logarithmic: true, most: 12 };

describe("a panel in an address", () => {
  it("comes back whole", () => expect(panelOf(readHash(writeHash("/panels", queryOf(full))).query)).toEqual(full));
  it("is short where all is usual", () => {
    expect(writeHash("/panels", queryOf(panelOf({ metrics: "loss" })))).toBe("#/panels?metrics=loss");
    expect(writeHash("/panels", queryOf(panelOf({})))).toBe("#/panels?new=1");
  });
  it("can be drawn whatever was written", () => {
    expect(panelOf({ axis: "sideways", smooth: "NaN", most: "1e9", metrics: ",loss, loss,,", runs: "a,b" })).toMatchObject({ axis: "step", smoothing: 0, most: 24, metrics: ["loss"], runs: ["a", "b"] });
    expect(panelOf({ smooth: "7", most: "-3" })).toMatchObject({ smoothing: 0.98, most: 1 });
  });
  it("is told from the list", () => {
    expect(hasPanel({})).toBe(false);
    expect(hasPanel({ sort: "x", title: "only" })).toBe(false);
    expect(hasPanel({ filter: "tag=a" })).toBe(true);
  });
  it("has a name", () => expect([titleOf(full), titleOf({ ...full, title: "" }), titleOf(panelOf({}))]).toEqual(["Loss & more", "loss, val_loss", "Without a name"]));
});

describe("a panel that the leader saves", () => {
  const saved = { id: "p", user: "ada", changed: "", ...contentOf(full, true) };
  it("comes back whole", () => {
    expect(panelIn(saved)).toEqual(full);
    expect(isSaved(full, saved)).toBe(true);
    expect(isSaved({ ...full, smoothing: 0 }, saved)).toBe(false);
  });
  it("has what is usual where the leader left it out", () => expect(panelIn({ id: "p", user: "ada", changed: "", name: "loss", metrics: ["loss"] })).toEqual(panelOf({ title: "loss", metrics: "loss" })));
  it("has a name, whether somebody gave it one or not", () => expect(contentOf(panelOf({ metrics: "loss" }), false).name).toBe("loss"));
});

describe("panels that a browser had kept", () => {
  it("are found, and what shows nothing is not", () => {
    expect(keptIn(null)).toEqual([]);
    expect(keptIn("{nonsense")).toEqual([]);
    expect(keptIn('{"a":1}')).toEqual([]);
    expect(keptIn('[null, 3, {"key":""}, {"query":{"filter":"tag=a"}}, {"key":"ok","query":{"metrics":"loss","most":7}}]')).toEqual([panelOf({ metrics: "loss" })]);
  });
});
