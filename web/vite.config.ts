import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// `ASSAY_LEADER=http://127.0.0.1:8470 npm run dev` shows the dashboard of a leader that runs already.
const leader = process.env.ASSAY_LEADER ?? "http://127.0.0.1:8470";

export default defineConfig({
  plugins: [svelte()],
  // Relative: a leader may be behind a proxy, below any path.
  base: "./",
  build: {
    outDir: process.env.ASSAY_WEB_OUT ?? "dist",
    emptyOutDir: true,
    target: "es2022",
    // The content security policy allows neither inlined files nor scripts in the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": leader, "/metrics": leader } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
