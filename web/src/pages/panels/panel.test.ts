import { describe, expect, it } from "vitest";
import { readHash, writeHash } from "../../router/hash";
import { hasPanel, panelOf, queryOf, readKept, titleOf, withPanel, writeKept, type Panel } from "./panel";

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

describe("kept panels", () => {
  it("come back, and what is no panel does not", () => {
    expect(readKept(writeKept([{ key: "1", panel: full }]))).toEqual([{ key: "1", panel: full }]);
    expect(readKept(null)).toEqual([]);
    expect(readKept("{nonsense")).toEqual([]);
    expect(readKept('{"a":1}')).toEqual([]);
    expect(readKept('[null, 3, {"key":""}, {"key":"x"}, {"key":"ok","query":{"metrics":"loss","most":7}}]')).toEqual([{ key: "ok", panel: panelOf({ metrics: "loss" }) }]);
  });
  it("are changed in their place or added", () => {
    const one = { key: "1", panel: full };
    const two = { key: "2", panel: full };
    expect(withPanel([one], two).map(({ key }) => key)).toEqual(["1", "2"]);
    expect(withPanel([one, two], { key: "1", panel: { ...full, title: "new" } }).map(({ panel }) => panel.title)).toEqual(["new", "Loss & more"]);
  });
});
