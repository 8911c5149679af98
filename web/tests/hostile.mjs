// Names, tags, messages and lines that were written to do harm, wherever the dashboard shows something: it is text, never markup.
//   node tests/hostile.mjs ASSAY REPOSITORY SCREENSHOTS
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ForgedAgent } from "./forged_agent.mjs";
import { play } from "./scene.mjs";
import { sleep, until } from "./stage.mjs";

/** Harm by five ways; `what` says where it was put. */
const image = (what) => `<img src=x onerror="window.pwned='${what}'">`;
const script = (what) => `"></textarea></title><script>window.pwned='${what}'</script>`;
const drawing = (what) => `<svg/onload=window.pwned='${what}'>`;
const frame = (what) => `<iframe srcdoc="<script>parent.pwned='${what}'</script>">`;
const address = "javascript:window.pwned='address'";
// A tag has neither blanks nor quotes.
const tag = "harm=<img/src=x/onerror=window.pwned=1>";

/** What a view must not have: elements that a text brought along, addresses that are programs, harm that was done. */
async function expectHarmless(page, where) {
  const expect = (good, message) => {
    if (!good) throw new Error(message);
  };
  await sleep(300);
  const found = await page.evaluate(() => {
    const brought = [...document.querySelectorAll("body img, body iframe, body object, body embed, main script, svg[onload]")].map((one) => one.outerHTML.slice(0, 120));
    const handlers = [...document.querySelectorAll("body *")].filter((one) => one.getAttributeNames().some((name) => name.startsWith("on"))).map((one) => one.outerHTML.slice(0, 120));
    const programs = [...document.querySelectorAll("a[href], form[action]")].map((one) => one.getAttribute("href") ?? one.getAttribute("action") ?? "").filter((to) => /^\s*(javascript|data|vbscript):/i.test(to));
    return { brought, handlers, programs, pwned: window.pwned ?? null };
  });
  expect(found.pwned === null, `${where}: it ran (${found.pwned})`);
  for (const what of ["brought", "handlers", "programs"]) expect(found[what].length === 0, `${where}: ${found[what].join(" ")}`);
}
const shows = async (page, words, where) => until(`${where} to show ${words}`, async () => (await page.locator("body").innerText()).includes(words) || (await page.evaluate((words) => [...document.querySelectorAll("input, textarea, [title]")].some((one) => (one.value ?? one.title ?? "").includes(words)), words)));

