// A leader at which everybody may look: who says nothing sees all that viewers see and changes nothing, also with a session that is over.
//   node tests/anonymous.mjs ASSAY REPOSITORY SCREENSHOTS
import { People } from "./people.mjs";
import { play } from "./scene.mjs";

await play(async (scene) => {
  const { cluster, checks, checks: { check, expect } } = scene;
  const people = new People(checks);
  const base = await scene.lead("--anonymous");
  const first = await scene.firstLink();
  cluster.run("exec", "--quiet", "--name", "shown", "--", "python3", "-c", "for i in range(20): print('step %d loss=%.4f' % (i, 1/(i+1)))");
  const [{ id }] = JSON.parse(cluster.run("runs", "--json")).result.runs;

  await check("whoever comes sees the cluster, and is offered to log in", async () => {
    const page = await checks.look();
    await checks.go(page, base, "/");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Log in" }).waitFor();
    expect((await page.getByRole("button", { name: "Log out" }).count()) === 0, "there is nothing to log out of");
    for (const name of ["Admin", "Benchmark"]) expect((await page.getByRole("link", { name, exact: true }).count()) === 0, `${name} is offered`);
    await checks.go(page, base, `/runs/${id}`);
    await page.getByRole("heading", { name: /^loss/ }).waitFor();
    for (const name of ["Share…", "Delete…", "Add a tag…"]) expect((await page.getByRole("button", { name }).count()) === 0, `${name} is offered`);
    await checks.examine(page, "anonymous-run");
    await checks.go(page, base, "/account");
    await checks.examine(page, "anonymous-account");
    const { status } = await people.ask(page, "DELETE", `/api/v1/runs/${id}`);
    expect(status === 403, `deleting a run: ${status}`);
    await checks.go(page, base, "/admin", { errors: true });
    await page.getByText("This is not for the role").waitFor();
    expect(page.wrong.length === 0, page.wrong.join("; "));
    await page.context().close();
  });
  await check("who logs in is themselves, and looks on without a name when the session is over", async () => {
    const page = await checks.look();
    await people.choosePassword(page, first);
    await page.getByText("admin · admin").waitFor();
    const [cookie] = await page.context().cookies();
    // As after a week: the browser has it still, and the leader does not know it.
    await page.context().addCookies([{ ...cookie, value: cookie.value.replace(/.$/, (last) => (last === "0" ? "1" : "0")) }]);
    await page.reload();
    await page.getByRole("link", { name: "Log in" }).waitFor();
    await checks.go(page, base, `/runs/${id}`);
    await page.getByRole("heading", { name: /^loss/ }).waitFor();
    await checks.go(page, base, "/cluster");
    await page.getByRole("link", { name: "Log in" }).click();
    await page.getByLabel("Name", { exact: true }).fill("admin");
    await page.getByLabel("Password", { exact: true }).fill(people.kPassword);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByText("admin · admin").waitFor();
    expect(page.wrong.length === 0, page.wrong.join("; "));
    await page.context().close();
  });
});
