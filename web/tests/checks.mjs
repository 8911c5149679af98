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
    page.hosts = new Set();
    page.on("pageerror", (error) => page.wrong.push(`error: ${error.message}`));
    page.on("console", (message) => {
      // A request that is refused is told by the page itself.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.wrong.push(message.text());
    });
    page.on("request", (request) => page.hosts.add(new URL(request.url()).host));
    return page;
  };
  go = async (page, base, path) => {
    await page.goto(`${base}/#${path}`);
    await page.waitForSelector("main#content h1");
    await until(`${path} to be loaded`, async () => (await page.locator(".notice.loading").count()) === 0);
  };
  /** A picture of what is shown, which must keep nobody out and ask no other host. */
  examine = async (page, name) => {
    await page.screenshot({ path: join(this.pictures, `${name}.png`), fullPage: true });
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const grave = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
    this.expect(grave.length === 0, grave.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)} (${one.nodes.length})`).join("; "));
    this.expect(page.wrong.length === 0, page.wrong.join("; "));
    const own = new URL(page.url()).host;
    this.expect([...page.hosts].every((host) => host === own), [...page.hosts].join(", "));
  };
  /** A picture of what is shown on a screen of `kScreens`, which must fit and be readable. */
  fits = async (page, name, options) => {
    await sleep(200);
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
