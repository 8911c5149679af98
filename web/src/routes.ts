import type { Component } from "svelte";
import type { RouteName } from "./api/types";

export interface PageRoute {
  /** `:name` stands for one part and is handed to the page in `params` */
  path: string;
  title: string;
  /** What the menu calls it; without: it is not there */
  menu?: string;
  /** For who may ask this; without: for everybody */
  needs?: RouteName;
  // Pages without `params` in their path take no properties; the others take `params`.
  load: () => Promise<{ default: Component<any> }>;
}

/** Every page of the dashboard: a folder of src/pages and a line here. The first is what the address without a path shows. */
export const pages: PageRoute[] = [
  { path: "/", title: "Overview", menu: "Overview", load: () => import("./pages/overview/OverviewPage.svelte") },
  { path: "/cluster", title: "Cluster performance", menu: "Cluster", load: () => import("./pages/cluster/ClusterPage.svelte") },
  { path: "/nodes", title: "Nodes", menu: "Nodes", load: () => import("./pages/nodes/NodesPage.svelte") },
  { path: "/nodes/:node", title: "Node", load: () => import("./pages/node/NodePage.svelte") },
  { path: "/alerts", title: "Alerts", menu: "Alerts", load: () => import("./pages/alerts/AlertsPage.svelte") },
  { path: "/events", title: "Events", menu: "Events", load: () => import("./pages/events/EventsPage.svelte") },
  { path: "/runs", title: "Runs", menu: "Runs", load: () => import("./pages/runs/RunsPage.svelte") },
  { path: "/runs/:run", title: "Run", load: () => import("./pages/run/RunPage.svelte") },
  { path: "/queue", title: "Queue", menu: "Queue", load: () => import("./pages/queue/QueuePage.svelte") },
  { path: "/compare", title: "Compare", menu: "Compare", load: () => import("./pages/compare/ComparePage.svelte") },
  { path: "/panels", title: "Panels", menu: "Panels", load: () => import("./pages/panels/PanelsPage.svelte") },
  { path: "/studies", title: "Studies", menu: "Studies", load: () => import("./pages/studies/StudiesPage.svelte") },
  { path: "/studies/:study", title: "Study", load: () => import("./pages/study/StudyPage.svelte") },
  { path: "/benchmark", title: "Benchmark", menu: "Benchmark", needs: "POST /api/v1/runs", load: () => import("./pages/benchmark/BenchmarkPage.svelte") },
  { path: "/reports", title: "Reports", menu: "Reports", load: () => import("./pages/reports/ReportsPage.svelte") },
  { path: "/account", title: "Your account", load: () => import("./pages/account/AccountPage.svelte") },
  { path: "/admin", title: "Admin", menu: "Admin", needs: "GET /api/v1/users", load: () => import("./pages/admin/AdminPage.svelte") },
];
