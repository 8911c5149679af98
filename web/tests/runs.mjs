// Looks at runs, their curves and their log as people do, and at what a slow or absent leader does to them.
//   node tests/runs.mjs ASSAY REPOSITORY SCREENSHOTS
import { readFileSync } from "node:fs";
import { play } from "./scene.mjs";
import { People } from "./people.mjs";
import { kScreens } from "./checks.mjs";
import { sleep, until } from "./stage.mjs";

const kSteps = 5000;
// A spike that no mean of several steps shows, and what steps are made of.
const kSpiky = `
import json, os
events = os.fdopen(int(os.environ["ASSAY_EVENTS"][3:]), "w")
for step in range(${kSteps}):
    print(json.dumps({"assay": 1, "type": "step", "step": step, "loss": 99 if step == 2345 else 1 + step % 7, "step_seconds": 0.01,
                      "data_seconds": 0.002, "forward_seconds": 0.003, "backward_seconds": 0.004}), file=events)
`;
const kSlow = `
import time
for i in range(1200):
    print('step %d loss=%.4f' % (i, 1 / (i + 1)), flush=True)
    time.sleep(0.25)
`;
// More lines than a page keeps, and then a few more all the time.
const kLong = `
import time
for i in range(200500): print('line', i)
while True:
    print('later', flush=True)
    time.sleep(0.05)
`;

