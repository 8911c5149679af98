// People in the dashboard: the first administrator, users and what they may, links for guests; in a real browser.
//   node tests/accounts.mjs ASSAY REPOSITORY SCREENSHOTS
import { readFileSync } from "node:fs";
import { kScreens } from "./checks.mjs";
import { People } from "./people.mjs";
import { play } from "./scene.mjs";
import { kHostile, prefixProxy, sleep, until } from "./stage.mjs";

await play(async (scene) => {
  const { cluster, checks, checks: { check, expect } } = scene;
  const { logIn, shownOnce, invite, choosePassword, share, guest, open, ask, kPassword } = new People(checks);
  const base = await scene.lead();
  const once = await scene.firstLink();
  scene.fleet(3, 4);
  await scene.agent();
  cluster.run("run", "examples/command-sweep.yaml", "--tag", "demo");
  cluster.run("exec", "--quiet", "--name", kHostile, "--", "python3", "-c", "for i in range(60): print('step %d loss=%.4f' % (i, 1/(i+1)))");
  const runs = JSON.parse(cluster.run("runs", "--json")).result.runs;
  const hostile = runs.find((run) => run.name === kHostile).id;
  const sweep = runs.filter((run) => run.study);
  const study = sweep[0].study;
  const two = `${sweep[0].id},${sweep[3].id}`;

  const admin = await checks.look();

  await check("the first administrator comes by the link that `assay serve` prints, and chooses a password", async () => {
    await admin.goto(once);
    await admin.getByRole("heading", { name: "Welcome" }).waitFor();
    await checks.examine(admin, "accounts-welcome");
    await admin.getByLabel("New password", { exact: false }).fill("short");
    await admin.getByLabel("Once more").fill("short");
    await admin.getByRole("button", { name: "Set the password" }).click();
    expect(await admin.getByRole("heading", { name: "Welcome" }).isVisible(), "five characters were good enough");
    await choosePassword(admin, admin.url());
    await admin.getByText("admin · admin").waitFor();
  });
  await check("that link works once", async () => {
    const other = await guest(once);
    await other.getByRole("alert").waitFor();
    expect(/used already/.test(await other.getByRole("alert").textContent()), "no reason");
    await other.context().close();
  });
  await check("out, refused with a wrong password, and in again", async () => {
    await admin.getByRole("button", { name: "Log out" }).click();
    await admin.getByLabel("Name", { exact: true }).waitFor();
    await checks.examine(admin, "accounts-login");
    await logIn(admin, base, "admin", "wrong password");
    await admin.getByRole("alert").waitFor();
    await logIn(admin, base, "admin");
    await admin.getByRole("heading", { name: "Overview" }).waitFor();
    await admin.reload();
    await admin.getByRole("heading", { name: "Overview" }).waitFor();
  });
  await check("nodes are seen", async () => {
    await checks.go(admin, base, "/nodes");
    await admin.getByText("sim001").waitFor();
  });
  await check("a training is started on a node and ends", async () => {
    await checks.go(admin, base, "/benchmark?node=here");
    await admin.getByLabel("Specification").fill('kind: command\nname: from the browser\ncommand: [python3, -u, -c, "for i in range(20): print(\'step %d loss=%.4f\' % (i, 1 / (i + 1)))"]\n');
    await admin.getByText("One run of kind command").waitFor();
    await admin.getByLabel("Run on").selectOption("here");
    await admin.getByRole("button", { name: "Start" }).click();
    await admin.getByRole("heading", { name: "from the browser" }).waitFor();
    await admin.locator("h1 + .badge", { hasText: /(^|\s)(valid|flagged)$/ }).waitFor({ timeout: 60_000 });
  });

  let [vera, ada] = [null, null];
  await check("users are made with a link, by name and role; what they are called is text", async () => {
    vera = await checks.look();
    ada = await checks.look();
    const toVera = await invite(admin, base, "vera", "viewer", kHostile);
    const toAda = await invite(admin, base, "ada", "user", "Ada Lovelace");
    await admin.getByText(kHostile).waitFor();
    await admin.getByRole("button", { name: "New user…" }).click();
    await admin.getByLabel("Name to log in with").fill(kHostile);
    await admin.getByRole("button", { name: "Make the account" }).click();
    await admin.locator("dialog").getByRole("alert").waitFor();
    await admin.locator("dialog").getByRole("button", { name: "Cancel" }).click();
    await checks.examine(admin, "admin-users");
    await choosePassword(vera, toVera);
    await choosePassword(ada, toAda);
    await vera.getByText("vera · viewer").waitFor();
    await checks.go(vera, base, "/account");
    await vera.getByRole("heading", { name: kHostile }).waitFor();
    for (const page of [admin, vera]) {
      expect((await page.evaluate(() => window.pwned)) === undefined, "it ran");
      expect((await page.locator("main img").count()) === 0, "there is a picture");
    }
  });
  await check("whoever has no time for a password looks around first", async () => {
    const hasty = await guest(await invite(admin, base, "hasty", "viewer"));
    await hasty.getByRole("button", { name: "Later" }).click();
    await hasty.getByRole("heading", { name: "Overview" }).waitFor();
    await hasty.reload();
    await hasty.getByText("hasty · viewer").waitFor();
    await hasty.context().close();
  });
  await check("a viewer is offered nothing that they may not, and is refused it", async () => {
    await checks.go(vera, base, "/runs");
    for (const name of ["Admin", "Benchmark"]) expect((await vera.getByRole("link", { name, exact: true }).count()) === 0, `${name} is offered`);
    await checks.go(vera, base, `/runs/${hostile}`);
    for (const name of ["Share…", "Delete…", "Stop…"]) expect((await vera.getByRole("button", { name }).count()) === 0, `${name} is offered`);
    expect((await vera.getByRole("link", { name: "Clone…" }).count()) === 0, "cloning is offered");
    await checks.go(vera, base, "/nodes/sim001");
    expect((await vera.getByRole("button", { name: "Drain…" }).count()) === 0, "draining is offered");
    await checks.go(vera, base, "/admin", { errors: true });
    await vera.getByText("This is not for the role viewer").waitFor();
    await checks.examine(vera, "accounts-not-for-viewers", { errors: true });
    for (const [method, path, body] of [
      ["GET", "/api/v1/users"], ["GET", "/api/v1/audit"], ["POST", "/api/v1/links", { kind: "run", runs: [hostile] }], ["DELETE", `/api/v1/runs/${hostile}`],
      ["POST", "/api/v1/nodes/sim001/drain", {}], ["POST", "/api/v1/users", { name: "eve", role: "admin" }], ["PUT", "/api/v1/users/vera", { role: "admin" }],
    ]) {
      const { status } = await ask(vera, method, path, body);
      expect(status === 403, `${method} ${path}: ${status}`);
    }
  });
  await check("a user shares, and changes no run of others", async () => {
    await checks.go(ada, base, `/runs/${hostile}`);
    await ada.getByRole("button", { name: "Share…" }).waitFor();
    expect((await ada.getByRole("button", { name: "Delete…" }).count()) === 0, "deleting is offered");
    expect((await ask(ada, "DELETE", `/api/v1/runs/${hostile}`)).status === 403, "it is not refused");
  });
  await check("a session that is over leads to the login and back to the same view", async () => {
    await checks.go(vera, base, "/nodes?sort=-name");
    await vera.context().clearCookies();
    await vera.getByText("Your session is over").waitFor();
    await vera.getByLabel("Name", { exact: true }).fill("vera");
    await vera.getByLabel("Password", { exact: true }).fill(kPassword);
    await vera.getByRole("button", { name: "Log in", exact: true }).click();
    await vera.getByRole("heading", { name: "Nodes" }).waitFor();
    expect(vera.url().endsWith("/nodes?sort=-name"), vera.url());
  });
  await check("a token of one's own is shown once, works, and is revoked", async () => {
    await checks.go(ada, base, "/account");
    await ada.getByRole("button", { name: "New token…" }).click();
    await ada.locator("dialog").getByLabel("Name").fill("ci");
    expect((await ada.locator("dialog").getByLabel("admin", { exact: false }).count()) === 0, "more than a user may is offered");
    await ada.getByRole("button", { name: "Make the token" }).click();
    const secret = await shownOnce(ada);
    const asked = () => fetch(`${base}/api/v1/nodes`, { headers: { Authorization: `Bearer ${secret}` } });
    expect((await asked()).status === 200, "it does not work");
    await checks.examine(ada, "account");
    await checks.go(admin, base, "/admin?tab=tokens");
    await admin.getByRole("row", { name: /ci ada/ }).waitFor();
    await checks.examine(admin, "admin-tokens");
    expect(!(await ada.content()).includes(secret), "it is still there");
    await ada.getByRole("row", { name: /ci/ }).getByRole("button", { name: "Revoke…" }).click();
    await ada.locator("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await until("the end of it", async () => (await asked()).status === 401);
  });

  const addresses = {};
  await check("runs, studies, comparisons and reports are shared", async () => {
    for (const [name, path] of [["run", `/runs/${hostile}`], ["study", `/studies/${study}`], ["compare", `/compare?of=${two}`], ["report", `/reports?of=study:${study}`]]) {
      await checks.go(ada, base, path);
      addresses[name] = await share(ada);
      expect(addresses[name].startsWith(`${base}/#/shared/`), addresses[name]);
    }
  });
  for (const name of ["run", "study", "compare", "report"]) {
    await check(`a shared ${name} is seen logged out, and leads nowhere else`, async () => {
      const page = await guest(addresses[name]);
      const refused = [];
      page.on("response", (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`));
      await open(page);
      await sleep(600);
      await checks.examine(page, `shared-${name}`);
      const links = await page.locator("a[href]").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
      expect(links.length === 0, `it leads to ${links.join(", ")}`);
      for (const forbidden of ["Share…", "Delete…", "Stop", "Clone…", "Log out"]) expect((await page.getByText(forbidden, { exact: true }).count()) === 0, `${forbidden} is offered`);
      expect(refused.length === 0, refused.join(", "));
      await page.context().close();
    });
  }
  await check("every part of a shared run and study can be read", async () => {
    for (const [name, tabs] of [["run", ["System", "Settings", "Provenance", "Log", "Files"]], ["study", ["Plan and progress", "Settings and results", "Specification"]]]) {
      const page = await guest(addresses[name]);
      const refused = [];
      page.on("response", (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`));
      await open(page);
      for (const tab of tabs) {
        await page.getByRole(name === "run" ? "tab" : "button", { name: tab }).click();
        await open(page);
        await sleep(200);
        expect((await page.locator(".notice.error").count()) === 0, `${tab} has an error`);
        expect((await page.locator("a[href]").count()) === 0, `${tab} leads elsewhere`);
      }
      await page.reload();
      await open(page);
      expect(refused.length === 0, refused.join(", "));
      await page.context().close();
    }
  });
  await check("a guest saves what is shown as CSV", async () => {
    const page = await guest(addresses.report);
    await open(page);
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV", exact: true }).first().click()]);
    expect(readFileSync(await file.path(), "utf8").split("\n").length > 3, "it is empty");
    await page.context().close();
  });
  await check("what a guest may is what the link shows", async () => {
    const secret = decodeURIComponent(addresses.run.split("/#/shared/")[1]);
    for (const path of [`/api/v1/runs/${sweep[0].id}`, "/api/v1/runs", "/api/v1/nodes", `/api/v1/reports?of=${sweep[0].id}`, "/api/v1/users"]) {
      const { status } = await fetch(base + path, { headers: { Authorization: `Bearer ${secret}` } });
      expect(status === 403, `${path}: ${status}`);
    }
  });
  await check("a link that is revoked, has expired or was none says so", async () => {
    const open_ = await guest(addresses.run);
    await open(open_);
    await checks.go(ada, base, "/account");
    await checks.examine(ada, "account-links");
    await ada.getByRole("row", { name: `run ${hostile}` }).getByRole("button", { name: "Revoke…" }).click();
    await ada.locator("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await open_.getByText("This link does not work any more").waitFor();
    const again = await guest(addresses.run);
    await again.getByText("This link does not work any more").waitFor();
    await checks.examine(again, "shared-ended", { errors: true });
    await open_.context().close();
    await again.context().close();
    const { body } = await ask(ada, "POST", "/api/v1/links", { kind: "run", runs: [hostile], for: "1s" });
    await sleep(1100);
    const late = await guest(`${base}/#/shared/${body.secret}`);
    await late.getByText("This link does not work any more").waitFor();
    await late.context().close();
    const none = await guest(`${base}/#/shared/nonsense`);
    await none.getByText("This link does not work any more").waitFor();
    await none.context().close();
  });

  const panelNames = async (page) => (await ask(page, "GET", "/api/v1/panels")).body.panels.map((one) => one.name);
  await check("a panel is saved, renamed, shared with everybody, and others save it as their own", async () => {
    await checks.go(ada, base, "/panels");
    await ada.getByText("No panel yet").waitFor();
    await checks.go(ada, base, `/panels?runs=${hostile}`);
    await ada.getByLabel("loss", { exact: true }).check();
    await ada.getByLabel("Name", { exact: true }).fill("Nights");
    await ada.getByRole("button", { name: "Save", exact: true }).click();
    await ada.getByText("Saved to your account").waitFor();
    await checks.go(vera, base, "/panels");
    expect((await vera.getByText("Nights").count()) === 0, "others see what is hers alone");
    await ada.getByLabel("Name", { exact: true }).fill(kHostile);
    await ada.getByRole("button", { name: "Save the changes" }).click();
    await ada.getByRole("button", { name: "Saved", exact: true }).waitFor();
    await ada.getByRole("button", { name: "Share with everybody" }).click();
    await ada.getByRole("button", { name: "Share no longer" }).waitFor();
    await checks.examine(ada, "panel-own");
    await vera.reload();
    await vera.getByRole("heading", { name: "Shared with everybody by others" }).waitFor();
    await vera.getByText("by ada").waitFor();
    expect((await vera.getByRole("button", { name: /Remove/ }).count()) === 0, "removing it is offered to her");
    await vera.getByRole("link", { name: kHostile, exact: true }).click();
    await vera.getByText("ada shares it with everybody").waitFor();
    expect((await vera.getByRole("button", { name: /^Share/ }).count()) === 0, "sharing is offered to a viewer");
    await vera.getByLabel("Name", { exact: true }).fill("Mine");
    await vera.getByRole("button", { name: "Save as your own" }).click();
    await vera.getByRole("button", { name: "Saved", exact: true }).waitFor();
    expect(JSON.stringify(await panelNames(vera)) === JSON.stringify([kHostile, "Mine"]), (await panelNames(vera)).join());
    expect(!(await panelNames(ada)).includes("Mine"), "hers is seen by others");
    await checks.go(vera, base, "/panels");
    await checks.examine(vera, "panels");
    expect((await vera.evaluate(() => window.pwned)) === undefined && (await vera.locator("main img").count()) === 0, "a name became markup");
  });
  await check("panels that this browser had kept are brought over, once", async () => {
    await vera.evaluate(() => localStorage.setItem("assay-panels", JSON.stringify([{ key: "1", query: { metrics: "loss", title: "Old one" } }, { key: "2", query: { metrics: "val_loss" } }])));
    await vera.reload();
    await vera.getByText(/2.panels are kept by this browser alone: Old one · val_loss/).waitFor();
    await vera.getByRole("button", { name: "Save them to your account" }).click();
    await vera.getByRole("link", { name: "Old one", exact: true }).waitFor();
    expect((await vera.evaluate(() => localStorage.getItem("assay-panels"))) === null, "they are still there");
    expect((await panelNames(vera)).includes("val_loss"), "one is lost");
    expect((await vera.getByText("kept by this browser").count()) === 0, "they are offered again");
  });
  await check("an administrator removes a panel that is shared; without an account nothing is saved", async () => {
    await checks.go(admin, base, "/panels");
    await admin.getByRole("button", { name: `Remove ${kHostile}…` }).click();
    await admin.locator("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await until("its end", async () => (await panelNames(ada)).length === 0);
    const token = await scene.enter("user");
    await checks.go(token, base, "/panels?metrics=loss");
    await token.getByText("To save panels, log in with name and password").waitFor();
    expect((await token.getByRole("button", { name: "Save", exact: true }).count()) === 0, "saving is offered");
    await token.context().close();
  });
  await check("an administrator edits the catalog and quotas, and a user has to keep to them", async () => {
    await checks.go(admin, base, "/admin?tab=offers");
    await admin.getByText("There is no catalog").waitFor();
    await admin.getByRole("button", { name: "New offer…" }).click();
    await admin.getByLabel("Name", { exact: true }).fill("smi");
    await admin.locator("dialog").getByLabel("Kind").selectOption("command");
    await admin.getByLabel("Command lines", { exact: false }).fill("nvidia-smi *");
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByRole("row", { name: /smi/ }).waitFor();
    await admin.getByRole("button", { name: "New quota…" }).click();
    await admin.locator("dialog select").selectOption("ada");
    await admin.getByLabel("Runs that wait", { exact: false }).fill("2");
    await admin.getByLabel("GPUs in use", { exact: false }).fill("3");
    await admin.getByRole("button", { name: "Save" }).click();
    await admin.getByRole("row", { name: /ada/ }).waitFor();
    await checks.examine(admin, "admin-offers");
    expect((await ask(ada, "POST", "/api/v1/runs", { spec: "kind: null\n", node: "here" })).status === 403, "what is not offered is started");
    await checks.go(ada, base, "/benchmark");
    await ada.getByText("You may start what the catalog has").click();
    await ada.getByText("nvidia-smi *").waitFor();
    await checks.examine(ada, "benchmark-offers");
    await ada.getByRole("button", { name: "Begin with smi" }).click();
    await until("its command", async () => /^kind: command\ncommand: nvidia-smi$/m.test(await ada.getByLabel("Specification").inputValue()));
    await ada.getByLabel("Specification").fill("kind: null\n");
    await ada.getByText(/the catalog does not offer this run.*It offers: smi/).waitFor();
    const { quota } = (await ask(ada, "GET", "/api/v1/quota")).body;
    expect(quota.runs_at_once === 2 && quota.gpus_at_once === 3 && (quota.runs_per_order ?? null) === null && (quota.gpu_hours_per_day ?? null) === null, `her quota: ${JSON.stringify(quota)}`);
    await admin.getByRole("row", { name: /ada/ }).getByRole("button", { name: "Remove…" }).click();
    await admin.locator("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await admin.getByText("Nobody is limited").waitFor();
  });
  await check("the audit log says who did what, and is filtered and saved", async () => {
    await checks.go(admin, base, "/admin?tab=audit");
    await admin.getByText("POST /api/v1/links").first().waitFor();
    await checks.examine(admin, "admin-audit");
    await admin.getByLabel("Who").fill("user vera");
    await admin.getByLabel("Who").press("Enter");
    await until("hers alone", async () => (await admin.getByText("POST /api/v1/links").count()) === 1);
    const [file] = await Promise.all([admin.waitForEvent("download"), admin.getByRole("button", { name: "CSV" }).click()]);
    const text = readFileSync(await file.path(), "utf8");
    expect(text.includes("user vera") && !text.includes("user ada"), text.slice(0, 300));
  });
  await check("links of everybody are listed; a leader without problems says so", async () => {
    await checks.go(admin, base, "/admin?tab=links");
    await admin.getByRole("row", { name: /ada/ }).first().waitFor();
    await checks.examine(admin, "admin-links");
    await checks.go(admin, base, "/admin");
    await admin.getByText("assay backup FOLDER").first().waitFor();
    await checks.examine(admin, "admin-leader");
  });
  await check("every new view fits phones and dark rooms", async () => {
    for (const [name, options] of kScreens) {
      const page = await checks.look(options);
      await page.goto(`${base}/#/`);
      await page.getByLabel("Name", { exact: true }).waitFor();
      await checks.fits(page, `accounts-login-${name}`, options);
      await logIn(page, base, "admin");
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      for (const [one, path] of [["users", "/admin?tab=users"], ["tokens", "/admin?tab=tokens"], ["links", "/admin?tab=links"], ["offers", "/admin?tab=offers"], ["audit", "/admin?tab=audit"], ["leader", "/admin"], ["account", "/account"], ["panels", "/panels"]]) {
        await checks.go(page, base, path);
        await checks.fits(page, `admin-${one}-${name}`, options);
      }
      await page.context().close();
      const shared = await guest(addresses.compare, options);
      await open(shared);
      await checks.fits(shared, `shared-compare-${name}`, options);
      await shared.context().close();
    }
  });
  await check("below a prefix of a proxy people log in and open links, too", async () => {
    const proxy = await prefixProxy(base);
    const below = `http://127.0.0.1:${proxy.address().port}/some/prefix`;
    const page = await checks.look();
    await logIn(page, below, "admin");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await checks.go(page, below, `/runs/${hostile}`);
    const address = await share(page);
    expect(address.startsWith(`${below}/#/shared/`), address);
    await page.reload();
    await page.waitForSelector("main#content h1");
    await page.context().close();
    const other = await guest(address);
    await open(other);
    await other.getByRole("heading", { name: kHostile }).waitFor();
    await other.context().close();
    proxy.closeAllConnections?.();
    proxy.close();
  });
  await check("who is disabled is out at once, with their links; who is removed cannot come back", async () => {
    await checks.go(admin, base, "/admin?tab=users");
    await checks.go(ada, base, "/nodes");
    const row = () => admin.getByRole("row", { name: /ada/ });
    await row().getByRole("button", { name: "Disable" }).click();
    await row().getByText("disabled").waitFor();
    await ada.getByText("Your session is over").waitFor();
    const page = await guest(addresses.study);
    await page.getByText("This link does not work any more").waitFor();
    await page.context().close();
    await row().getByRole("button", { name: "Remove…" }).click();
    await admin.locator("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await until("her account to be gone", async () => (await row().count()) === 0);
    await logIn(ada, base, "ada");
    await ada.getByRole("alert").waitFor();
  });
  await check("nothing went wrong on any page", async () => {
    for (const page of [admin, vera, ada]) expect(page.wrong.length === 0, page.wrong.join("; "));
  });
});
