// What administrators and owners of runs change in the dashboard: machines that join, prices, tags; in a real browser.
//   node tests/administration.mjs ASSAY REPOSITORY SCREENSHOTS
import { kScreens } from "./checks.mjs";
import { ForgedAgent } from "./forged_agent.mjs";
import { play } from "./scene.mjs";
import { sleep, until } from "./stage.mjs";

const agents = [];
await play(async (scene) => {
  const { cluster, checks, checks: { check, expect } } = scene;
  const api = scene.get;
  const base = await scene.lead();
  scene.fleet(2, 2);
  cluster.run("run", "examples/command-sweep.yaml", "--tag", "demo");
  const runs = JSON.parse(cluster.run("runs", "--json")).result.runs;
  await until("nodes", async () => (await api("/api/v1/nodes")).nodes.length === 2);
  await until("their GPUs", async () => (await api("/api/v1/prices")).gpus.length === 1);

  const page = await scene.enter();
  const dialog = page.locator("dialog");
  const section = (name) => page.locator("section", { has: page.getByRole("heading", { name, exact: true }) });

  let secret = "";
  await check("a join token is made in the browser, with its terms, and shown once", async () => {
    await checks.go(page, base, "/admin?tab=agents");
    await page.getByRole("button", { name: "New join token…" }).click();
    await page.getByLabel("Name, if you want").fill("rack-3");
    await page.getByLabel("Only machines of these names").fill("new*");
    await page.getByLabel("So many machines").fill("2");
    await page.getByLabel("each waits here").check();
    await checks.examine(page, "admin-join-ask");
    await page.getByRole("button", { name: "Make the token" }).click();
    secret = await page.locator("dialog input[readonly]").inputValue();
    expect(secret.startsWith("assay-join:"), secret);
    await checks.examine(page, "admin-join-made");
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("row", { name: /rack-3/ }).getByText("0 of 2").waitFor();
    expect(!(await page.content()).includes(secret), "it is still there");
  });
  await check("a name that cannot be one is refused with the reason, and what was typed stays", async () => {
    await page.getByRole("button", { name: "New join token…" }).click();
    await page.getByLabel("Name, if you want").fill("<b>no</b>");
    await page.getByRole("button", { name: "Make the token" }).click();
    await dialog.getByRole("alert").waitFor();
    expect((await page.getByLabel("Name, if you want").inputValue()) === "<b>no</b>", "it is gone");
    await dialog.getByRole("button", { name: "Cancel" }).click();
  });
  await check("a machine that joins with it waits until somebody lets it in", async () => {
    for (const name of ["new1", "new2"]) {
      const agent = new ForgedAgent(base, secret);
      agents.push(agent);
      expect((await agent.join(name)).status === 202, `${name} does not wait`);
    }
    expect((await new ForgedAgent(base, secret).join("other")).status === 403, "any name will do");
    expect((await agents[0].hello({})).status === 401, "it is let in already");
    await page.getByText("2 machines wait to be let in").waitFor();
    await checks.examine(page, "admin-join-waits");
    await page.locator(".waits .row", { hasText: "new1" }).getByRole("button", { name: "Let it in" }).click();
    await page.getByText("One machine waits to be let in").waitFor();
    expect((await agents[0].hello({})).status === 200, "it is not let in");
    await agents[0].speak({});
    await until("the node", async () => (await api("/api/v1/nodes")).nodes.some((one) => one.name === "new1" && one.state === "online"));
  });
  await check("a machine is shut out, and forgotten once it is gone", async () => {
    agents[0].stop();
    await section("Machines that joined").getByRole("row", { name: /new1/ }).getByRole("button", { name: "Shut out…" }).click();
    await dialog.getByRole("button", { name: "Shut it out" }).click();
    await section("Machines that joined").getByRole("row", { name: /new1/ }).waitFor({ state: "detached" });
    expect((await agents[0].hello({})).status === 401, "its key is still good");
    await page.getByLabel("what is over, too").check();
    await section("Machines that joined").getByRole("row", { name: /new1/ }).getByText("revoked").waitFor();
    await until("it to be offline", async () => (await api("/api/v1/nodes")).nodes.some((one) => one.name === "new1" && one.state === "offline"), 60_000);
    await section("Machines that joined").getByRole("row", { name: /new1/ }).getByRole("button", { name: "Forget…" }).click();
    await dialog.getByRole("button", { name: "Forget it" }).click();
    await dialog.waitFor({ state: "detached" });
    await until("the end of it", async () => (await api("/api/v1/nodes")).nodes.every((one) => one.name !== "new1"));
  });
  await check("a token in wrong hands is revoked with all that came by it", async () => {
    const row = section("Tokens for machines").getByRole("row", { name: /rack-3/ });
    await row.getByRole("button", { name: "Revoke…" }).click();
    await dialog.getByLabel("shut these out, too").check();
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await row.getByText("revoked").waitFor();
    const keys = (await api("/api/v1/join-tokens")).keys;
    expect(keys.filter((key) => key.node.startsWith("new")).every((key) => key.state === "revoked"), JSON.stringify(keys));
    expect(keys.filter((key) => key.node.startsWith("sim")).every((key) => key.state === "good"), "others are out, too");
  });

  await check("prices are stated for the GPUs that are there", async () => {
    await checks.go(page, base, "/admin?tab=prices");
    await page.getByText("No price is stated").waitFor();
    await checks.examine(page, "admin-prices-none");
    await page.getByRole("button", { name: "State one…" }).click();
    await page.getByLabel("On demand, per GPU hour").fill("3.5");
    await page.getByLabel("Spot, per GPU hour").fill("1.25");
    await page.getByLabel("Where the figures come from").fill("a list of 2026");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /3\.50.USD\/GPUh.*1\.25.USD\/GPUh.*4 × NVIDIA/ }).waitFor();
    await section("What power costs").getByRole("button", { name: "Change…" }).click();
    await page.getByLabel("Per kilowatt hour", { exact: true }).fill("0.3");
    await page.getByLabel("Grams of CO₂").fill("380");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("380").waitFor();
    await checks.examine(page, "admin-prices");
    expect((await api("/api/v1/prices")).power.per_kwh === 0.3, "the leader does not know");
  });
  await check("a price that is none is refused with the reason", async () => {
    await page.getByRole("button", { name: "New price…" }).click();
    await page.getByLabel("GPU, as the driver names it").fill("*");
    await page.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
  });
  await check("a price is taken back", async () => {
    await page.getByRole("row", { name: /NVIDIA/ }).getByRole("button", { name: "Remove…" }).click();
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No price is stated").waitFor();
  });

  await check("a run's tags are added and removed on its page", async () => {
    await checks.go(page, base, `/runs/${runs[0].id}`);
    const tags = page.getByRole("group", { name: "Tags" });
    await tags.getByRole("button", { name: "Add a tag…" }).click();
    await page.getByLabel("New tags").fill("checked, gpu=h200");
    await page.keyboard.press("Enter");
    await tags.getByText("gpu=h200").waitFor();
    await checks.examine(page, "run-tags");
    await tags.getByRole("button", { name: "Remove the tag checked" }).click();
    await tags.getByText("checked", { exact: true }).waitFor({ state: "detached" });
    await tags.getByRole("button", { name: "Add a tag…" }).click();
    await page.getByLabel("New tags").fill('a"b');
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    expect(JSON.stringify((await api(`/api/v1/runs/${runs[0].id}`)).tags) === '["demo","gpu=h200"]', "the leader has others");
  });
  await check("tags of several runs are changed at once", async () => {
    const three = runs.slice(0, 3).map((run) => run.id);
    await checks.go(page, base, `/runs?runs=${three.join(",")}`);
    await page.getByRole("button", { name: "Tags…" }).click();
    await page.getByLabel("Add", { exact: true }).fill("night=1 good");
    await dialog.getByLabel("demo (3)").check();
    await checks.examine(page, "runs-tags");
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    for (const id of three) {
      const { tags } = await api(`/api/v1/runs/${id}`);
      expect(tags.includes("night=1") && tags.includes("good") && !tags.includes("demo"), `${id}: ${tags}`);
    }
    await until("the table", async () => (await page.getByRole("row", { name: /night=1/ }).count()) === 3);
  });
  await check("who changed what stands in the audit log", async () => {
    const done = (await api("/api/v1/audit?limit=200")).entries.filter((one) => one.status < 400).map((one) => one.what);
    for (const what of ["POST /api/v1/join-tokens", "DELETE /api/v1/join-tokens/{token}", "POST /api/v1/nodes/{node}/approve", "DELETE /api/v1/nodes/{node}/key", "PUT /api/v1/prices", "PUT /api/v1/prices/power", "DELETE /api/v1/prices", "POST /api/v1/runs/{run}/tags"]) expect(done.includes(what), what);
  });
  for (const [name, options] of kScreens) {
    await check(`${name}: what is new fits and is readable`, async () => {
      const other = await scene.enter("admin", options);
      for (const [one, path] of [["admin-agents", "/admin?tab=agents&all=1"], ["admin-prices", "/admin?tab=prices"], ["run-tags", `/runs/${runs[0].id}`]]) {
        await checks.go(other, base, path);
        await sleep(300);
        await checks.fits(other, `${one}-${name}`, options);
      }
      await other.context().close();
    });
  }
}).finally(() => agents.forEach((agent) => agent.stop()));
