// How quick the dashboard is in a browser: a chart of a million points, its zoom, a table of ten thousand runs, 32 live charts,
// all GPUs of 200 nodes in one, and what all of it leaves in memory.
//   node bench/dashboard.mjs WEB-STAGE [SECONDS]        WEB-STAGE: build/release/web, where the packages are
//
// The parts are those of web/src, built for this page alone; no leader is needed. Budgets are for two cores without a GPU.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const stage = resolve(process.argv[2] ?? "build/release/web");
const seconds = Number(process.argv[3] ?? 10);
const from = (name) => import(pathToFileURL(join(stage, "node_modules", name)).href);
const { build } = await from("vite/dist/node/index.js");
const { svelte } = await from("@sveltejs/vite-plugin-svelte/src/index.js");
const { openBrowser } = await import(pathToFileURL(join(stage, "tests/stage.mjs")).href);

const folder = join(stage, "bench-page");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "index.html"), '<!doctype html><html lang="en"><body><div id="app"></div><script type="module" src="./main.ts"></script></body></html>');
writeFileSync(
  join(folder, "main.ts"),
  `import { flushSync, mount, unmount } from "svelte";
import Chart from "../src/parts/Chart.svelte";
import DataTable from "../src/parts/DataTable.svelte";
import Charts from "./Charts.svelte";
import "../src/theme.css";
const target = document.getElementById("app")!;
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const timed = async (what: () => void) => { const begin = performance.now(); what(); flushSync(); await frame(); return performance.now() - begin; };
Object.assign(window, {
  async chart(points: number, banded: boolean) {
    const x = Array.from({ length: points }, (_, i) => i);
    const y = x.map((i) => Math.sin(i / 5000) + Math.random() / 10);
    const band = { low: y.map((value) => value - 1), high: y.map((value) => value + 1), counts: y.map(() => 3) };
    const props = $stateful({ title: "a million points", lines: [{ key: "a", label: "a", x, y, ...(banded ? band : {}) }], axis: "step" as const, range: null as null | { from: number; to: number } });
    let made: ReturnType<typeof mount>;
    const draw = await timed(() => (made = mount(Chart, { target, props })));
    const zoom = await timed(() => (props.range = { from: points * 0.4, to: points * 0.6 }));
    unmount(made!);
    return { draw, zoom };
  },
  async table(rows: number, wide: number) {
    const data = Array.from({ length: rows }, (_, i) => ({ id: String(i), values: Array.from({ length: wide }, () => Math.random()) }));
    const columns = Array.from({ length: wide }, (_, c) => ({ key: "c" + c, title: "c" + c, value: (row: (typeof data)[0]) => row.values[c] as string | number | undefined, number: true }));
    columns.unshift({ key: "name", title: "name", value: (row: (typeof data)[0]) => "run " + ((Number(row.id) * 7919) % rows), number: false });
    const props = $stateful({ name: "runs", rows: data, columns, keyOf: (row: { id: string }) => row.id, sort: "c0", onsort: () => undefined });
    let made: ReturnType<typeof mount>;
    const draw = await timed(() => (made = mount(DataTable as never, { target, props })));
    const sort = await timed(() => (props.sort = "-c7"));
    const byText = await timed(() => (props.sort = "name"));
    const box = target.querySelector('[role="table"]')!;
    const gaps: number[] = [];
    for (let i = 0; i < 30; ++i) gaps.push(await timed(() => { box.scrollLeft += 300; box.dispatchEvent(new Event("scroll")); }));
    unmount(made!);
    return { draw, sort, byText, scroll: gaps.sort((a, b) => a - b)[15]! };
  },
  async live(seconds: number, charts: number, lines: number, every: number) {
    const made = mount(Charts, { target, props: { charts, lines, every } });
    await frame();
    const end = performance.now() + seconds * 1000;
    const gaps: number[] = [];
    let last = performance.now();
    await new Promise<void>((done) => { const next = () => { const now = performance.now(); gaps.push(now - last); last = now; now < end ? requestAnimationFrame(next) : done(); }; requestAnimationFrame(next); });
    unmount(made);
    return { rate: gaps.length / seconds, longest: Math.max(...gaps) };
  },
});
import { stateful as $stateful } from "./stateful.svelte";
`.replaceAll("$stateful", "stateful"),
);
writeFileSync(join(folder, "stateful.svelte.ts"), "export function stateful<T extends object>(value: T): T { const box = $state({ version: 0 }); return new Proxy(value, { get: (of, key) => { void box.version; return Reflect.get(of, key); }, set: (of, key, to) => { Reflect.set(of, key, to); box.version += 1; return true; } }); }\n");
writeFileSync(
  join(folder, "Charts.svelte"),
  `<script lang="ts">
import Chart from "../src/parts/Chart.svelte";
// Each line has five minutes of values, and gets a new one after so many milliseconds.
const { charts, lines: count, every } = $props<{ charts: number; lines: number; every: number }>();
let at = $state(1500);
$effect(() => { const timer = setInterval(() => (at += 1), every); return () => clearInterval(timer); });
const value = (chart: number, line: number, i: number) => Math.sin((i + 40 * line + chart) / 60) + line / 4;
const lines = (chart: number) => { const x = Array.from({ length: 300 }, (_, i) => (at - 300 + i) * 1000); return Array.from({ length: count }, (_, line) => { const y = x.map((_, i) => value(chart, line, at - 300 + i)); return { key: String(line), label: "GPU " + line, x, y, low: y.map((one) => one - 0.1), high: y.map((one) => one + 0.2), counts: y.map(() => 3) }; }); };
</script>
<div class="grid">{#each Array.from({ length: charts }, (_, i) => i) as chart (chart)}<Chart title={"chart " + chart} lines={lines(chart)} height={160} />{/each}</div>
`,
);
await build({ root: folder, configFile: false, plugins: [svelte({ configFile: false })], base: "./", logLevel: "warn", build: { outDir: "dist", emptyOutDir: true, target: "es2022" } });

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const server = createServer(async (asked, answer) => {
  const name = asked.url === "/" ? "index.html" : asked.url.slice(1);
  const content = await readFile(join(folder, "dist", name)).catch(() => null);
  answer.writeHead(content ? 200 : 404, { "Content-Type": types[extname(name)] ?? "text/plain" }).end(content ?? "");
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await openBrowser();
if (!browser) throw new Error("there is no Chromium here");
const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
page.on("pageerror", (error) => console.log("error:", error.message));
await page.goto(`http://127.0.0.1:${server.address().port}/`);
await page.waitForFunction(() => "live" in window);
const heap = async () => {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 2 ** 20;
};
let over = false;
const tell = (what, value, unit, budget, atLeast = false) => {
  const good = atLeast ? value >= budget : value <= budget;
  over ||= !good;
  console.log(`${what.padEnd(44)} ${value.toFixed(1).padStart(8)} ${unit.padEnd(5)} ${atLeast ? "at least" : "at most"} ${budget}${good ? "" : "   OVER"}`);
};
const million = await page.evaluate(() => window.chart(1_000_000, false));
const banded = await page.evaluate(() => window.chart(1_000_000, true));
tell("chart of a million points, first drawing", million.draw, "ms", 300);
tell("the same, zoom to a fifth", million.zoom, "ms", 100);
tell("with a band, first drawing", banded.draw, "ms", 300);
tell("the same, zoom to a fifth", banded.zoom, "ms", 100);
for (const wide of [20, 200]) {
  const table = await page.evaluate((columns) => window.table(10_000, columns), wide);
  tell(`table of 10,000 runs × ${wide}, first drawing`, table.draw, "ms", 300);
  tell("the same, sorted by a number", table.sort, "ms", 100);
  tell("the same, sorted by a text", table.byText, "ms", 100);
  if (wide > 20) tell("the same, scrolled to the right", table.scroll, "ms", 100);
}
await page.evaluate(() => window.live(2, 32, 8, 200));
const before = await heap();
tell("32 live charts of 8 lines, 5 values a second", (await page.evaluate((s) => window.live(s, 32, 8, 200), seconds)).rate, "fps", 30, true);
const crowd = await page.evaluate((s) => window.live(s, 1, 1600, 1000), seconds);
tell("200 nodes × 8 GPUs in one graph, each second", crowd.rate, "fps", 30, true);
tell("the longest that it stood still", crowd.longest, "ms", 500);
tell("heap that they leave behind", (await heap()) - before, "MiB", 20);
await browser.close();
server.close();
rmSync(folder, { recursive: true, force: true });
process.exit(over ? 1 : 0);
