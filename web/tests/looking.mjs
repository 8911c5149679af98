// What graphs, tables and maps do for whoever looks closer: with the pointer, the keyboard and the controls beside them.
//   node tests/looking.mjs ASSAY REPOSITORY SCREENSHOTS
import { readFileSync } from "node:fs";
import { kScreens } from "./checks.mjs";
import { play } from "./scene.mjs";
import { sleep, until } from "./stage.mjs";

/** A report with a chart of each sort, as the leader writes them. */
const kFigures = (() => {
  const axis = (label, unit = "", more = {}) => ({ label, unit, logarithmic: false, from_zero: false, ...more });
  const xy = (id, title, x, y, series, references = [], caption = "") => ({ type: "xy_chart", id, title, caption, x, y, series, references });
  const blocks = [
    xy("speedup", "Speed-up", axis("GPUs"), axis("Speed-up", "", { from_zero: true }), [
      { name: "measured", stroke: "line", points: [{ x: 1, y: 1 }, { x: 2, y: 1.8, range: [1.7, 1.9] }, { x: 4, y: 3.1, range: [2.8, 3.4] }, { x: 8, y: 4.2, marked: true }] },
      { name: "ideal", stroke: "dashed", points: [{ x: 1, y: 1 }, { x: 8, y: 8 }] },
      { name: "expected range", stroke: "expected_range", points: [{ x: 1, y: 1, range: [1, 1] }, { x: 8, y: 6, range: [5, 7] }] },
    ]),
    xy("latency", "Distribution: Latency", axis("Latency", "s", { logarithmic: true }), axis("Share", "ratio", { from_zero: true }), [{ name: "server", stroke: "steps", points: Array.from({ length: 200 }, (_, i) => ({ x: 0.004 * 1.03 ** i, y: (i + 1) / 200 })) }], [{ label: "limit", y: 0.99 }]),
    xy("memory", "Speed against memory", axis("Peak memory", "B"), axis("Throughput", "samples/s", { from_zero: true }), Array.from({ length: 11 }, (_, i) => ({ name: `arm ${i}`, stroke: "points", points: [{ x: (i + 3) * 2 ** 30, y: 900 - 20 * i }] })), [], "Up and to the left is better."),
    { type: "bar_chart", id: "gains", title: "Effect of each change", caption: "", axis: axis("Times the baseline", "", { from_zero: true }), band: [0.95, 1.05], references: [{ label: "baseline", y: 1 }], bars: [{ name: "rank 8", value: 1.1, range: [1.02, 1.2] }, { name: "fp16", value: 0.7, marked: true }, { name: "failed", value: null }] },
    { type: "heat_chart", id: "heat", title: "samples_per_second", caption: "", row_label: "learning_rate", column_label: "momentum", unit: "samples/s", rows: ["0.1", "0.2"], columns: ["0.5", "0.9"], cells: [[100, 200], [150, null]] },
  ];
  return { document: { title: "Figures", subtitle: "", verdict: "all valid", sections: [{ id: "all", title: "All", blocks }] } };
})();

