// How quick the dashboard's page of the cluster is in a browser: a real leader, simulated nodes with all their GPUs, values of every second,
// and frames counted while somebody watches.
//   node bench/dashboard_live.mjs ASSAY [WEB-STAGE] [SECONDS] [NODES]       WEB-STAGE: build/release/web, where the packages are
//
// A frame is dropped where the next one comes more than one and a half times as late as frames of an empty page do. Leader, nodes and browser
// share the machine, so what the page itself costs is measured apart from that: processor time of its main thread, as a trace of ten seconds
// has it. SECONDS of a quarter of an hour or more make a soak: the heap is measured at every tenth of it. Budgets are for two cores without a GPU.
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [assay, stage = "build/release/web", seconds = "30", nodes = "200"] = process.argv.slice(2);
if (!assay) throw new Error("usage: node bench/dashboard_live.mjs ASSAY [WEB-STAGE] [SECONDS] [NODES]");
const { Cluster, openBrowser, sleep, until } = await import(pathToFileURL(join(resolve(stage), "tests/stage.mjs")).href);
const kGpus = 8;
const lines = Number(nodes) * kGpus;

/** What the page's main thread works: milliseconds of a second, its longest task and how many take more than a frame, in processor time. */
async function ownCost(page, length) {
  await page.context().browser().startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
  await sleep(length * 1000);
  const { traceEvents } = JSON.parse((await page.context().browser().stopTracing()).toString());
  const threadOf = ({ pid, tid }) => `${pid} ${tid}`;
  const calls = new Map();
  for (const one of traceEvents) if (one.name === "FunctionCall") calls.set(threadOf(one), (calls.get(threadOf(one)) ?? 0) + 1);
  const [main] = [...calls].sort(([, a], [, b]) => b - a)[0];
  const tasks = traceEvents.filter((one) => one.name === "ThreadControllerImpl::RunTask" && threadOf(one) === main).map(({ tdur = 0 }) => tdur / 1000);
  return { busy: tasks.reduce((sum, ms) => sum + ms, 0) / length, longest: Math.max(0, ...tasks), long: tasks.filter((ms) => ms > 1000 / 60).length / length };
}

const browser = await openBrowser();
if (!browser) throw new Error("there is no Chromium here");
const cluster = new Cluster(resolve(assay), process.cwd());
let over = false;
const tell = (what, value, unit, budget, atLeast = false) => {
  const good = budget === undefined || (atLeast ? value >= budget : value <= budget);
  over ||= !good;
  console.log(`${what.padEnd(56)} ${value.toFixed(1).padStart(8)} ${unit.padEnd(5)}${budget === undefined ? "" : ` ${atLeast ? "at least" : "at most"} ${budget}${good ? "" : "   OVER"}`}`);
};
try {
  const base = await cluster.lead();
  const { text: token } = cluster.token("admin");
  cluster.start("fleet", "fleet-sim", nodes, "--gpus", String(kGpus), "--leader", base, "--token-file", cluster.token("agent").file, "--duration", `${Number(seconds) + 600}s`, "--quiet");
  const known = async () => (await (await fetch(`${base}/api/v1/nodes`, { headers: { Authorization: `Bearer ${token}` } })).json()).nodes.filter((one) => one.state === "online").length;
  await until("all nodes", async () => (await known()) === Number(nodes), 120_000);
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
  page.on("pageerror", (error) => console.log("error:", error.message));
  /** The times between frames for so many seconds, in milliseconds. */
  const watch = (length) =>
    page.evaluate(
      (ms) =>
        new Promise((done) => {
          const gaps = [];
          let last = performance.now();
          const end = last + ms;
          const next = () => {
            const now = performance.now();
            gaps.push(now - last);
            last = now;
            if (now < end) requestAnimationFrame(next);
            else done(gaps);
          };
          requestAnimationFrame(next);
        }),
      length * 1000,
    );
  const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
  await page.goto("about:blank");
  const usual = median(await watch(2));
  await page.goto(`${base}/#/login?token=${token}&to=${encodeURIComponent("/cluster?range=5min")}`);
  await page.locator("figure .u-over").first().waitFor({ timeout: 60_000 });
  await until("every GPU in the heat map", async () => (await page.locator(".cells button").count()) === lines, 60_000);
  // The graph, and as much of heat map and table as there is room for: what nobody sees costs nothing.
  await page.evaluate(() => document.querySelector("figure").scrollIntoView());
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.enable");
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize / 2 ** 20;
  };
  // What the page keeps of five minutes is there after that; before, it grows as it must.
  await sleep(Math.min(300, Number(seconds)) * 1000);
  const before = await heap();
  const parts = Number(seconds) >= 900 ? 10 : 1;
  const gaps = [];
  for (let part = 0; part < parts; ++part) {
    gaps.push(...(await watch(Number(seconds) / parts)));
    if (parts > 1) tell(`heap more than at the beginning, after ${((part + 1) * Number(seconds)) / parts} s`, (await heap()) - before, "MiB");
  }
  const { busy, longest, long } = await ownCost(page, 10);
  const whole = gaps.reduce((sum, gap) => sum + gap, 0);
  const dropped = gaps.reduce((sum, gap) => sum + (gap > 1.5 * usual ? Math.round(gap / usual) - 1 : 0), 0);
  tell("frames of an empty page", 1000 / usual, "fps");
  tell(`the cluster's page with ${lines} GPUs live`, (gaps.length * 1000) / whole, "fps", 30, true);
  tell("of the frames that could have been, dropped", (100 * dropped) / (gaps.length + dropped), "%");
  tell("the longest that it stood still", Math.max(...gaps), "ms", 500);
  tell("processor time of the page's main thread", busy, "ms/s");
  tell("the most that it worked without a pause", longest, "ms");
  tell("how often more than a frame's 16.7 ms", long, "/s");
  tell("heap that it took meanwhile", (await heap()) - before, "MiB", 20);
} finally {
  await browser.close();
  await cluster.end();
}
process.exit(over ? 1 : 0);
