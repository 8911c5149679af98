// A whole day with the real engine in a real browser: from the first start to two trainings that are compared, shared and saved.
//   node tests/journey.mjs ASSAY REPOSITORY SCREENSHOTS
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { People } from "./people.mjs";
import { play } from "./scene.mjs";
import { until } from "./stage.mjs";

if (!process.env.ASSAY_ENGINE && !existsSync(join(dirname(process.argv[2]), "assay-engine"))) {
  console.log("skipped: there is no assay-engine beside assay");
  process.exit(77);
}

await play(async (scene) => {
  const { checks, checks: { check, expect } } = scene;
  const { logIn, invite, choosePassword, share, guest, open, ask } = new People(checks);
  const base = await scene.lead();
  const once = await scene.firstLink();
  scene.fleet(2, 4);
  await scene.agent("here");
  const page = await checks.look();
  /** Fills the form and presses Start; the page is then the run's. */
  const start = async (settings) => {
    for (const [label, value] of Object.entries(settings)) await page.getByLabel(label, { exact: true }).fill(value);
    await page.getByLabel("Run on").selectOption("here");
    await page.getByText("One run of kind train").waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("heading", { name: settings.name, exact: true }).waitFor();
    return page.url().split("/runs/")[1].split("?")[0];
  };
  const runOf = async (id) => (await ask(page, "GET", `/api/v1/runs/${id}`)).body;
  const ended = (id) => until("its end", async () => (await runOf(id)).state === "ended", 240_000);

  await check("first start: an administrator, who logs out and in again", async () => {
    await choosePassword(page, once);
    await page.getByRole("button", { name: "Log out" }).click();
    await logIn(page, base, "admin");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
  await check("the nodes are there, and which of them takes runs", async () => {
    await page.getByRole("link", { name: "Nodes", exact: true }).click();
    for (const name of ["sim001", "sim002", "here"]) await page.getByRole("link", { name, exact: true }).waitFor();
  });
  const ids = {};
  await check("a training of the real engine is started from the form and watched while it learns", async () => {
    await page.getByRole("link", { name: "Benchmark", exact: true }).click();
    ids.watched = await start({ name: "watched", epochs: "1000000" });
    for (const metric of ["loss", "learning_rate", "samples_per_second", "host_rss_bytes"]) await page.getByRole("heading", { name: new RegExp(`^${metric}`) }).waitFor({ timeout: 120_000 });
    await page.getByRole("button", { name: "Table" }).first().click();
    const last = () => page.getByRole("table").first().getByRole("cell").nth(1).textContent();
    const before = await last();
    await until("another value without a reload", async () => (await last()) !== before, 60_000);
    await checks.examine(page, "journey-live");
    await page.getByRole("button", { name: "Stop…" }).click();
    await page.getByRole("button", { name: "Stop it" }).click();
    await page.getByText("interrupted").first().waitFor({ timeout: 60_000 });
  });
  await check("it is cloned with changes, twice, and each ends with a verdict", async () => {
    for (const [name, rate] of [["slow", "0.0001"], ["fast", "0.01"]]) {
      await checks.go(page, base, `/runs/${ids.watched}`);
      await page.getByRole("link", { name: "Clone…" }).click();
      await until("the settings of the first", async () => (await page.getByLabel("epochs", { exact: true }).inputValue()) === "1000000");
      ids[name] = await start({ name, epochs: "2", "learning rate": rate });
      await ended(ids[name]);
      const run = await runOf(ids[name]);
      expect(run.verdict === "valid" || run.verdict === "flagged", `${name} ended as ${run.verdict}: ${JSON.stringify(run.error)}`);
      expect(run.metrics.val_accuracy > 0, `${name} has learnt nothing that is measured`);
    }
    await page.reload();
    await open(page);
    await checks.examine(page, "journey-run");
  });
  await check("two runs are chosen in the list, and what differs between them is said first", async () => {
    await checks.go(page, base, "/runs");
    for (const name of ["slow", "fast"]) await page.getByRole("row", { name: new RegExp(`\\b${name}\\b`) }).getByRole("checkbox").check();
    await page.getByRole("link", { name: /^Compare \d/ }).click();
    const row = page.getByRole("row", { name: /learning_rate/ }).first();
    await row.waitFor();
    expect(/0\.0001[^]*0\.01|0\.01[^]*0\.0001/.test(await row.textContent()), await row.textContent());
    await page.getByText(/(fast|slow): .* (fast|slow) in /).first().waitFor();
    await page.getByRole("heading", { name: /^loss/ }).waitFor();
    await checks.examine(page, "journey-compare");
  });
  await check("the comparison is shared, opened logged out, and its curves are saved as CSV", async () => {
    const other = await guest(await share(page));
    await open(other);
    await other.getByRole("row", { name: /learning_rate/ }).first().waitFor();
    const [file] = await Promise.all([other.waitForEvent("download"), other.getByRole("button", { name: "loss as CSV", exact: true }).click()]);
    const lines = readFileSync(await file.path(), "utf8").trim().split("\n");
    expect(lines[0].startsWith("step,") && /slow/.test(lines[0]) && /fast/.test(lines[0]), lines[0]);
    expect(lines.length > 10, `${lines.length} lines`);
    expect((await other.locator("a[href]").count()) === 0, "it leads elsewhere");
    await other.context().close();
  });
  await check("a viewer sees the runs, and starts and stops none", async () => {
    const vera = await checks.look();
    await choosePassword(vera, await invite(page, base, "vera", "viewer"));
    await checks.go(vera, base, `/runs/${ids.fast}`);
    await vera.getByRole("heading", { name: /^loss/ }).waitFor();
    expect((await vera.getByRole("link", { name: "Benchmark", exact: true }).count()) === 0, "starting is offered");
    expect((await vera.getByRole("link", { name: "Clone…" }).count()) === 0, "cloning is offered");
    for (const [method, path, body] of [["POST", "/api/v1/runs", { spec: "kind: null\n", node: "here" }], ["POST", `/api/v1/runs/${ids.fast}/stop`], ["DELETE", `/api/v1/runs/${ids.fast}`]]) {
      const { status } = await ask(vera, method, path, body);
      expect(status === 403, `${method} ${path}: ${status}`);
    }
    await checks.go(vera, base, "/benchmark", { errors: true });
    await vera.getByText("This is not for the role viewer").waitFor();
    await vera.context().close();
  });
  await check("nothing went wrong on any page", async () => expect(page.wrong.length === 0, page.wrong.join("; ")));
});