await play(async (scene) => {
  const { cluster, checks, checks: { check, expect, go }, get: api, made } = scene;
  const base = await scene.lead();
  scene.fleet(5, 8, "--fault", "node-dead:node3@6s");
  cluster.run("run", "examples/command-sweep.yaml", "--tag", "demo");
  const sweep = JSON.parse(cluster.run("runs", "--json")).result.runs;
  await scene.agent("renamed");
  await until("nodes", async () => (await api("/api/v1/nodes")).nodes.length === 6);
  const spec = (name, seconds) => `kind: command\nname: ${name}\ncommand: [python3, -c, "import time; time.sleep(${seconds})"]\n`;
  const submit = async (name, seconds) => (await made("POST", "/api/v1/runs", { spec: spec(name, seconds), node: "renamed" })).run;
  const lately = await submit("lately", 3);
  const now = await submit("going on", 600);
  await until("one run after the other", async () => (await api(`/api/v1/runs/${now}`)).state === "running", 120_000);

  const page = await scene.enter("admin");
  const chart = () => page.locator("figure .u-over").first();
  const picture = () => page.locator("figure canvas").first().evaluate((canvas) => canvas.toDataURL());
  const reading = () => page.locator("figure .reading").first().innerText();
  const rows = (name) => page.getByRole("table", { name, exact: true }).getByRole("row");

  await check("the pointer names the nearest line, and a click pins it", async () => {
    await go(page, base, "/cluster?metric=gpu.temperature_c");
    await chart().waitFor();
    await page.getByRole("button", { name: "‖ Pause" }).click();
    await sleep(500);
    const box = await chart().boundingBox();
    await until("a line's name alone", async () => {
      for (let y = 20; y < box.height; y += 12) {
        await chart().hover({ position: { x: box.width - 40, y } });
        if ((await page.locator("figure .reading button").count()) === 1) return true;
      }
      return false;
    });
    const name = (await page.locator("figure .reading button").textContent()).trim().match(/sim\d+ GPU \d/)?.[0];
    expect(name, await reading());
    await page.mouse.down();
    await page.mouse.up();
    await until("the pin in the address", async () => /pin=gpu\.temperature_c/.test(decodeURIComponent(page.url())));
    await page.getByRole("button", { name: "Let go of 1 pinned" }).click();
    expect(!page.url().includes("pin="), page.url());
  });
  await check("a graph of more lines than there are strokes to tell them apart is painted and goes on, and what stands out leaves room for it", async () => {
    await go(page, base, "/cluster?range=5min");
    await chart().waitFor();
    const coloured = () =>
      page.locator("figure canvas").first().evaluate((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) ++found;
        return found;
      });
    await until("lines in colours", async () => (await coloured()) > 300);
    const [before, cells] = [await picture(), await page.locator(".cells").allTextContents()];
    await until("another picture", async () => (await picture()) !== before && (await coloured()) > 300);
    await until("other cells", async () => String(await page.locator(".cells").allTextContents()) !== String(cells));
    const list = page.locator("section", { has: page.getByRole("heading", { name: "What stands out" }) });
    expect((await list.locator("> ul > li").count()) <= 6, await list.innerText());
  });
  await check("the table of a metric is sorted by value, and the address has it", async () => {
    await go(page, base, "/cluster?metric=gpu.temperature_c");
    const table = page.getByRole("table", { name: "gpu.temperature_c", exact: true });
    await table.getByRole("button", { name: "Max" }).click();
    await until("the order in the address", async () => page.url().includes("sort=-max"));
    const values = async () => (await table.getByRole("row").allTextContents()).slice(1).map((row) => Number(/(\d+(?:\.\d+)?)\s*°C\s*$/.exec(row)?.[1]));
    await until("values that fall", async () => {
      const found = await values();
      return found.length >= 8 && found.every((value, i) => i === 0 || value <= found[i - 1]);
    });
  });
  await check("a cell of the heat map pins its line; arrow keys go from cell to cell, and Tab takes one stop", async () => {
    await go(page, base, "/cluster");
    const map = page.getByRole("table", { name: "gpu.util by node" });
    const cells = map.getByRole("button");
    await until("its cells", async () => (await cells.count()) >= 24);
    await cells.nth(9).click();
    await until("the pin in the address", async () => page.url().includes("pin="));
    await until("the cell to say so", async () => (await cells.nth(9).getAttribute("aria-pressed")) === "true");
    expect((await map.locator('button[tabindex="0"]').count()) === 1, "more than one stop of Tab");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    const label = await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
    expect(/GPU 2:/.test(label) && label.slice(0, 6) !== (await cells.nth(9).getAttribute("aria-label")).slice(0, 6), label);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Let go of 2 pinned" }).waitFor();
  });
  await check("marks of several kinds are drawn, counted, and named near the crosshair", async () => {
    await until("the alert of a lost node", async () => (await api("/api/v1/alerts")).alerts.length > 0, 120_000);
    await go(page, base, "/cluster?range=5min");
    await page.getByRole("button", { name: "‖ Pause" }).click();
    const marks = page.getByRole("group", { name: "Marks" });
    await page.getByText(/\d+ marks? in this time/).waitFor();
    await marks.getByRole("button", { name: "alerts" }).click();
    await page.getByText(/\d+ marks? in this time/).waitFor({ state: "detached" });
    await sleep(500);
    const without = await picture();
    await marks.getByRole("button", { name: "runs" }).click();
    await marks.getByRole("button", { name: "events" }).click();
    await until("both kinds in the address", async () => decodeURIComponent(page.url()).includes("marks=events,runs"));
    await page.getByText(/\d+ marks? in this time/).click();
    const list = page.locator("ul.marks li");
    for (const words of [/run going on/, /run lately/, /node_/]) await list.filter({ hasText: words }).first().waitFor();
    const run = await api(`/api/v1/runs/${lately}`);
    expect((await list.filter({ hasText: "run lately" }).textContent()).includes(new Date(run.started).toTimeString().slice(0, 8)), "it is not marked where it ran");
    await until("another picture", async () => (await picture()) !== without);
    const box = await chart().boundingBox();
    await chart().hover({ position: { x: box.width - 15, y: box.height / 2 } });
    await until("the run that goes on, named", async () => /run going on/.test(await reading()));
    await checks.examine(page, "cluster-marks");
  });
  await check("a node that is called otherwise than its machine shows whose runs it has, now and lately", async () => {
    await go(page, base, "/nodes");
    await page.getByRole("row", { name: /renamed/ }).getByText(/going on \(/).waitFor();
    await go(page, base, "/nodes/renamed");
    await rows("Runs of this node").filter({ hasText: "going on" }).getByText("running").waitFor();
    await rows("Runs of this node").filter({ hasText: "lately" }).getByText(/valid|flagged/).waitFor();
    await until("whose they are", async () => /token/.test(await rows("Runs of this node").filter({ hasText: "lately" }).textContent()));
    await checks.examine(page, "node-runs");
  });
  await check("the development over weeks is told for all nodes, page by page, and sorted", async () => {
    const other = await scene.enter();
    const trend = (verdict, change_c) => ({ verdict, why: `because ${verdict}`, power_w: 300, change_c, low_c: change_c, high_c: change_c, weeks: [] });
    const uuid = (await api("/api/v1/nodes/sim002")).devices[3].id;
    const pages = { "": { nodes: [{ node: "sim001", gpus: { a: trend("steady", 0.1) } }], next: "sim001" }, sim001: { nodes: [{ node: "sim002", gpus: { [uuid]: trend("hotter", 4.5) } }], next: "" } };
    await other.route("**/api/v1/trends*", (route) => route.fulfill({ json: pages[new URL(route.request().url()).searchParams.get("after") ?? ""] }));
    await go(other, base, "/nodes?sort=-trend");
    await other.getByText("GPU 3 hotter: 4.5 °C").waitFor();
    expect(/sim002/.test(await other.getByRole("table", { name: "nodes" }).getByRole("row").nth(1).textContent()), "it is not the first");
    await go(other, base, "/cluster");
    await other.getByText("1 steady, 1 hotter").waitFor();
    await other.getByText("because hotter").waitFor();
    await checks.examine(other, "cluster-trends");
    await other.context().close();
  });
  await check("the overview counts runs beyond a page of them", async () => {
    const other = await scene.enter();
    const totals = (filter) => (/queued$/.test(filter) && !/!=/.test(filter) ? 2400 : /verdict=valid/.test(filter) ? 1700 : /!=ended/.test(filter) ? 1300 : 0);
    await other.route(/\/api\/v1\/runs\?.*filter=/, (route) => route.fulfill({ json: { runs: [], total: totals(new URL(route.request().url()).searchParams.get("filter")), next: "" } }));
    await go(other, base, "/");
    const tile = other.getByRole("link", { name: /Runs going on/ });
    await until("all of them", async () => /1300/.test(await tile.textContent()) && /2400 waiting/.test(await tile.textContent()));
    await other.getByRole("link", { name: /1700.*valid/ }).waitFor();
    await other.context().close();
  });
  await check("a field with a mistake says so where it is", async () => {
    await go(page, base, "/benchmark");
    await page.getByLabel("Specification").fill("kind: train\nmodel: mlp\ndataset: spiral\nepochs: 0\nwarmup_steps: -1\n");
    const epochs = page.getByLabel("epochs", { exact: true });
    await until("the mistake", async () => (await epochs.getAttribute("aria-invalid")) === "true");
    await page.getByText("1 with a mistake").waitFor();
    await checks.examine(page, "benchmark-mistakes");
    await epochs.fill("5");
    await until("its end", async () => (await epochs.getAttribute("aria-invalid")) === null);
  });
  await check("a first training is told how much memory it takes at least", async () => {
    await go(page, base, "/benchmark");
    await page.getByLabel("Specification").fill("kind: train\nmodel: llama-3.1-8b\ntask: finetune\n");
    await page.getByText(/at least 119 GiB/).waitFor();
  });
  await check("curves are smoothed and drawn on a logarithmic scale, and the address has both", async () => {
    await go(page, base, `/compare?of=${sweep[0].id},${sweep[3].id}`);
    const heading = page.getByRole("heading", { name: "loss", exact: true });
    await heading.waitFor();
    const loss = () => page.locator("figure").filter({ has: heading }).locator("canvas").evaluate((canvas) => canvas.toDataURL());
    await page.locator(".u-over").first().waitFor();
    await sleep(500);
    const before = await loss();
    await page.getByLabel(/^Smoothing/).fill("0.9");
    await until("smoother curves", async () => (await loss()) !== before);
    const smooth = await loss();
    await page.getByLabel("logarithmic").check();
    await until("another scale", async () => (await loss()) !== smooth);
    const address = page.url();
    await page.reload();
    expect(page.url() === address, page.url());
    await until("the same controls", async () => (await page.getByLabel("logarithmic").isChecked()) && Number(await page.getByLabel(/^Smoothing/).inputValue()) === 0.9);
  });
  await check("parallel coordinates keep what fits a limit, and a scatter plot names its points", async () => {
    await go(page, base, `/studies/${sweep[0].study}`);
    await page.getByRole("button", { name: "Settings and results" }).click();
    const lines = page.getByRole("application", { name: /^Settings and results of \d+ runs/ });
    await page.getByText("Axes and limits").click();
    await page.getByLabel(/momentum at least/).fill("0.6");
    await page.keyboard.press("Tab");
    await until("the limit in the address", async () => page.url().includes("brush="));
    await page.getByText(/^4 of 12/).waitFor();
    await lines.focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("figure .said a").first().waitFor();
    const points = page.getByRole("application", { name: /runs: arrow keys name one after another, Enter opens it/ });
    await points.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await until("the run it stands for", async () => /#\/runs\//.test(page.url()));
  });
  await check("a trace opens as a flame view, is zoomed by the keyboard, and the address has the part", async () => {
    const event = (name, ts, dur) => ({ ph: "X", pid: 1, tid: 1, name, ts, dur });
    await page.route(/\/artifacts\/trace\.json/, (route) => route.fulfill({ json: { traceEvents: [event("step", 0, 1000), event("matmul", 100, 500), event("norm", 700, 100)] } }));
    await page.route(/\/artifacts$/, (route) => route.fulfill({ json: { artifacts: [{ name: "trace.json", bytes: 300 }] } }));
    await go(page, base, `/runs/${sweep[0].id}?tab=artifacts`);
    await page.getByRole("button", { name: "Flame view" }).click();
    await page.getByRole("row", { name: /matmul/ }).waitFor();
    await page.getByLabel(/^Flame view of trace\.json/).focus();
    await page.keyboard.press("+");
    await until("the part in the address", async () => /from=.*to=/.test(page.url()));
    const part = page.url();
    await page.getByRole("button", { name: "Zoom to the longest norm" }).click();
    await until("another part", async () => page.url() !== part && /from=.*to=/.test(page.url()));
    await page.unroute(/\/artifacts$/);
  });
  const figures = async (page) => {
    await page.route(/\/api\/v1\/reports\?/, (route) => route.fulfill({ json: kFigures }));
    await go(page, base, `/reports?of=${sweep[0].id}`);
    await page.getByRole("heading", { name: "Figures" }).waitFor();
  };
  await check("charts of reports have their axes, intervals, levels and what must not be used, as in the HTML file", async () => {
    await figures(page);
    const figure = (title) => page.locator("figure", { has: page.getByRole("heading", { name: title, exact: true }) });
    const speedup = figure("Speed-up");
    for (const name of ["measured", "ideal", "expected range", "flagged or invalid"]) await speedup.getByText(name, { exact: true }).waitFor();
    await speedup.getByRole("application", { name: "Speed-up: Speed-up over GPUs" }).focus();
    const said = async (key) => (await page.keyboard.press(key), (await speedup.locator(".said").innerText()).replaceAll("\u202f", " "));
    expect((await said("ArrowRight")) === "measured: GPUs 1, Speed-up 1", "the first point");
    expect(/GPUs 2, Speed-up 1.8 \(1.7 to 1.9\)/.test(await said("ArrowRight")), "its interval");
    await said("ArrowRight");
    expect(/GPUs 8, Speed-up 4.2 \(flagged or invalid\)/.test(await said("ArrowRight")), "what must not be used");
    expect((await said("ArrowDown")) === "ideal: GPUs 8, Speed-up 8", "the next line");
    await speedup.getByRole("button", { name: "Table" }).click();
    const rows = await speedup.getByRole("row").allTextContents();
    expect(rows.length === 9 && rows.some((row) => /measured.*1\.7 to 1\.9.*yes/.test(row)) && rows.some((row) => /8.*flagged or invalid/.test(row)), rows.join(" | "));
    const [file] = await Promise.all([page.waitForEvent("download"), speedup.getByRole("button", { name: "Speed-up as CSV" }).click()]);
    const lines = readFileSync(await file.path(), "utf8").trimEnd().split("\r\n");
    expect(lines[0] === "line,GPUs,Speed-up,from,to,flagged" && lines[2] === "measured,2,1.8,1.7,1.9,no" && lines[4] === "measured,8,4.2,,,yes", lines.join(" | "));
    await Promise.all([page.waitForEvent("download"), speedup.getByRole("button", { name: "Speed-up as PNG" }).click()]);
    const latency = figure("Distribution: Latency").getByRole("application");
    await latency.scrollIntoViewIfNeeded();
    const box = await latency.boundingBox();
    await latency.hover({ position: { x: box.width / 2, y: box.height / 2 } });
    await figure("Distribution: Latency").getByText(/server: Latency .*ms, Share \d/).waitFor();
    const bars = figure("Effect of each change");
    await bars.getByText("1.02 to 1.2", { exact: false }).waitFor();
    await bars.getByText(/baseline \(1\)/).waitFor();
    expect((await bars.locator(".bar.hollow").count()) === 1 && (await bars.locator("tbody .whisker").count()) === 1 && (await bars.getByText("flagged:").count()) === 1, "an interval, and a bar that must not be used");
    await page.getByText("Down: learning_rate. Across: momentum.").waitFor();
    await page.getByRole("button", { name: "learning_rate 0.1, momentum 0.9: 200 samples/s" }).waitFor();
    await checks.examine(page, "report-figures");
    await page.unroute(/\/api\/v1\/reports\?/);
  });
  await check("an alert is silenced for a while, and the silence is ended", async () => {
    await go(page, base, "/alerts");
    await page.getByRole("button", { name: "Silence…" }).first().click();
    await page.getByLabel("How long").selectOption("30min");
    await page.getByLabel("Why").fill("it is being mended");
    await page.getByRole("button", { name: "Silence", exact: true }).click();
    await page.getByText("it is being mended").waitFor();
    expect((await api("/api/v1/silences")).silences.length === 1, "the leader does not know");
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByText("it is being mended").waitFor({ state: "detached" });
  });
  for (const [name, options] of kScreens) {
    await check(`${name}: marks, runs of a node and mistakes fit and are readable`, async () => {
      const other = await scene.enter("admin", options);
      for (const [one, path] of Object.entries({ "cluster-marks": "/cluster?range=5min&marks=alerts,events,runs", "node-runs": "/nodes/renamed", "nodes-use": "/nodes" })) {
        await go(other, base, path);
        await sleep(300);
        await checks.fits(other, `${one}-${name}`, options);
      }
      await figures(other);
      await checks.fits(other, `report-figures-${name}`, options);
      await other.context().close();
    });
  }
  await check("nothing went wrong on any page", async () => expect(page.wrong.length === 0, page.wrong.join("; ")));
});
