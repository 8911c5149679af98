import type { Component } from "svelte";

export interface PageRoute {
  /** `:name` stands for one part and is handed to the page in `params` */
  path: string;
  title: string;
  /** What the menu calls it; without: it is not there */
  menu?: string;
  // Pages without `params` in their path take no properties; the others take `params`.
  load: () => Promise<{ default: Component<any> }>;
}

/** Every page of the dashboard: a folder of src/pages and a line here. The first is what the address without a path shows. */
export const pages: PageRoute[] = [
  { path: "/", title: "Overview", menu: "Overview", load: () => import("./pages/overview/OverviewPage.svelte") },
];
