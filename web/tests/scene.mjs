// How every file of checks begins and ends: node tests/NAME.mjs ASSAY REPOSITORY SCREENSHOTS
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Checks } from "./checks.mjs";
import { Cluster, openBrowser, until } from "./stage.mjs";

/** A leader, who asks it with a token of some role, and who looks at it with one. */
class Scene {
  constructor(browser, cluster, checks, pictures) {
    Object.assign(this, { browser, cluster, checks, pictures });
  }
  async lead(...more) {
    this.base = await this.cluster.lead("127.0.0.1:0", ...more);
    return this.base;
  }
  /** What lets the first administrator in, once. */
  firstLink = () => until("the link for the first administrator", () => /http\S+once=\S+/.exec(this.cluster.said("leader"))?.[0]);
  ask = async (method, path, body, role = "admin") => {
    const { text } = this.cluster.token(role);
    const answer = await fetch(this.base + path, { method, headers: { Authorization: `Bearer ${text}`, "Content-Type": "application/json" }, ...(body ? { body: JSON.stringify(body) } : {}) });
    return { status: answer.status, body: await answer.json().catch(() => null) };
  };
  get = async (path) => (await this.ask("GET", path)).body;
  /** What must be done, or the file ends. */
  made = async (method, path, body) => {
    const { status, body: answer } = await this.ask(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  };
  /** A page of somebody with a token of that role. */
  enter = async (role = "admin", options = {}) => {
    const page = await this.checks.look(options);
    await page.goto(`${this.base}/#/login?token=${this.cluster.token(role).text}`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    return page;
  };
  /** A real agent on this machine that takes runs. */
  agent = async (name = "here") => {
    this.cluster.start(name, "agent", "--leader", this.base, "--token-file", this.cluster.token("agent").file, "--name", name, "--state", join(this.cluster.folder, name), "--allow", "run", ...(process.getuid() === 0 ? ["--run-as", "nobody"] : []));
    await until("the agent", async () => (await this.get("/api/v1/nodes")).nodes.some((one) => one.name === name && one.allow.includes("run")), 60_000);
  };
  fleet = (nodes, gpus, ...more) => this.cluster.start("fleet", "fleet-sim", String(nodes), "--gpus", String(gpus), "--leader", this.base, "--token-file", this.cluster.token("agent").file, "--duration", "600s", "--quiet", ...more);
}

/** Plays it with a browser and a cluster that has not begun yet, ends both whatever happens, and says how it went. */
export async function play(acts) {
  const [assay, root, pictures] = process.argv.slice(2);
  const browser = await openBrowser();
  if (!browser) {
    console.log("skipped: there is no Chromium here");
    process.exit(77);
  }
  mkdirSync(pictures, { recursive: true });
  const cluster = new Cluster(assay, root);
  const checks = new Checks(browser, pictures);
  try {
    await acts(new Scene(browser, cluster, checks, pictures));
  } finally {
    await browser.close();
    await cluster.end();
  }
  checks.conclude();
}
