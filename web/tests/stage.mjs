// A real leader with nodes and runs, a browser to look at it, and what checks share.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const kHostile = '<img src=x onerror="window.pwned=1">';
const kBrowser = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, check, ms = 30_000) {
  const end = Date.now() + ms;
  for (;;) {
    try {
      const found = await check();
      if (found) return found;
    } catch {
      // It is asked again.
    }
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await sleep(150);
  }
}

/** Starts programs of a cluster in a folder of its own; `end` ends them and removes it. */
export class Cluster {
  constructor(assay, root) {
    this.assay = assay;
    this.root = root;
    this.folder = mkdtempSync(join(tmpdir(), "assay-web-"));
    this.env = { ...process.env, ASSAY_DATA: join(this.folder, "data"), ASSAY_LEADER: "" };
    delete this.env.ASSAY_LEADER;
    this.children = new Map();
  }
  start(name, ...args) {
    const output = openSync(join(this.folder, `${name}.log`), "a");
    const child = spawn(this.assay, args, { env: this.env, stdio: ["ignore", output, output] });
    closeSync(output);
    this.children.set(name, child);
    return child;
  }
  /** What a program that was started has printed. */
  said(name) {
    return readFileSync(join(this.folder, `${name}.log`), "utf8");
  }
  async stop(name) {
    const child = this.children.get(name);
    this.children.delete(name);
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 8000).unref();
    await gone;
  }
  run(...args) {
    const done = spawnSync(this.assay, args, { env: this.env, cwd: this.root, encoding: "utf8", timeout: 120_000 });
    if (done.status !== 0 && done.status !== 4) throw new Error(`assay ${args.join(" ")}: ${done.status} ${done.stderr}`);
    return done.stdout;
  }
  async lead(listen = "127.0.0.1:0", ...more) {
    const file = join(this.env.ASSAY_DATA, "leader", "endpoint.json");
    rmSync(file, { force: true });
    this.start("leader", "serve", "--listen", listen, ...more);
    await until("the leader", () => existsSync(file));
    this.url = await until("its address", () => JSON.parse(readFileSync(file, "utf8")).url);
    await until("an answer", async () => (await fetch(this.url + "/health")).ok);
    return this.url;
  }
  token(role) {
    const file = join(this.folder, `${role}.token`);
    if (!existsSync(file)) this.run("token", "create", "--role", role, "--out", file);
    return { file, text: readFileSync(file, "utf8").trim() };
  }
  async end() {
    for (const name of [...this.children.keys()]) await this.stop(name);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Hands everything below /some/prefix/ on to the leader, as a proxy of an institute does. */
export function prefixProxy(target) {
  const { hostname, port } = new URL(target);
  const server = createServer((from, to) => {
    if (!from.url.startsWith("/some/prefix/")) {
      to.writeHead(404).end();
      return;
    }
    const onward = request({ hostname, port, method: from.method, path: from.url.slice("/some/prefix".length), headers: from.headers }, (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    onward.on("error", () => to.destroy());
    from.pipe(onward);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

export function openBrowser() {
  const executablePath = process.env.ASSAY_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  if (!executablePath) return null;
  return chromium.launch({ executablePath, args: kBrowser });
}