let forged = null;
await play(async (scene) => {
  const { cluster, checks, checks: { check, expect }, ask: api, made } = scene;
  const base = await scene.lead();
  const { text: admin } = cluster.token("admin");

  const uuid = `GPU-${image("uuid")}`;
  const gpu = { id: uuid, facts: { name: image("gpu"), driver: drawing("driver"), index: image("index"), memory_bytes: "1000" } };
  await check("a node joins under a name of letters and digits alone", async () => {
    const agent = new ForgedAgent(base, cluster.token("agent").text);
    for (const name of [image("node"), "a b", "../x", "a/b", ""]) expect((await agent.join(name)).status === 400, `${name} joined`);
  });
  await check("a forged agent speaks", async () => {
    forged = new ForgedAgent(base, cluster.token("agent").text);
    for (const answer of [await forged.join("forged"), await forged.hello({ host: image("host"), os: script("os"), kernel: drawing("kernel"), cpu: image("cpu") })]) expect(answer.status === 200, answer.text);
    const labels = { gpu: uuid };
    const said = await forged.speak({
      devices: [gpu],
      series: [
        { name: "gpu.temperature_c", unit: "°C", labels, value: 95 }, { name: "gpu.util", unit: "ratio", labels, value: 0.5 }, { name: "gpu.power_w", unit: "W", labels: { ...labels, [image("label")]: image("value") }, value: 300 },
        { name: image("metric"), unit: image("unit"), labels: {}, value: 1 },
      ],
      events: [{ kind: "xid", about: uuid, message: image("message"), values: { xid: 48 } }, { kind: image("kind"), about: script("about"), message: frame("event"), values: {} }],
    });
    expect(said.status === 200, said.text);
    await until("the GPU", async () => (await api("GET", "/api/v1/nodes")).body.nodes.some((one) => one.devices.length > 0));
    await until("an alert of it", async () => (await api("GET", "/api/v1/alerts")).body.alerts.length > 0, 60_000);
  });

  const spec = join(cluster.folder, "hostile.yaml");
  writeFileSync(spec, ["kind: command", `name: ${JSON.stringify(script("study"))}`, `tags: [${JSON.stringify(tag)}]`, "command: [python3, -c, \"import sys; print('step 1 loss=0.5'); print(sys.argv[1])\", \"{params.mode}\"]", "params: {mode: plain}", "sweep:", `  params.mode: [${JSON.stringify(image("variant"))}, plain]`, ""].join("\n"));
  cluster.run("run", spec);
  cluster.run("exec", "--quiet", "--name", image("name"), "--tag", `x=${image("tag")}`, "--", "python3", "-c", `import sys\nprint(${JSON.stringify(image("line"))})\nprint(${JSON.stringify(frame("stderr"))}, file=sys.stderr)\nprint('step 1 loss=1.5')\nprint('step 2 ${"<b>bold</b>"}=2.5')`);
  const runs = JSON.parse(cluster.run("runs", "--json")).result.runs;
  const run = runs.find((one) => !one.study);
  const swept = runs.find((one) => one.study);

  await check("what administrators write is kept as it is", async () => {
    const [alert] = (await made("GET", "/api/v1/alerts")).alerts;
    await made("POST", `/api/v1/alerts/${alert.id}/acknowledge`, { note: image("note") });
    await made("POST", "/api/v1/silences", { for: "2h", node: "forged", rule: "overheating", reason: image("reason") });
    await made("POST", "/api/v1/nodes/forged/drain", { reason: image("drain") });
    await made("PUT", "/api/v1/catalog", { name: "offer", kind: "command", description: image("offer"), commands: [image("command")] });
    await made("PUT", "/api/v1/prices", { gpu: image("price"), on_demand: 1, currency: "USD", source: address });
    await made("PUT", "/api/v1/prices/power", { per_kwh: 0.3, currency: "EUR", source: image("power") });
    await made("POST", "/api/v1/users", { name: "eve", role: "viewer", full_name: image("user") });
    await made("POST", `/api/v1/runs/${run.id}/tags`, { add: [tag] });
    for (const [path, body] of [["/api/v1/join-tokens", { name: image("token") }], ["/api/v1/join-tokens", { nodes: image("pattern") }], ["/api/v1/users", { name: image("login"), role: "viewer" }], [`/api/v1/runs/${run.id}/tags`, { add: [image("tag")] }]]) {
      const { status } = await api("POST", path, body);
      expect(status === 400, `${path} took it: ${status}`);
    }
  });

  const page = await scene.enter();
  // Each view, with something harmful that it has to show as text.
  const views = [
    ["/", image("message").slice(0, 9)], ["/cluster?metric=gpu.temperature_c", image("index")], ["/cluster?metric=gpu.power_w", "forged"], ["/cluster?view=node&node=forged", image("index")], ["/nodes", image("gpu")], ["/nodes/forged", image("gpu")], ["/nodes/forged", image("drain")],
    ["/alerts", image("note")], ["/events", image("message")], ["/runs", image("name")], [`/runs?cols=name,tags,variant&filter=${encodeURIComponent(`tag=${tag}`)}`, tag], ["/runs?group=variant", image("variant")],
    [`/runs/${run.id}`, image("name")], [`/runs/${run.id}`, tag], [`/runs/${run.id}?tab=settings`, "pwned='line'"], [`/runs/${run.id}?tab=log`, image("line")], [`/runs/${run.id}?tab=provenance`, "hostname"], [`/runs/${run.id}?tab=artifacts`, "Files"],
    [`/compare?of=${run.id},${swept.id}`, image("name")], ["/studies", script("study")], [`/studies/${swept.study}`, script("study")], [`/studies/${swept.study}?tab=plan`, image("variant")], [`/benchmark?from=${swept.id}`, "window.pwned="],
    [`/reports?of=${run.id}`, image("name")], [`/reports?of=study:${swept.study}`, image("variant")], [`/panels?metrics=loss&title=${encodeURIComponent(image("title"))}&runs=${run.id},${swept.id}`, image("title")],
    ["/admin", "Leader"], ["/admin?tab=users", image("user")], ["/admin?tab=offers", image("offer")], ["/admin?tab=prices", image("price")], ["/admin?tab=prices", address], ["/admin?tab=agents", "forged"], ["/admin?tab=audit", "refused"],
    [`/runs?filter=${encodeURIComponent(image("filter"))}`, image("filter")], [`/${encodeURIComponent(image("path"))}`, ""], [`/login?to=${encodeURIComponent(address)}`, ""],
  ];
  for (const [path, words] of views) {
    await check(`${path.slice(0, 60)} shows it as text`, async () => {
      page.wrong.length = 0;
      await page.goto(`${base}/#${path}`);
      await page.waitForSelector("h1, .notice");
      if (words) await shows(page, words, path);
      await expectHarmless(page, path);
      expect(page.wrong.length === 0, page.wrong.join("; "));
    });
  }
  await check("the pointer names a line as text", async () => {
    await checks.go(page, base, "/cluster?metric=gpu.temperature_c");
    await page.locator(".u-over").first().hover({ position: { x: 200, y: 80 } });
    await expectHarmless(page, "a chart");
    await page.getByRole("button", { name: "Table" }).first().click();
    await expectHarmless(page, "the table of a chart");
  });
  await check("dialogs show it as text", async () => {
    await checks.go(page, base, "/admin?tab=prices");
    await page.getByRole("row", { name: /pwned='price'/ }).getByRole("button", { name: "Change…" }).click();
    await shows(page, image("price"), "the dialog");
    await expectHarmless(page, "a dialog");
    await page.getByRole("button", { name: "Cancel" }).click();
  });
  await check("a report as a file does no harm where it is opened", async () => {
    const answer = await fetch(`${base}/api/v1/reports/file?format=html&of=${run.id},${swept.id}`, { headers: { Authorization: `Bearer ${admin}` } });
    const file = join(cluster.folder, "report.html");
    writeFileSync(file, await answer.text());
    const alone = await checks.look();
    await alone.goto(`file://${file}`);
    await shows(alone, image("name"), "the file");
    expect((await alone.evaluate(() => window.pwned)) === undefined, "it ran");
    expect((await alone.locator("img, iframe").count()) === 0, "it brought elements along");
    await alone.context().close();
  });
}).finally(() => forged?.stop());
