// The queue in the dashboard: what goes on, what waits and why, and who may change that; in a real browser, with real agents.
//   node tests/queue.mjs ASSAY REPOSITORY SCREENSHOTS
import { kScreens } from "./checks.mjs";
import { play } from "./scene.mjs";
import { sleep, until } from "./stage.mjs";

await play(async (scene) => {
  const { checks, checks: { check, expect } } = scene;
  const base = await scene.lead();
  const queued = async () => (await scene.get("/api/v1/queue")).runs;
  const spec = (name, seconds) => `kind: command\nname: ${name}\ncommand: [python3, -c, "import time; time.sleep(${seconds})"]\n`;
  const submit = async (name, seconds, more = {}) => (await scene.made("POST", "/api/v1/runs", { spec: spec(name, seconds), ...more })).run;
  const page = await scene.enter("admin");
  const row = (name) => page.getByRole("row", { name: new RegExp(name) });
  const table = (name) => page.getByRole("table", { name });

  await check("an empty queue says how it is filled", async () => {
    await checks.go(page, base, "/queue");
    await page.getByText("Nothing goes on, nothing waits").waitFor();
    await checks.examine(page, "queue-empty");
  });
  await check("the form starts a run anywhere it fits, and says so before", async () => {
    await scene.agent();
    await checks.go(page, base, "/benchmark");
    await page.reload();
    await page.getByLabel("Specification").fill(spec("first", 600));
    await page.getByText("One run of kind command").waitFor();
    await page.getByText(/Would start now on here/).waitFor();
    await checks.examine(page, "benchmark-outlook");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("heading", { name: "first" }).waitFor();
    await until("it to begin", async () => (await queued()).some((run) => run.name === "first" && run.state === "running"), 120_000);
  });
  await check("what goes on and what waits is told apart, with where and why", async () => {
    for (const name of ["second", "third"]) await submit(name, 600);
    await submit("fourth", 600, { hold: true });
    await checks.go(page, base, "/queue");
    await table("Runs that go on").getByText("first").waitFor();
    await table("Runs that go on").getByRole("link", { name: "here" }).waitFor();
    await table("Runs that wait").getByText("third").waitFor();
    await row("fourth").getByText("when it is released").waitFor();
    await until("a reason", async () => (await row("second").locator(".why").textContent()).trim().length > 5);
    await checks.examine(page, "queue");
  });
  await check("a run is held and released", async () => {
    await row("second").getByRole("button", { name: "Hold" }).click();
    await row("second").getByRole("button", { name: "Release" }).waitFor();
    expect((await queued()).find((run) => run.name === "second").held, "the leader does not hold it");
    await row("second").getByRole("button", { name: "Release" }).click();
    await row("second").getByRole("button", { name: "Hold" }).waitFor();
  });
  await check("one that is more urgent comes first", async () => {
    await row("third").getByRole("button", { name: "Priority…" }).click();
    await page.getByLabel("Priority").fill("50");
    await page.getByRole("button", { name: "Set" }).click();
    await row("third").getByText("50").waitFor();
    const order = (await queued()).filter((run) => run.state === "queued" && !run.held).map((run) => run.name);
    expect(order.indexOf("third") < order.indexOf("second"), order.join());
  });
  await check("a run's own page says why it waits", async () => {
    const id = (await queued()).find((run) => run.name === "second").run;
    await checks.go(page, base, `/runs/${id}`);
    await page.getByText(/It waits: .* Starts probably/).waitFor();
  });
  await check("a run is taken out of the queue, and one that goes on is stopped", async () => {
    await checks.go(page, base, "/queue");
    await row("fourth").getByRole("button", { name: "Cancel…" }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await row("fourth").waitFor({ state: "detached" });
    await table("Runs that go on").getByRole("row", { name: /first/ }).getByRole("button", { name: "Stop…" }).click();
    await page.getByRole("button", { name: "Stop it" }).click();
    await table("Runs that go on").getByText("third").waitFor({ timeout: 120_000 });
  });
  await check("who may not is offered nothing: users see others' runs, viewers see all of it", async () => {
    for (const role of ["user", "viewer"]) {
      const other = await scene.enter(role);
      await checks.go(other, base, "/queue");
      await other.getByText("second").waitFor();
      for (const name of ["Hold", "Priority…", "Cancel…", "Stop…"]) expect((await other.getByRole("button", { name }).count()) === 0, `${name} is offered to ${role}`);
      await checks.go(other, base, "/queue?mine=1");
      await other.getByText("None of yours goes on or waits").waitFor();
      await other.context().close();
    }
  });
  await check("who uses the nodes through Slurm, and what waits there, is told beside it", async () => {
    const other = await scene.enter("viewer");
    const now = new Date().toISOString();
    const job = { node_count: 1, partition: "gpu", since: now };
    const jobs = [
      { ...job, id: "12", user: "ada", name: "train <b>", state: "RUNNING", nodes: "here", on: ["here"], gpus: 2 },
      { ...job, id: "13_[4-9]", user: "bob", name: "sweep", state: "PENDING", nodes: "", on: [], reason: "Resources" },
    ];
    await other.route("**/api/v1/slurm/jobs", (route) => route.fulfill({ json: { told_by: "login1", as_of: now, keeps_private: false, left_out: 2, problem: "Slurm does not answer", jobs } }));
    const slurm = other.getByRole("table", { name: "Jobs of Slurm" });
    await checks.go(other, base, "/queue");
    await slurm.getByText("train <b>").waitFor();
    await slurm.getByText("Resources").waitFor();
    await other.getByText("Slurm does not answer").waitFor();
    await checks.examine(other, "queue-slurm");
    await checks.go(other, base, "/nodes");
    await slurm.getByRole("link", { name: "here" }).waitFor();
    expect((await slurm.getByText("bob").count()) === 0, "what waits is on no node");
    await checks.examine(other, "nodes-slurm");
    await other.context().close();
  });
  for (const [name, options] of kScreens) {
    await check(`${name}: the queue fits and is readable`, async () => {
      const other = await scene.enter("admin", options);
      await checks.go(other, base, "/queue");
      await sleep(300);
      await checks.fits(other, `queue-${name}`, options);
      await other.context().close();
    });
  }
});
