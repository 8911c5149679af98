// What the browser checks share: pages that note whatever must not happen, and a verdict at the end.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { sleep, until } from "./stage.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rooms and hands other than those of a desk. */
export const kScreens = [
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 800 } }],
  ["phone-dark", { viewport: { width: 390, height: 800 }, colorScheme: "dark" }],
];
const kWidth = 1360;

const kBroken = "This page broke";
/** What the pages without a name in their address are headed. */
const kTitles = new Map([...readFileSync(new URL("../src/routes.ts", import.meta.url), "utf8").matchAll(/path: "([^":]+)", title: "([^"]+)"/g)].map(([, path, title]) => [path, title]));

/** Whether a heading is that of the page at an address: a page's title or a node's name; of what has other names anything but those. */
function heads(text, path) {
  const [place, query] = path.split("?");
  if (text === "" || text === kBroken) return false;
  if (place.startsWith("/nodes/")) return text === decodeURIComponent(place.slice("/nodes/".length));
  const named = !kTitles.has(place) || (query && /^\/(reports|panels)$/.test(place));
  return named ? ![...kTitles.values()].includes(text) || kTitles.get(place) === text : text === kTitles.get(place);
}

export class Checks {
  constructor(browser, pictures) {
    this.browser = browser;
    this.pictures = pictures;
    this.passed = 0;
    this.failures = [];
  }
  check = async (name, body) => {
    try {
      await body();
      ++this.passed;
      console.log(`ok    ${name}`);
    } catch (error) {
      this.failures.push(name);
      console.log(`FAIL  ${name}: ${error.message}`);
    }
  };
  expect = (good, message) => {
    if (!good) throw new Error(message);
  };
  /** A page that notes whatever must not happen. */
  look = async (options = {}) => {
    const context = await this.browser.newContext({ viewport: { width: kWidth, height: 900 }, ...options });
    await context.addInitScript({ content: axe });
    const page = await context.newPage();
    page.wrong = [];
    page.refused = [];
    page.hosts = new Set();
    page.on("pageerror", (error) => page.wrong.push(`error: ${error.message}`));
    page.on("console", (message) => {
      // A request that is refused is told by the page itself.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.wrong.push(message.text());
    });
    page.on("response", (answer) => {
      if (answer.status() >= 500) page.wrong.push(`${answer.status()} ${answer.url()}`);
      else if (answer.status() >= 400) page.refused.push(`${answer.status()} ${answer.url()}`);
    });
    page.on("request", (request) => page.hosts.add(new URL(request.url()).host));
    return page;
  };
  /** Opens a page and waits until it has what it shows: its heading, and no error unless `errors` are what it is to show. */
  go = async (page, base, path, { errors = false } = {}) => {
    await page.goto(`${base}/#${path}`);
    const heading = async () => ((await page.locator("main#content h1").allTextContents())[0] ?? "").trim();
    await until(`the heading of ${path}`, async () => heads(await heading(), path) || (await heading()) === kBroken);
    await until(`${path} to be loaded`, async () => (await page.locator(".notice.loading").count()) === 0);
    if (!errors) await this.whole(page);
  };
  /** Nothing on the page could not be drawn, asked for or asked for again. */
  whole = async (page) => {
    const told = [...(await page.getByRole("heading", { name: kBroken }).allTextContents()), ...(await page.locator(".notice.error, p.stale").allTextContents())];
    this.expect(told.length === 0, told.join("; "));
  };
  /** A picture of what is shown, which must be whole (unless `errors` are what it shows), keep nobody out and ask no other host. */
  examine = async (page, name, { errors = false } = {}) => {
    if (!errors) await this.whole(page);
    await page.screenshot({ path: join(this.pictures, `${name}.png`), fullPage: true });
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const grave = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
    this.expect(grave.length === 0, grave.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)} (${one.nodes.length})`).join("; "));
    this.expect(page.wrong.length === 0, page.wrong.join("; "));
    const own = new URL(page.url()).host;
    this.expect([...page.hosts].every((host) => host === own), [...page.hosts].join(", "));
  };
  /** A picture of what is shown on a screen of `kScreens`, which must be whole, fit and be readable. */
  fits = async (page, name, options) => {
    await sleep(200);
    await this.whole(page);
    await page.screenshot({ path: join(this.pictures, `${name}.png`), fullPage: true });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    this.expect(width <= (options.viewport?.width ?? kWidth), `${name} is ${width} wide`);
    const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["color-contrast"] }));
    const first = found.violations[0]?.nodes[0];
    this.expect(found.violations.length === 0, `${name}: ${first?.html.slice(0, 160)} ${first?.any[0]?.message}`);
    this.expect(page.wrong.length === 0, page.wrong.join("; "));
  };
  /** Says how it went, and ends. */
  conclude() {
    console.log(`${this.passed} passed, ${this.failures.length} failed`);
    process.exit(this.failures.length === 0 ? 0 : 1);
  }
}
