// Looks at the dashboard as people do: a real leader, simulated nodes, real runs, a real browser.
//   node tests/dashboard.mjs ASSAY REPOSITORY SCREENSHOTS
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { kScreens } from "./checks.mjs";
import { play } from "./scene.mjs";
import { kHostile, prefixProxy, sleep, until } from "./stage.mjs";

await play(async (scene) => {
  const { cluster, checks, pictures, checks: { check, expect, look, go }, get: api } = scene;
  const base = await scene.lead();
  const { text: admin } = cluster.token("admin");
  scene.fleet(4, 8, "--fault", "node-dead:node3@6s");
  cluster.run("run", "examples/command-sweep.yaml", "--tag", "demo");
  const noisy = `import sys\nfor i in range(300): print('step %d loss=%.4f' % (i, 1/(i+1)))\nprint(${JSON.stringify(kHostile)})\nprint('to stderr', file=sys.stderr)`;
  cluster.run("exec", "--quiet", "--name", kHostile, "--tag", `x=${kHostile}`, "--", "python3", "-c", noisy);
  const runs = JSON.parse(cluster.run("runs", "--json")).result.runs;
  const hostile = runs.find((run) => run.name === kHostile).id;
  const sweep = runs.filter((run) => run.study);
  await until("nodes", async () => (await api("/api/v1/nodes")).nodes.length === 4);

  /** What a check says of something that must not pass it. */
  const objection = (body) => body().then(() => "", (error) => error.message);

  const page = await look();
  await check("a token that is none is refused with a reason", async () => {
    await page.goto(base + "/");
    await page.getByText("With a token instead").click();
    await page.getByLabel("Token", { exact: false }).first().fill("nonsense");
    await page.getByRole("button", { name: "Use this token" }).click();
    await page.getByRole("alert").waitFor();
    expect(/does not know/.test(await page.getByRole("alert").textContent()), "no reason");
  });
  await check("a link with a token logs in and leaves the address", async () => {
    await page.goto(`${base}/#/login?token=${admin}&to=/runs`);
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    expect(!page.url().includes(admin), "the token is still in the address");
  });

  const pages = {
    overview: "/", cluster: "/cluster", "cluster-node": "/cluster?view=node&node=sim001", nodes: "/nodes", node: "/nodes/sim001", alerts: "/alerts", events: "/events",
    runs: "/runs", "runs-grouped": "/runs?group=variant", run: `/runs/${hostile}`, "run-log": `/runs/${hostile}?tab=log`, "run-settings": `/runs/${hostile}?tab=settings`,
    compare: `/compare?of=${sweep[0].id},${sweep[3].id}`, studies: "/studies", study: `/studies/${sweep[0].study}`, "study-plan": `/studies/${sweep[0].study}?tab=plan`,
    benchmark: "/benchmark", reports: "/reports", report: `/reports?of=${hostile}`, admin: "/admin", queue: "/queue",
  };
  for (const [name, path] of Object.entries(pages)) {
    await check(`${name}: nothing wrong, nothing that keeps people out, no other host`, async () => {
      page.wrong.length = page.refused.length = 0;
      await go(page, base, path);
      await sleep(500);
      await checks.examine(page, name);
      expect(page.refused.length === 0, page.refused.join("; "));
    });
  }
  for (const [name, options] of kScreens) {
    await check(`${name}: every page fits and is readable`, async () => {
      const other = await scene.enter("admin", options);
      for (const [one, path] of Object.entries(pages)) {
        await go(other, base, path);
        await checks.fits(other, `${one}-${name}`, options);
      }
      expect(other.wrong.length === 0, other.wrong.join("; "));
      await other.context().close();
    });
  }

  await check("what workloads and users write is text, never markup", async () => {
    for (const path of ["/runs", `/runs/${hostile}`, `/runs/${hostile}?tab=log`, `/compare?of=${hostile},${sweep[0].id}`, `/reports?of=${hostile}`]) {
      await go(page, base, path);
      await sleep(300);
      expect((await page.content()).includes("&lt;img src=x"), `${path} does not show it`);
      expect((await page.evaluate(() => window.pwned)) === undefined, `${path} ran it`);
      expect((await page.locator("main img").count()) === 0, `${path} has a picture`);
    }
  });
  await check("these checks notice a page that breaks, one that shows an error, and a part of it that fails", async () => {
    const other = await scene.enter();
    await other.route("**/api/v1/studies*", (route) => route.fulfill({ json: { studies: [null] } }));
    expect(/This page broke/.test(await objection(() => go(other, base, "/studies"))), "a page that broke passes");
    expect(other.wrong.length > 0, "that it broke is not noted");
    other.wrong.length = 0;
    await other.route("**/api/v1/nodes*", (route) => route.fulfill({ status: 500, json: { error: { kind: "io", message: "no disk", hint: "" } } }));
    expect(/No nodes/.test(await objection(() => go(other, base, "/nodes"))), "a page without its data passes");
    expect(other.wrong.some((one) => /^500 /.test(one)), "a failed request is not noted");
    await other.context().close();
  });
  await check("what one page cannot draw does not take the others along", async () => {
    const other = await scene.enter();
    await other.route("**/api/v1/studies*", (route) => route.fulfill({ json: { studies: [null] } }));
    await other.goto(`${base}/#/studies`);
    await other.getByRole("heading", { name: "This page broke" }).waitFor();
    await checks.go(other, base, "/nodes");
    await other.getByText("sim001").waitFor();
    await checks.go(other, base, `/compare?of=${hostile},${hostile}`);
    await other.getByRole("heading", { name: "Compare" }).waitFor();
    expect((await other.getByText("This page broke").count()) === 0, "the same run twice broke it");
    await other.context().close();
  });
  await check("a log is searched", async () => {
    await go(page, base, `/runs/${hostile}?tab=log`);
    await page.getByLabel("Find").fill("step 123 ");
    await page.getByText("1 of", { exact: false }).waitFor();
    expect(page.url().includes("log=step"), "the search is not in the address");
  });
  await check("runs are filtered in the language of `assay runs`, with completion", async () => {
    await go(page, base, "/runs");
    const box = page.getByRole("combobox", { name: "Filter of runs" });
    await box.fill("ta");
    await page.getByRole("option", { name: "tag=" }).waitFor();
    await box.press("ArrowDown");
    await box.press("Enter");
    await page.getByRole("option", { name: "tag=demo" }).waitFor();
    await box.fill("tag=demo metrics.loss<1");
    await box.press("Enter");
    await until("the filter", async () => page.url().includes("filter=tag"));
    const fits = (await api(`/api/v1/runs?filter=${encodeURIComponent("tag=demo metrics.loss<1")}`)).total;
    await page.getByText(new RegExp(`^${fits}\\sruns$`)).waitFor();
  });
  await check("a view's address brings it back", async () => {
    const other = await scene.enter();
    await go(other, base, "/cluster?metric=gpu.temperature_c&range=5min&sort=-max");
    expect((await other.getByLabel("Metric").inputValue()) === "gpu.temperature_c", "another metric");
    expect((await other.getByRole("button", { name: "5min", exact: true }).getAttribute("aria-pressed")) === "true", "another range");
    await other.context().close();
  });
  await check("the keyboard reaches the content, moves the crosshair and zooms", async () => {
    await go(page, base, "/cluster");
    await page.reload();
    await page.locator(".u-over").first().waitFor();
    await page.keyboard.press("Tab");
    expect((await page.evaluate(() => document.activeElement?.textContent ?? "")).includes("Skip"), "the first stop is not the skip link");
    const chart = page.locator('[role="application"]').first();
    await chart.focus();
    await page.keyboard.press("ArrowLeft");
    await page.locator(".reading b").first().waitFor();
    await page.keyboard.press("+");
    await until("the zoom in the address", async () => /range=\d+\.\.\d+/.test(page.url()));
    await page.keyboard.press("Escape");
    await until("all of it again", async () => !page.url().includes(".."));
  });
  await check("a chart has a table and comes as CSV and PNG", async () => {
    await go(page, base, `/runs/${hostile}`);
    await page.getByRole("button", { name: "Table" }).first().click();
    await page.getByRole("table", { name: "loss" }).waitFor();
    for (const kind of ["CSV", "PNG"]) {
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `loss as ${kind}` }).click()]);
      const content = readFileSync(await file.path());
      expect(kind === "CSV" ? content.toString().startsWith("step,") : content.subarray(1, 4).toString() === "PNG", `no ${kind}`);
    }
  });
  await check("live values arrive without a reload", async () => {
    await go(page, base, "/cluster?metric=gpu.power_w&range=5min");
    const now = () => page.locator('[role="table"] [role="cell"]').allTextContents();
    await until("a first row", async () => (await now()).length > 0);
    const before = (await now()).join();
    await until("another value", async () => (await now()).join() !== before, 15_000);
  });
  await check("what is held still stays as it is, and goes on when it is let go", async () => {
    const other = await scene.enter();
    await other.clock.install();
    await go(other, base, "/cluster?metric=gpu.power_w&range=5min");
    await other.locator(".u-over").first().waitFor();
    await other.getByRole("button", { name: "‖ Pause" }).click();
    const rows = async () => (await other.locator('[role="table"] [role="row"]').allTextContents()).join("\n");
    const span = () => other.locator("figure canvas").first().evaluate((canvas) => canvas.toDataURL());
    await sleep(1500);
    const [held, drawn, asked] = [await rows(), await span(), []];
    other.on("request", (request) => /\/api\/v1\/(query|live)/.test(request.url()) && asked.push(request.url()));
    await other.clock.fastForward(180_000);
    await sleep(1500);
    expect(asked.length === 0, `it asks for ${asked.length} more`);
    expect((await rows()) === held, "the values change");
    expect((await span()) === drawn, "the graph moves");
    const [again] = await Promise.all([other.waitForRequest(/api\/v1\/query\?q=gpu\.power_w/), other.reload()]);
    const heldTo = new Date(Number(/paused=(\d+)/.exec(other.url())?.[1])).toISOString();
    expect(new URL(again.url()).searchParams.get("q").includes(`to=${heldTo}`), `the same address shows another time: ${again.url()}`);
    await other.getByRole("button", { name: "▶ Go on" }).click();
    await until("newer values", async () => (await rows()) !== held);
    await other.context().close();
  });
  await check("an alert is raised, and somebody takes care of it", async () => {
    await until("the alert of a lost node", async () => (await api("/api/v1/alerts")).alerts.length > 0, 90_000);
    await go(page, base, "/alerts");
    await page.getByRole("button", { name: "Take care of it…" }).first().click();
    await page.getByLabel("Note for the others").fill("on my way");
    await page.getByRole("button", { name: "I take care of it" }).click();
    await page.getByText("on my way").waitFor();
    expect((await api("/api/v1/alerts")).alerts.some((one) => one.note === "on my way"), "the leader does not know");
  });
  await check("a draft is looked at while it is written", async () => {
    await go(page, base, "/benchmark");
    await page.getByLabel("Specification").fill("kind: train\nepohcs: 3\n");
    await page.getByText("epochs", { exact: false }).first().waitFor();
    await page.locator(".mistakes li").first().waitFor();
    expect(await page.getByRole("button", { name: "Start" }).isDisabled(), "it may be started");
    await page.getByLabel("Specification").fill("kind: null\nrepeat: 3\n");
    await page.getByText("A study of 3 runs").waitFor();
    await page.getByLabel("Specification").fill("kind: train\nmodel: mlp\ndataset: spiral\n");
    await until("what it would be called", async () => (await page.getByLabel("name", { exact: true }).getAttribute("placeholder")) === "mlp on spiral");
  });
  await check("a benchmark is started from the form, its curve grows while it runs, and it is stopped", async () => {
    await scene.agent();
    await go(page, base, "/benchmark?node=here");
    await page.reload();
    const program = "import time\\nfor i in range(600): print('step %d loss=%.4f' % (i, 1 / (i + 1))); time.sleep(0.2)";
    await page.getByLabel("Specification").fill(`kind: command\nname: from the browser\ncommand: [python3, -u, -c, "${program}"]\n`);
    await page.getByText("One run of kind command").waitFor();
    await page.getByLabel("Run on").selectOption("here");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("heading", { name: "from the browser" }).waitFor();
    await page.getByRole("heading", { name: "loss", exact: true }).waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Stop…" }).click();
    await page.getByRole("button", { name: "Stop it" }).click();
    await page.getByText("interrupted").first().waitFor({ timeout: 30_000 });
  });
  await check("below a prefix of a proxy everything is the same", async () => {
    const proxy = await prefixProxy(base);
    const below = `http://127.0.0.1:${proxy.address().port}/some/prefix`;
    const other = await look();
    await other.goto(`${below}/#/login?token=${admin}`);
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    await go(other, below, "/cluster");
    await other.locator(".u-over").first().waitFor();
    expect(other.wrong.length === 0, other.wrong.join("; "));
    await other.context().close();
    proxy.closeAllConnections?.();
    proxy.close();
  });
  await check("a leader that goes away is told of, and comes back by itself", async () => {
    await go(page, base, "/nodes");
    await cluster.stop("leader");
    await page.getByText("has not answered since").waitFor({ timeout: 30_000 });
    await page.screenshot({ path: join(pictures, "away.png") });
    expect((await page.getByText("sim001").count()) > 0, "what was known is gone");
    await cluster.lead(new URL(base).host);
    await page.getByText("has not answered since").waitFor({ state: "detached", timeout: 30_000 });
  });
});