await play(async (scene) => {
  const { cluster, checks, checks: { check, expect, look, go } } = scene;
  const people = new People(checks);
  const base = await scene.lead();
  const first = await scene.firstLink();
  cluster.run("exec", "--quiet", "--name", "spiky", "--", "python3", "-c", kSpiky);
  cluster.run("exec", "--quiet", "--name", "other", "--tag", "colour=red", "--", "python3", "-c", "print('step 1 loss=0.5')");
  const idOf = async (name) => (await scene.get(`/api/v1/runs?filter=name%3D${name}`)).runs[0]?.id;
  const [spiky, other] = [await idOf("spiky"), await idOf("other")];
  const page = await scene.enter();
  const csvOf = async (title) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `${title} as CSV` }).click()]);
    return { name: file.suggestedFilename(), lines: readFileSync(await file.path(), "utf8").trimEnd().split("\r\n") };
  };
  const chartOf = (title) => page.locator("figure", { has: page.getByRole("heading", { name: new RegExp(`^${title}( \\(|$)`) }) });

  await check("a chart of means says so, and its table and its CSV have what was recorded", async () => {
    await go(page, base, `/runs/${spiky}?smooth=0.9`);
    const chart = chartOf("loss");
    await chart.getByText("means of up to 9 values, smoothed", { exact: false }).waitFor();
    await chart.getByRole("button", { name: "Table" }).click();
    const figures = await chart.locator("tbody td").allTextContents();
    expect(figures[2] === "1" && figures[4] === "99", `the table says ${figures}`);
    const { name, lines } = await csvOf("loss");
    expect(name === "loss.csv" && lines[0] === "step,loss", `${name}: ${lines[0]}`);
    expect(lines.length === kSteps + 1 && lines[2346] === "2345,99" && lines[1] === "0,1", `${lines.length} lines, ${lines[2346]}`);
  });
  await check("where a step's time goes is one chart, with the share of each part", async () => {
    await go(page, base, `/runs/${spiky}`);
    const chart = chartOf("Where a step's time goes");
    await chart.getByRole("button", { name: "Table" }).click();
    const rows = await chart.locator("tbody tr").allTextContents();
    expect(rows.length === 4 && /waiting for data.*20\s%/.test(rows[0]) && /backward.*40\s%/.test(rows[2]) && /anything else.*10\s%/.test(rows[3]), rows.join(" | "));
    expect((await page.getByRole("heading", { name: "forward_seconds" }).count()) === 0, "the parts are drawn once more");
    await checks.examine(page, "run-curves");
  });
  await check("a part of the time of day is zoomed to, and its address brings it back", async () => {
    await go(page, base, `/runs/${spiky}?axis=wall`);
    await page.locator(".u-over").first().waitFor();
    await page.locator('[role="application"]').first().focus();
    await page.keyboard.press("+");
    await until("the zoom in the address", () => /part=\d{13}/.test(page.url()));
    await page.reload();
    await page.getByRole("button", { name: "All", exact: true }).first().waitFor();
  });
  for (const [name, options] of kScreens) {
    await check(`${name}: the curves of a run fit and are readable`, async () => {
      const small = await scene.enter("admin", options);
      await go(small, base, `/runs/${spiky}?smooth=0.9`);
      await small.getByRole("button", { name: "Table" }).first().click();
      await checks.fits(small, `run-curves-${name}`, options);
      await small.context().close();
    });
  }
  await check("of another run nothing of the one before is to be seen, nor can it be deleted instead", async () => {
    await go(page, base, `/runs/${spiky}`);
    let release;
    const held = new Promise((done) => (release = done));
    await page.route(`**/api/v1/runs/${other}`, async (route) => { await held; await route.continue(); });
    await page.evaluate((id) => (location.hash = `#/runs/${id}`), other);
    await page.getByRole("heading", { name: "spiky" }).waitFor({ state: "detached" });
    expect((await page.getByRole("button", { name: "Delete…" }).count()) === 0, "it may be deleted");
    release();
    await page.getByRole("heading", { name: "other" }).waitFor();
    await page.unroute(`**/api/v1/runs/${other}`);
  });
  await check("the list asks for the runs that changed, and for no others", async () => {
    await go(page, base, "/runs");
    await page.getByText("colour=red").waitFor();
    const lists = [];
    page.on("request", (request) => { if (/\/api\/v1\/runs(\?|$)/.test(request.url())) lists.push(request.url()); });
    await scene.made("POST", `/api/v1/runs/${other}/tags`, { add: ["colour=blue"], remove: ["colour=red"] });
    await page.getByText("colour=blue").waitFor();
    expect(lists.length === 1 && /changed_after=\d+/.test(lists[0]), lists.join(" "));
    expect((await page.getByText("colour=red").count()) === 0, "the old row is still there");
    await scene.made("DELETE", `/api/v1/runs/${other}`);
    await page.getByText("colour=blue").waitFor({ state: "detached" });
    await page.getByText("spiky").first().waitFor();
  });

  await scene.agent();
  const { run: live } = await scene.made("POST", "/api/v1/runs", { spec: JSON.stringify({ kind: "command", name: "live", command: ["python3", "-u", "-c", kSlow] }), node: "here" });
  await check("a curve grows also where a leader takes long to answer", async () => {
    await until("the first steps", async () => (await scene.ask("POST", `/api/v1/runs/${live}/curves`, { names: ["loss"] })).body.curves.length > 0, 60_000);
    // Longer than the pause between two questions: whoever gives up the one before sees nothing for ever.
    await page.route("**/curves", async (route) => { await sleep(2500); await route.continue().catch(() => undefined); });
    await go(page, base, `/runs/${live}`);
    const chart = chartOf("loss");
    await chart.getByRole("button", { name: "Table" }).click({ timeout: 15_000 });
    const last = () => chart.locator("tbody td").nth(1).textContent();
    const before = await last();
    await until("a later value", async () => (await last()) !== before);
    await page.unroute("**/curves");
  });
  await check("what happens to a run's node meanwhile is marked, with a way to the node at that time", async () => {
    await scene.made("POST", "/api/v1/nodes/here/drain", { reason: "a look at its fan" });
    await scene.made("POST", "/api/v1/nodes/here/resume", {});
    await go(page, base, `/runs/${live}?tab=system`);
    const said = page.locator("details", { hasText: "happened on its machines" });
    await said.getByText("a look at its fan").waitFor({ timeout: 30_000 });
    await page.locator("figure").first().waitFor({ timeout: 30_000 });
    await checks.examine(page, "run-system");
    await said.getByRole("link", { name: "here at that time" }).first().click();
    await page.getByRole("heading", { name: "here" }).first().waitFor();
    expect(/#\/nodes\/here\?range=\d{13}\.\.\d{13}/.test(page.url()), page.url());
  });
  await check("a log is followed to the end of its run without beginning anew", async () => {
    const begun = [];
    page.on("request", (request) => { if (/\/log(\?|$)/.test(request.url()) && !request.url().includes("after=")) begun.push(request.url()); });
    await go(page, base, `/runs/${live}?tab=log`);
    const lines = async () => Number(/(\d+)\sline/.exec(await page.locator("#part .muted.small").first().textContent())?.[1] ?? 0);
    await until("some lines", async () => (await lines()) > 3);
    const before = await lines();
    await scene.made("POST", `/api/v1/runs/${live}/stop`);
    await page.getByText("interrupted").first().waitFor({ timeout: 60_000 });
    await sleep(2000);
    expect(begun.length === 1, `it began ${begun.length} times`);
    expect((await lines()) >= before, "lines that were there are gone");
  });

  await check("whoever reads further up in a very long log stays at the same lines", async () => {
    cluster.start("long", "exec", "--quiet", "--name", "long", "--", "python3", "-c", kLong);
    await go(page, base, `/runs/${await until("the long run", () => idOf("long"))}?tab=log`);
    const leftOut = async () => Number(/([\d,]+) older/.exec(await page.locator("#part .muted.small").first().textContent())?.[1].replaceAll(",", "") ?? 0);
    await until("lines to be left out", async () => (await leftOut()) >= 500, 90_000);
    const log = page.getByRole("log");
    await log.evaluate((box) => (box.scrollTop = box.scrollHeight / 2));
    await sleep(300);
    const first = () => log.evaluate((box) => { const { left, top } = box.getBoundingClientRect(); return document.elementFromPoint(left + 200, top + 15).textContent; });
    const [before, sooner] = [await first(), await leftOut()];
    await until("more to be left out", async () => (await leftOut()) > sooner + 20);
    expect(/line \d+/.test(before) && (await first()) === before, `${before} became ${await first()}`);
  });
  await check("who logs out while the leader does not answer is told, and is out when it does", async () => {
    const own = await look();
    await people.choosePassword(own, first);
    await own.route("**/api/v1/session", (route) => (route.request().method() === "DELETE" ? route.abort() : route.continue()));
    await own.getByRole("button", { name: "Log out" }).click();
    await own.getByText("You are not logged out yet").waitFor();
    expect((await own.getByLabel("Password", { exact: true }).count()) === 0, "it looks as if they were out");
    await checks.examine(own, "leaving");
    await own.unroute("**/api/v1/session");
    await own.getByLabel("Password", { exact: true }).waitFor({ timeout: 30_000 });
    expect((await own.evaluate(async () => (await fetch("./api/v1/session")).status)) === 401, "the session goes on");
    await own.context().close();
  });
});
