// What people do in a browser, whoever they are: log in, invite others, share a view, open a link.
import { until } from "./stage.mjs";

export class People {
  constructor(checks) {
    this.checks = checks;
  }
  kPassword = "correct horse battery";

  /** Logs in with name and password. */
  logIn = async (page, base, user, password = this.kPassword) => {
    await page.goto(`${base}/#/`);
    await page.getByLabel("Name", { exact: true }).fill(user);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
  };
  /** What a dialog shows once. */
  shownOnce = async (page) => {
    const field = page.locator("dialog input[readonly]");
    await field.waitFor();
    const value = await field.inputValue();
    await page.locator("dialog").getByRole("button", { name: "Close" }).click();
    return value;
  };
  /** An account made on the Admin page; the link that lets its user in once. */
  invite = async (page, base, name, role, fullName = "") => {
    await this.checks.go(page, base, "/admin?tab=users");
    await page.getByRole("button", { name: "New user…" }).click();
    await page.getByLabel("Name to log in with").fill(name);
    await page.getByLabel("Full name, if you want").fill(fullName);
    await page.locator("dialog").getByLabel("Role").selectOption(role);
    await page.getByRole("button", { name: "Make the account" }).click();
    return this.shownOnce(page);
  };
  choosePassword = async (page, address) => {
    await page.goto(address);
    await page.getByRole("heading", { name: "Welcome" }).waitFor();
    this.checks.expect(!page.url().includes("once="), "the word that is good once is still in the address");
    await page.getByLabel("New password", { exact: false }).fill(this.kPassword);
    await page.getByLabel("Once more").fill(this.kPassword);
    await page.getByRole("button", { name: "Set the password" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  };
  /** The link that shows what the page shows. */
  share = async (page) => {
    await page.getByRole("button", { name: "Share…" }).click();
    await page.getByLabel("Good for").selectOption("7d");
    await this.checks.examine(page, "share-ask");
    await page.getByRole("button", { name: "Make the link" }).click();
    await page.locator("dialog input[readonly]").waitFor();
    await this.checks.examine(page, "share-made");
    return this.shownOnce(page);
  };
  /** A page as somebody sees it who is logged in nowhere. */
  guest = async (address, options = {}) => {
    const page = await this.checks.look(options);
    await page.goto(address);
    return page;
  };
  open = async (page) => {
    await page.waitForSelector("main#content h1");
    await until("everything to be loaded", async () => (await page.locator(".notice.loading").count()) === 0);
  };
  /** Asks the leader as whoever is logged in there. */
  ask = (page, method, path, body) =>
    page.evaluate(
      async ([method, path, body]) => {
        const { csrf } = await (await fetch("./api/v1/session")).json();
        const answer = await fetch("." + path, { method, headers: { "x-assay-csrf": csrf ?? "", "Content-Type": "application/json" }, ...(body ? { body: JSON.stringify(body) } : {}) });
        return { status: answer.status, body: await answer.json().catch(() => null) };
      },
      [method, path, body],
    );
}
