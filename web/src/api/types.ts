// Made from the table of the API (src/api, src/http) by scripts/renew_docs.sh. Do not edit.
//
// Whole numbers of nanoseconds are larger than a number holds exactly: good to a microsecond, to show and to sort
// by. What was null is not known, or no finite number.

/** What needs attention. */
export interface AlertList {
  /** Open ones first */
  alerts: Array<AlertView>;
  /** For `before`: there may be more; empty: that is all */
  next: string;
}

/** That somebody takes care of an alert. */
export interface AlertNote {
  /** For the others */
  note?: string;
}

/** How grave an alert is. */
export type AlertSeverity = "info" | "warning" | "critical";

/** Whether it still holds. */
export type AlertState = "open" | "resolved";

/** An alert and what people did about it. */
export interface AlertView {
  /** What it is known by */
  id: string;
  /** Which rule raised it */
  rule: string;
  /** How grave it is */
  severity: AlertSeverity;
  /** Whether it still holds */
  state: AlertState;
  /** Where */
  node: string;
  /** A GPU's UUID, a file system; empty: the node */
  about: string;
  /** One sentence with its values */
  what: string;
  /** What to do */
  remedy: string;
  /** Since when */
  since_ns: number;
  /** The newest, in the unit of the rule */
  last_value: number | null;
  /** Since it was raised */
  worst_value: number | null;
  /** Of the rule; null: it has none */
  threshold: number | null;
  /** What else was known, by name */
  values: Record<string, number | null>;
  /** When it was over */
  resolved_at_ns?: number;
  /** When somebody took it; may be empty */
  acknowledged_at: string;
  /** Who; may be empty */
  acknowledged_by: string;
  /** What they said; may be empty */
  note: string;
  /** Whether a silence covers it now */
  silenced: boolean;
  /** Whether people were told of it */
  told: boolean;
}

/** A file that belongs to a run. */
export interface Artifact {
  /** What it is called */
  name: string;
  /** How large it is */
  bytes: number;
}

/** Somebody has changed something, or tried to. */
export interface AuditEntry {
  /** In the order of events */
  id: number;
  /** When */
  time: string;
  /** `user ada`, `token ci`; empty: nobody knows */
  who: string;
  /** The address they came from */
  from: string;
  /** The request: POST /api/v1/nodes/{node}/drain */
  what: string;
  /** What it was done to; may be empty */
  about: string;
  /** Of the answer: below 400 it was done */
  status: number;
  /** Why it was not; may be empty */
  detail: string;
}

/** Who changed what. */
export interface AuditList {
  /** Newest first */
  entries: Array<AuditEntry>;
  /** For `before`: there may be more; 0: that is all */
  next: number;
}

/** What users may start. */
export interface CatalogList {
  /** By name; none: everything but commands */
  offers: Array<Offer>;
}

/** GPUs of one model in the cluster. */
export interface ClusterGpus {
  /** As the driver says it */
  name: string;
  /** How many there are */
  count: number;
  /** The entry that holds for them; null: none does */
  price: GpuPrice | null;
}

/** Commands to agents. */
export interface CommandList {
  /** Newest first */
  commands: Array<CommandView>;
}

/** What an agent is to do. */
export interface CommandRequest {
  /** doctor; runs are asked for as runs */
  kind: string;
  /** Of the command: doctor takes none */
  arguments?: Record<string, unknown>;
}

/** What became of a command; expired: the leader gave it up. */
export type CommandState = "waiting" | "running" | "done" | "failed" | "refused" | "expired";

/** Something that an agent was asked to do. */
export interface CommandView {
  /** What it is known by */
  id: string;
  /** Whose agent */
  node: string;
  /** doctor, run or stop */
  kind: string;
  /** The name of the token that asked */
  by: string;
  /** When it was asked for */
  created: string;
  /** What became of it */
  state: CommandState;
  /** What the agent says about it */
  message: string;
  /** What it printed; lists are without */
  output?: string;
  /** Null unless it has ended by itself */
  exit_code: number | null;
}

/** One condition of a filter. */
export interface Condition {
  /** A field of a run, or metrics.X */
  field: string;
  /** How it is compared */
  op: ConditionOp;
  /** With what, for fields of text */
  text?: string;
  /** With what, for numbers: seconds, Unix seconds, plain numbers */
  number?: number | null;
}

/** How a field is compared; ~ contains, ^= starts with. */
export type ConditionOp = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "^=";

/** What a chart's horizontal axis is. */
export type CurveAxis = "step" | "time";

/** What a chart wants to know of a run's series. */
export interface CurveQuestion {
  /** Of series; without: all */
  names?: Array<string>;
  /** By step, or by time; without: by step */
  axis?: CurveAxis;
  /** A step, or nanoseconds since the Unix epoch */
  from?: number;
  /** Up to here, without it */
  to?: number;
  /** At most so many buckets of each series */
  width?: number;
}

/** A GPU of a node. */
export interface Device {
  /** Its UUID */
  id: string;
  /** name, driver, index, … */
  facts: Record<string, string>;
}

/** It was done; there is nothing more to say. */
export type Done = Record<string, never>;

/** A node that gets no new work, or work again. */
export interface DrainRequest {
  /** For those who wonder */
  reason?: string;
  /** When it begins, from now: 8h. Runs that would not have ended by then are not begun there */
  in?: string;
  /** How long it lasts: 2h; then the node gets work again by itself */
  for?: string;
}

/** What was erased. */
export interface ErasedSeries {
  /** Of so many series */
  series: number;
}

/** What a request is refused with. */
export interface ErrorAnswer {
  /** What is wrong */
  error: ErrorView;
}

/** What kind of thing went wrong; docs/reference/errors.md has the list. */
export type ErrorKind = "oom" | "nan" | "crash" | "lost_peer" | "timeout" | "interrupted" | "usage" | "bad_spec" | "missing_file" | "bad_file" | "not_found" | "unsupported" | "no_device" | "no_engine" | "unreachable" | "denied" | "busy" | "io" | "internal";

/** What went wrong. */
export interface ErrorView {
  /** For programs */
  kind: ErrorKind;
  /** For people */
  message: string;
  /** What to do about it; may be empty */
  hint: string;
}

/** What happened. */
export interface EventList {
  /** Newest first */
  events: Array<EventView>;
  /** For `before`: there may be more; empty: that is all */
  next: string;
}

/** Something that happened on the cluster. */
export interface EventView {
  /** In the order of arrival */
  id: number;
  /** When it happened */
  time: string;
  /** Where */
  node: string;
  /** xid, ecc, throttle, inventory, node_offline, … */
  kind: string;
  /** A GPU's UUID, a source's name; may be empty */
  about: string;
  /** For people */
  message: string;
  /** Numbers that belong to it, by name */
  values: Record<string, number | null>;
}

/** How long a run will probably take. */
export interface ExpectedLength {
  /** From its start to its end */
  seconds: number | null;
  /** Two of three runs take between 1/factor and factor times that */
  factor: number | null;
  /** Runs like it that this rests on; 0: a guess */
  from_runs: number;
}

/** Something found wrong or noteworthy about a result. */
export interface Flag {
  /** Stable name for scripts: left_processes, non_finite */
  kind: string;
  /** A metric, a node, a setting; may be empty */
  about: string;
  /** One sentence for people */
  message: string;
}

/** A node of a run over several, behind the first. */
export interface FurtherNode {
  /** Its name */
  node: string;
  /** UUIDs of the GPUs that it gives to the run */
  gpus: Array<string>;
}

/** A GPU as found at the start of a run. */
export interface GpuInfo {
  /** What it is known by */
  uuid: string;
  /** Its model */
  name: string;
  /** Its memory */
  memory_bytes: number;
}

/** What an hour of one GPU costs where a specification names no price. */
export interface GpuPrice {
  /** Its name as the driver says it, or a pattern of names: `*H200*` */
  gpu: string;
  /** Per GPU hour; null: not stated */
  on_demand?: number | null;
  /** The same where it may be taken away; null: not stated */
  spot?: number | null;
  /** Three capital letters: USD */
  currency: string;
  /** Where the figures come from */
  source?: string;
}

/** A process that uses a GPU. */
export interface GpuUse {
  /** The UUID of the GPU */
  gpu: string;
  /** Of the process, on the node */
  pid: number;
  /** Null where the driver does not say */
  memory_bytes: number | null;
}

/** An account, and what lets its user in. */
export interface Invitation {
  /** The account */
  user: UserView;
  /** For /#/login?once=…: works once, shown once; empty: a password was given */
  once: string;
}

/** A token that lets machines join. */
export interface JoinToken {
  /** What it is revoked by */
  id: string;
  /** What it is called */
  name: string;
  /** When it was made */
  created: string;
  /** Null: when it is revoked */
  expires: string | null;
  /** good, expired or revoked */
  state: string;
  /** Patterns of names that it lets in; empty: any */
  nodes: string;
  /** So many machines in all; null: any number */
  uses: number | null;
  /** Whether each of them waits until an administrator has looked */
  approval: boolean;
  /** How many came with it */
  nodes_let_in: number;
}

/** How machines get in, and which did. */
export interface JoinTokenList {
  /** Newest first */
  tokens: Array<JoinToken>;
  /** By node */
  keys: Array<NodeKey>;
  /** For `before_token`: there are older ones; empty: that is all */
  next_token: string;
  /** For `after_key`: there are more; empty: that is all */
  next_key: string;
}

/** A further process of a job. */
export interface JoiningRank {
  /** What its journal is called: rank-3 */
  name: string;
}

/** Whether more may come in a journal. */
export type JournalOwner = "live" | "awaited" | "gone" | "finished";

/** How long a journal is now. */
export interface JournalSize {
  /** In bytes */
  size: number;
}

/** What one process of a run has recorded. */
export interface JournalState {
  /** journal: its owner's; rank-3: another's */
  name: string;
  /** In bytes */
  size: number;
  /** Whether more may come */
  owner: JournalOwner;
}

/** A run that is kept from now on. */
export interface KeptRun {
  /** As it is kept, with its id */
  run: Run;
  /** The caller's, where it was wanted */
  lease?: Lease;
}

/** What assay knows of a metric by its name. */
export interface KnownMetric {
  /** What it is called */
  name: string;
  /** That its values are kept in; ratio: 0…1 */
  unit: string;
  /** What it means */
  description: string;
  /** higher, lower, or empty: neither */
  better: string;
  /** Whether it only grows */
  counter: boolean;
}

/** The metrics that are known by name. */
export interface KnownMetrics {
  /** In the order in which tables show them */
  metrics: Array<KnownMetric>;
}

/** Something that is wrong with the leader itself. */
export interface LeaderProblem {
  /** What it is about */
  kind: ProblemKind;
  /** How grave it is */
  level: AlertSeverity;
  /** What was tried, or the node it is about */
  about: string;
  /** For people */
  text: string;
  /** When it began */
  since: string;
}

/** How the leader itself is doing. */
export interface LeaderStatus {
  /** Of assay */
  version: string;
  /** Seconds since it started */
  uptime_s: number | null;
  /** By state */
  nodes: NodeCounts;
  /** Values taken in since it started */
  samples: number;
  /** Values not taken, since it started */
  samples_refused: number;
  /** Batches taken in since it started */
  batches: number;
  /** How many series it keeps */
  series: number;
  /** Points that wait in memory to be written */
  head_points: number;
  /** How much memory those take */
  head_bytes: number;
  /** Who watch a live stream */
  live_clients: number;
  /** What is wrong with it; empty: nothing */
  problems: Array<LeaderProblem>;
}

/** The right to record a run and to change its state. */
export interface Lease {
  /** The id of the run */
  run: string;
  /** The journal that it may append to */
  journal: string;
  /** Whose it is */
  owner: string;
  /** Higher for whoever took the run later: an earlier owner is refused */
  epoch: number;
  /** Until when it is good; without: as long as its holder lives */
  expires_ns?: number;
}

/** A lease that is given up. */
export interface LeaseRelease {
  /** As it was given */
  lease: Lease;
  /** true: nobody goes on, so the run is interrupted and has ended */
  close?: boolean;
}

/** A lease that is to be good for longer. */
export interface LeaseRenewal {
  /** As it was given */
  lease: Lease;
  /** How long from now on, in nanoseconds */
  length_ns: number;
}

/** Whose a run is. */
export interface LeaseState {
  /** The last lease, good or not; null: nobody's */
  lease: Lease | null;
}

/** For whom a lease is, and for how long. */
export interface LeaseTerms {
  /** A name for the caller's process */
  owner?: string;
  /** How long, in nanoseconds; at most an hour */
  length_ns?: number;
}

/** A job of Slurm and where it is. */
export interface ListedSlurmJob {
  /** 12; of arrays 13_2, and 13_[4-9] for those that wait */
  id: string;
  /** Whose it is; empty: Slurm keeps that to itself */
  user: string;
  /** What it is called; empty: Slurm keeps that to itself */
  name: string;
  /** As Slurm says it: RUNNING, PENDING, COMPLETING, … */
  state: string;
  /** Several, with commas, of one that waits */
  partition: string;
  /** Those that it has, as Slurm writes them: node[1-2]; empty: none yet */
  nodes: string;
  /** How many it has, or asks for */
  node_count: number;
  /** In all; absent: Slurm does not say */
  gpus?: number;
  /** When it began, or was asked for if it waits */
  since?: string;
  /** Why it waits, in Slurm's words */
  reason?: string;
  /** Whether it says that it is the job of a run of assay */
  of_assay?: boolean;
  /** Those of its nodes that this leader knows */
  on: Array<string>;
}

/** The data of an event of the live stream: `snapshot` or `delta`. */
export interface LiveEvent {
  /** The leader's clock, in milliseconds since 1970 */
  time_ms: number;
  /** That are new or in another state */
  nodes: Array<LiveNode>;
  /** That are told of for the first time */
  series: Array<LiveSeries>;
  /** The number of the series, milliseconds since 1970, the value */
  values: Array<[number, number, number | null]>;
  /** That were raised, changed or resolved */
  alerts: Array<AlertView>;
}

/** A node whose state changed. */
export interface LiveNode {
  /** What it is known by */
  name: string;
  /** Whether it is heard of */
  state: NodeState;
  /** Whether `assay fleet-sim` made it up */
  simulated: boolean;
  /** How many GPUs it has */
  gpus: number;
}

/** A series that values are told of by its number. */
export interface LiveSeries {
  /** The number, good for this stream */
  id: number;
  /** Of which node */
  node: string;
  /** The metric */
  name: string;
  /** node, gpu, … */
  labels: Record<string, string>;
  /** Of its values */
  unit: string;
}

/** A line that a workload printed. */
export interface LogLine {
  /** When it was read */
  time: string;
  /** Whether it was printed to standard error */
  error: boolean;
  /** Without escape sequences and control characters */
  text: string;
}

/** A new token for machines. */
export interface MadeJoinToken {
  /** What is kept of it */
  token: JoinToken;
  /** For `assay agent --token-file`, with the leader's fingerprint where it has one; shown once */
  secret: string;
}

/** A new link. */
export interface MadeLink {
  /** What is kept of it */
  link: ShareLink;
  /** For /#/share/…, and as a bearer token; shown once */
  secret: string;
}

/** A new token. */
export interface MadeToken {
  /** What is kept of it */
  token: PersonalToken;
  /** For `Authorization: Bearer …`; shown once */
  secret: string;
}

/** Which artifact it is about. */
export interface NamedArtifact {
  /** What it is called */
  name: string;
}

/** Which run it is about. */
export interface NamedRun {
  /** The id of the run */
  run: string;
}

/** Which study it is about. */
export interface NamedStudy {
  /** The id of the study */
  study: string;
}

/** A token to be made for machines. */
export interface NewJoinToken {
  /** What it is called; without one, by its id */
  name?: string;
  /** How long it is good: 12h, 7d; 24h without, 30d at most */
  for?: string;
  /** Patterns of names that it lets in: gpu*, gpu0[1-8],login */
  nodes?: string;
  /** So many machines, and no more */
  uses?: number;
  /** true: each waits until an administrator has looked */
  approval?: boolean;
}

/** Charts to be saved: which metrics of which runs, drawn how. */
export interface NewPanel {
  /** What it is called */
  name: string;
  /** true: everybody who may look at runs sees it */
  shared?: boolean;
  /** A chart for each */
  metrics: Array<string>;
  /** Their ids; none: those that the filter finds */
  runs?: Array<string>;
  /** As after `assay runs`: tag=night metrics.loss<0.5 */
  filter?: string;
  /** At most so many of those that it finds (8) */
  newest?: number;
  /** step (the default), relative (time since the start) or wall (of day) */
  axis?: string;
  /** Of curves, from 0 to 0.98 (0) */
  smoothing?: number | null;
  /** true: the vertical axis is */
  logarithmic?: boolean;
}

/** A token to be made. */
export interface NewPersonalToken {
  /** What it is called */
  name: string;
  /** read, run, alerts, manage, admin: no more than its owner may */
  scopes: Array<string>;
  /** How long it is good: 12h, 30d; without it until it is revoked */
  for?: string;
}

/** How urgent a run is. */
export interface NewPriority {
  /** A step counts as an hour of waiting; above 0 for administrators */
  priority: number;
}

/** A run that its caller records itself. */
export interface NewRun {
  /** The run */
  run: Run;
  /** Of its lease; without: it waits in line */
  terms?: LeaseTerms;
}

/** A link to be made. */
export interface NewShareLink {
  /** run, study, report or compare */
  kind: string;
  /** The runs that it shows */
  runs?: Array<string>;
  /** Or the study, with its runs */
  study?: string;
  /** What it is for */
  note?: string;
  /** How long it is good: 12h, 30d; without it until it is revoked */
  for?: string;
}

/** An account to be made. */
export interface NewUser {
  /** What they will sign in with */
  name: string;
  /** What people call them */
  full_name?: string;
  /** viewer, user or admin */
  role: string;
  /** Without one, a link lets them in once */
  password?: string;
}

/** How many nodes are in each state. */
export interface NodeCounts {
  /** Heard of */
  online: number;
  /** Overdue */
  late: number;
  /** Silent */
  offline: number;
  /** Heard of, but without new work */
  draining: number;
}

/** What is stored of a node's telemetry, and the most that may be. */
export interface NodeHistory {
  /** How many series */
  series: number;
  /** `series_per_node` of the leader */
  most_series: number;
  /** What they take, but for the newest values */
  bytes: number;
  /** `bytes_per_node` of the leader: beyond it nothing is taken */
  most_bytes: number;
}

/** What a node shows that it is itself. */
export interface NodeKey {
  /** Whose */
  node: string;
  /** Since when */
  joined: string;
  /** The id of the token that let it in */
  by_token: string;
  /** good, waits (for approval) or revoked */
  state: string;
}

/** Nodes of the cluster. */
export interface NodeList {
  /** By name */
  nodes: Array<NodeView>;
  /** For `after`: there are more; empty: that is all */
  next: string;
}

/** online; late: a heartbeat is overdue; offline; draining: online, but gets no new work. */
export type NodeState = "online" | "late" | "offline" | "draining";

/** How the GPUs of a node develop. */
export interface NodeTrends {
  /** The name of the node */
  node: string;
  /** By UUID */
  gpus: Record<string, TrendView>;
}

/** The newest values of a node. */
export interface NodeValues {
  /** By metric */
  host: Record<string, number | null>;
  /** By the UUID of a GPU, then by metric */
  gpus: Record<string, Record<string, number | null>>;
}

/** A node as the leader sees it. */
export interface NodeView {
  /** The version of this form */
  schema: number;
  /** What it is known by */
  name: string;
  /** When it joined */
  first_seen: string;
  /** When it was last heard of */
  last_seen: string;
  /** Whether `assay fleet-sim` made it up */
  simulated: boolean;
  /** Whether it is to get no new work */
  draining: boolean;
  /** Why; may be empty */
  drain_reason: string;
  /** When its next maintenance begins, or that of now began */
  maintenance_from?: string;
  /** When it is over, and the node gets work again */
  maintenance_until?: string;
  /** Of its agent */
  version: string;
  /** host, os, kernel, cpu, … */
  facts: Record<string, string>;
  /** Its GPUs */
  devices: Array<Device>;
  /** Commands that its agent executes */
  allow: Array<string>;
  /** Of metrics */
  sources: Array<string>;
  /** Between two readings */
  period_ms: number;
  /** Whether it is heard of */
  state: NodeState;
  /** Its clock less the leader's, in seconds; null: not known */
  clock_skew_s: number | null;
  /** What is done about a clock that is wrong: `2 h 00 min ahead, times corrected`; empty: nothing */
  clock_note: string;
  /** Values that came from it since the leader started */
  samples: number;
  /** How many series it has */
  series: number;
  /** What runs on its GPUs */
  processes: Array<GpuUse>;
  /** The newest values, where they were asked for */
  values?: NodeValues;
  /** What is stored of it, of one node alone */
  history?: NodeHistory;
}

/** Runs that users may start. */
export interface Offer {
  /** What it is known by */
  name: string;
  /** For people */
  description?: string;
  /** train, serve, node, command or null */
  kind: string;
  /** Patterns of names; none: any */
  models?: Array<string>;
  /** The same of data sets */
  datasets?: Array<string>;
  /** The same of whole command lines */
  commands?: Array<string>;
}

/** What would come of an order. Nothing was asked for. */
export interface OrderPreview {
  /** Of the run or study */
  name: string;
  /** In the order in which they would be done */
  runs: Array<PricedRun>;
  /** When all of it would probably be done */
  expected_end?: string;
  /** Of all of it, by the price of the specification */
  cost?: number | null;
  /** Of the costs */
  currency?: string;
}

/** What came of an order. */
export interface OrderedRun {
  /** The id of the run; of a study, of its first */
  run: string;
  /** The id of the study, where it is one */
  study?: string;
}

/** A run as its owner wants it. */
export interface OwnedRunRewrite {
  /** As it was given */
  lease: Lease;
  /** The run */
  run: Run;
  /** The hash of the run that was changed: nothing is done if it is another */
  before: string;
}

/** Whose something is. */
export interface OwnerAnswer {
  /** `user ada`, `token ci`; empty: nobody's, so the administrators' */
  owner: string;
}

/** Charts that somebody saved. */
export interface Panel {
  /** What it is changed and removed by */
  id: string;
  /** Whose it is */
  user: string;
  /** When it was last saved */
  changed: string;
  /** What it is called */
  name: string;
  /** true: everybody who may look at runs sees it */
  shared?: boolean;
  /** A chart for each */
  metrics: Array<string>;
  /** Their ids; none: those that the filter finds */
  runs?: Array<string>;
  /** As after `assay runs`: tag=night metrics.loss<0.5 */
  filter?: string;
  /** At most so many of those that it finds (8) */
  newest?: number;
  /** step (the default), relative (time since the start) or wall (of day) */
  axis?: string;
  /** Of curves, from 0 to 0.98 (0) */
  smoothing?: number | null;
  /** true: the vertical axis is */
  logarithmic?: boolean;
}

/** Panels that the caller sees. */
export interface PanelList {
  /** Their own and those that are shared, by name */
  panels: Array<Panel>;
}

/** A new password of one's own. */
export interface PasswordChange {
  /** The present one, for who has one */
  old?: string;
  /** The new one */
  password: string;
}

/** A password that an administrator gives somebody, or a link instead. */
export interface PasswordReset {
  /** Without one, a link lets them in once, and the password is good no longer */
  password?: string;
}

/** A token that somebody made for their own programs. */
export interface PersonalToken {
  /** What it is revoked by */
  id: string;
  /** Whose it is */
  user: string;
  /** What it is called */
  name: string;
  /** What it may at most: read, run, alerts, manage, admin */
  scopes: Array<string>;
  /** When it was made */
  created: string;
  /** Null: when it is revoked */
  expires: string | null;
}

/** Tokens of people. */
export interface PersonalTokenList {
  /** Those that are good */
  tokens: Array<PersonalToken>;
}

/** Where a run is to be done, or was. */
export interface Placement {
  /** The node of a cluster */
  node?: string;
  /** UUIDs of its GPUs; without: all that it has */
  gpus?: Array<string>;
  /** Where its job goes on whatever becomes of its owner: `ssh:gpu01` */
  place?: string;
  /** Of a run over several nodes: those behind the first */
  further?: Array<FurtherNode>;
  /** In an agent's own store: which of these nodes it is */
  part?: number;
}

/** One run that a study plans to do. */
export interface PlannedRun {
  /** Which configuration: baseline, ranks=4 */
  variant: string;
  /** Which repeat of it, from 0 on */
  repeat: number;
  /** The place of its configuration in the specification, from 0 on */
  configuration: number;
  /** How many processes compute together */
  ranks: number;
  /** On how many machines */
  nodes: number;
  /** Where it must run; without: anywhere */
  node?: string;
  /** The id of the run that does it, once there is one */
  run?: string;
  /** Complete settings of this run */
  spec: Record<string, unknown>;
}

/** What power costs where the cluster stands. */
export interface PowerPrice {
  /** Money per kilowatt hour; null: not stated */
  per_kwh?: number | null;
  /** Of that money: EUR */
  currency?: string;
  /** CO₂ per kilowatt hour; null: not stated */
  grams_co2_per_kwh?: number | null;
  /** Where the figures come from */
  source?: string;
}

/** Prices that hold where a specification names none. */
export interface PriceList {
  /** Of GPUs, by name */
  prices: Array<GpuPrice>;
  /** Of power; null: not stated */
  power: PowerPrice | null;
  /** What the cluster has, with what it costs */
  gpus: Array<ClusterGpus>;
}

/** What would become of a run, and what it would cost. */
export interface PricedRun {
  /** Which configuration of the study */
  variant: string;
  /** Which repeat, from 0 */
  repeat: number;
  /** For people: 2 GPUs; the CPUs of a node */
  needs: string;
  /** GPUs that it would have, on all of its nodes */
  gpus: number;
  /** Nodes that it would have */
  nodes: number;
  /** Where it would probably be done; empty: nowhere now */
  node: string;
  /** The other nodes of a run over several */
  further?: Array<string>;
  /** How long it would probably take */
  length: ExpectedLength;
  /** Why it could not be done now */
  why?: string;
  /** When it would probably start */
  expected_start?: string;
  /** When, if the runs before it take as long as they well may */
  late_start?: string;
  /** By the price of its specification */
  cost?: number | null;
}

/** storage: something could not be read or written; damage: of what was stored; refused: a node sent what was not stored; clock: of the leader's machine; limit: nodes have to wait; outlet: an alert did not get out; certificate; fault: a part has failed. */
export type ProblemKind = "storage" | "damage" | "refused" | "clock" | "limit" | "outlet" | "certificate" | "fault";

/** Where a result came from. What is not known is left out. */
export interface Provenance {
  /** The version of assay */
  assay_version?: string;
  /** The commit it was built from */
  assay_commit?: string;
  /** The machine */
  hostname?: string;
  /** Its operating system */
  os?: string;
  /** Its kernel */
  kernel?: string;
  /** Its processor */
  cpu_model?: string;
  /** Cores that the run might use */
  cpu_cores?: number;
  /** Cores that the machine has */
  machine_cores?: number;
  /** Memory of the machine */
  memory_bytes?: number;
  /** How its clocks are governed */
  cpu_governor?: string;
  /** Its GPUs */
  gpus?: Array<GpuInfo>;
  /** The version of their driver */
  gpu_driver?: string;
  /** The version of Python */
  python_version?: string;
  /** The version of PyTorch */
  torch_version?: string;
  /** The version of assay-engine */
  engine_version?: string;
  /** The commit of the folder it ran in */
  git_commit?: string;
  /** Whether that folder had changes */
  git_dirty?: boolean;
  /** What was started, without secrets */
  command?: Array<string>;
  /** Where */
  working_directory?: string;
  /** Variables of the environment that may be shown */
  environment?: Record<string, string>;
  /** Variables of Slurm, MPI and torchrun */
  job?: Record<string, string>;
  /** Seeds of random numbers, by purpose */
  seeds?: Record<string, number>;
}

/** What the cluster has to do. */
export interface QueueList {
  /** Those that go on first, then those that wait in the order of their starts */
  runs: Array<QueuedRun>;
  /** How many there are on all pages together */
  total: number;
  /** For `after`: there are more; empty: that is all */
  next: string;
}

/** A run that the cluster was asked for and that has not ended. */
export interface QueuedRun {
  /** Its id */
  run: string;
  /** What it is called */
  name: string;
  /** train, command, … */
  kind: string;
  /** The study it is part of */
  study?: string;
  /** Which configuration of the study */
  variant?: string;
  /** Who asked for it */
  by: string;
  /** Whose it is: `user ada`, `token ci`; empty: not known */
  owner: string;
  /** queued until its node has taken it */
  state: RunState;
  /** Whether somebody has ended it */
  stopping: boolean;
  /** Whether it waits until somebody releases it */
  held: boolean;
  /** A step counts as an hour of waiting; 0 is usual */
  priority: number;
  /** For people: 2 GPUs; the CPUs of a node */
  needs: string;
  /** Where it is or must be done; empty: not decided yet */
  node: string;
  /** The other nodes of a run over several */
  further?: Array<string>;
  /** UUIDs of the GPUs it has been given, on all of its nodes */
  gpus: Array<string>;
  /** Runs that must have succeeded first */
  after: Array<string>;
  /** Which one this is, from 1 */
  attempt: number;
  /** How many there may be in all */
  attempts: number;
  /** When it was asked for */
  created: string;
  /** When its node began */
  started?: string;
  /** When it is to have ended; its turn comes as early as that takes */
  deadline?: string;
  /** How long it will probably take */
  length: ExpectedLength;
  /** Of one that has begun: when it will probably end */
  expected_end?: string;
  /** Of one that waits: held, dependency, never, retry_delay, quota, no_such_node, set_aside, maintenance, gpus_busy */
  reason?: string;
  /** The same for people; of one that has begun: that its node is lost */
  why?: string;
  /** Runs that come before it for the same nodes */
  ahead?: number;
  /** Where it will probably be done */
  expected_node?: string;
  /** The same for the other nodes of a run over several */
  expected_further?: Array<string>;
  /** When it will probably start */
  expected_start?: string;
  /** When, if the runs before it take as long as they well may */
  late_start?: string;
}

/** How much somebody may use; what is null has no limit. */
export interface Quota {
  /** Empty: everybody who has none of their own */
  user?: string;
  /** Runs that wait or go on */
  runs_at_once?: number;
  /** Runs of one study */
  runs_per_order?: number;
  /** Within the last 24 hours */
  gpu_hours_per_day?: number | null;
  /** GPUs in use; further runs wait */
  gpus_at_once?: number;
}

/** How much people may use. */
export interface QuotaList {
  /** The one for everybody, then by user */
  quotas: Array<Quota>;
}

/** What the caller may use, and uses. */
export interface QuotaUse {
  /** What holds for them */
  quota: Quota;
  /** Runs of theirs that wait or go on */
  runs: number;
  /** Within the last 24 hours */
  gpu_hours: number | null;
}

/** What the list of runs was made from. */
export interface ReindexReport {
  /** How many runs */
  runs: number;
  /** How many studies */
  studies: number;
  /** Runs among them that nobody owned, closed now */
  interrupted: number;
  /** What could not be read */
  problems: Array<StoreProblem>;
}

/** What is gone now. */
export interface Removed {
  /** Its id */
  removed: string;
}

/** A report, as `assay report --format json` prints it. */
export interface ReportAnswer {
  /** title, verdict, sections of paragraphs, tables, charts, … */
  document: Record<string, unknown>;
}

/** What is left of a study. */
export interface ResumedStudy {
  /** The id of the study */
  study: string;
  /** Places in its plan, from 0, that will be done */
  todo: Array<number>;
}

/** One execution of one workload: everything but its events, points and output. */
export interface Run {
  /** The version of this form */
  schema: number;
  /** What it is known by */
  id: string;
  /** What its user calls it */
  name: string;
  /** Of its specification: train, command, … */
  kind: string;
  /** key=value or bare words */
  tags: Array<string>;
  /** How far it is */
  state: RunState;
  /** What its figures are worth */
  verdict: Verdict;
  /** The id of the study it belongs to */
  study?: string;
  /** Which configuration of the study */
  variant?: string;
  /** Which repeat of that, from 0 on */
  repeat?: number;
  /** How many processes compute together */
  ranks: number;
  /** On how many machines */
  nodes: number;
  /** Where it is to be done, or was */
  placement?: Placement;
  /** What was found wrong or noteworthy */
  flags: Array<Flag>;
  /** How it failed */
  error?: RunError;
  /** When it was asked for */
  created?: string;
  /** When its workload was started */
  started?: string;
  /** When it ended */
  ended?: string;
  /** How long its workload took, by the monotonic clock */
  duration_seconds: number | null;
  /** Of the workload, unless a signal ended it */
  exit_code?: number;
  /** That ended the workload */
  signal?: number;
  /** Final values by name */
  metrics: Record<string, number | null>;
  /** Its series, summed up */
  series: Array<SeriesSummary>;
  /** Its settings, with defaults filled in */
  spec: Record<string, unknown>;
  /** A hash of those */
  spec_hash: string;
  /** Where the result came from */
  provenance: Provenance;
}

/** Files that belong to a run. */
export interface RunArtifacts {
  /** By name */
  artifacts: Array<Artifact>;
}

/** A run that was added, changed or removed. */
export interface RunChange {
  /** Its place among all changes */
  sequence: number;
  /** The id of the run */
  run: string;
  /** Whether it is gone */
  removed: boolean;
}

/** What changed, oldest first. */
export interface RunChanges {
  /** Each run once, at its newest change */
  changes: Array<RunChange>;
  /** The number of the newest change of all */
  newest: number;
}

/** A series in buckets; each list has one entry for each bucket that has points. */
export interface RunCurve {
  /** Of the series */
  name: string;
  /** Of its values */
  unit: string;
  /** How wide a bucket is: steps or nanoseconds */
  span: number;
  /** What tells it from others of the same name */
  labels: Record<string, string>;
  /** Where each bucket starts */
  begin: Array<number>;
  /** How many points it has */
  points: Array<number>;
  /** How many of those are finite */
  finite: Array<number>;
  /** The smallest finite value */
  min: Array<number | null>;
  /** The largest finite value */
  max: Array<number | null>;
  /** Of the finite values */
  sum: Array<number | null>;
  /** The last finite value */
  last: Array<number | null>;
}

/** Series of a run at a width. */
export interface RunCurves {
  /** One for each series */
  curves: Array<RunCurve>;
}

/** How a workload failed. */
export interface RunError {
  /** Of the failure */
  kind: ErrorKind;
  /** What happened */
  message: string;
  /** What to do about it; may be empty */
  hint: string;
}

/** What a run's processes have recorded. */
export interface RunJournals {
  /** The owner's first */
  journals: Array<JournalState>;
}

/** What a run's workload printed. */
export interface RunLog {
  /** In the order of each process */
  lines: Array<LogLine>;
  /** For `after`: goes on behind these */
  next: string;
  /** Whether there is more already */
  more: boolean;
}

/** What a cluster is to do. */
export interface RunOrder {
  /** The specification, as YAML text */
  spec: string;
  /** Its name, for messages about mistakes */
  file?: string;
  /** Of the run or study */
  name?: string;
  /** Further tags */
  tags?: Array<string>;
  /** Changed settings: batch_size=64 */
  set?: Array<string>;
  /** Where, unless the specification says; without: wherever it fits */
  node?: string;
  /** UUIDs of the GPUs to use; without: as many as it needs */
  gpus?: Array<string>;
  /** One run on each node that takes runs */
  each_node?: boolean;
  /** A step counts as an hour of waiting; above 0 for administrators */
  priority?: number;
  /** It is to have ended so soon: 6h; for administrators */
  within?: string;
  /** It waits until somebody releases it */
  hold?: boolean;
  /** Further attempts where a node is lost */
  retries?: number;
  /** Ids of runs that must have succeeded first */
  after?: Array<string>;
  /** Whoever asks again with the same key is given the same run */
  key?: string;
}

/** Some of the runs that fit. */
export interface RunPage {
  /** In the order asked for */
  runs: Array<RunRow>;
  /** How many fit on all pages together; null: too many to count */
  total: number | null;
  /** For `after`: there may be more; empty: that is all */
  next: string;
}

/** Which runs, and in which order. */
export interface RunQuery {
  /** All must hold */
  conditions?: Array<Condition>;
  /** A field, or metrics.X; without: created */
  sort?: string;
  /** The largest first, unless this is false */
  descending?: boolean;
  /** At most so many, and no more than 10,000 */
  limit?: number;
  /** The 'next' of the page before */
  after?: string;
  /** Only runs that were added or changed after the change of this number */
  changed_after?: number;
}

/** A run as it should be. */
export interface RunRewrite {
  /** The run */
  run: Run;
  /** The hash of the run that was changed: nothing is done if it is another */
  before: string;
}

/** What a list shows of a run. */
export interface RunRow {
  /** What it is known by */
  id: string;
  /** What its user calls it */
  name: string;
  /** Of its specification: train, command, … */
  kind: string;
  /** How far it is */
  state: RunState;
  /** What its figures are worth */
  verdict: Verdict;
  /** key=value or bare words */
  tags: Array<string>;
  /** The id of its study; may be empty */
  study: string;
  /** Which configuration of the study; may be empty */
  variant: string;
  /** Which repeat of that, from 0 on */
  repeat: number;
  /** How many processes compute together */
  ranks: number;
  /** On how many machines */
  nodes: number;
  /** What its machine calls itself; may be empty */
  host: string;
  /** Nodes of the cluster, in the order of its ranks */
  on: Array<string>;
  /** When it was asked for */
  created_ns: number;
  /** When its workload began; 0: it has not */
  started_ns: number;
  /** How long its workload took */
  duration_ns: number;
  /** Final values by name */
  metrics: Record<string, number | null>;
}

/** How far a run is; it never goes back. */
export type RunState = "queued" | "starting" | "running" | "ended";

/** The tags of a run. */
export interface RunTags {
  /** All that it has now */
  tags: Array<string>;
}

/** Telemetry over a time. */
export interface SeriesAnswer {
  /** Where the buckets begin, in milliseconds since 1970 */
  from_ms: number;
  /** Where they end */
  to_ms: number;
  /** How wide each is */
  width_ms: number;
  /** What it was made from */
  tier: SeriesTier;
  /** Those that fit */
  series: Array<SeriesBuckets>;
  /** What could not be read; the rest is right */
  problems: Array<string>;
}

/** A series over a time. */
export interface SeriesBuckets {
  /** The metric */
  name: string;
  /** node, gpu, … */
  labels: Record<string, string>;
  /** Of its values */
  unit: string;
  /** Start in milliseconds since 1970, minimum, maximum, mean, count */
  buckets: Array<[number, number | null, number | null, number | null, number]>;
}

/** A series that the leader keeps. */
export interface SeriesEntry {
  /** The metric */
  name: string;
  /** node, gpu, … */
  labels: Record<string, string>;
  /** Of its values */
  unit: string;
}

/** Which series there are. */
export interface SeriesList {
  /** That fit */
  series: Array<SeriesEntry>;
  /** For `after`: there may be more; empty: that is all */
  next: string;
}

/** One series of numbers of a run, summed up. */
export interface SeriesSummary {
  /** loss, host.cpu_util, … */
  name: string;
  /** What tells it from others of the same name: rank, gpu */
  labels?: Record<string, string>;
  /** s, B, 1/s, W, °C, or empty */
  unit: string;
  /** How many there are */
  points: number;
  /** NaN and infinity among them, left out of the figures */
  non_finite?: number;
  /** The first value */
  first: number | null;
  /** The last value */
  last: number | null;
  /** The smallest value */
  min: number | null;
  /** The largest value */
  max: number | null;
  /** The mean of all */
  mean: number | null;
}

/** What an answer was made from. */
export type SeriesTier = "raw" | "minute" | "hour";

/** Who is asking, and what they may. */
export interface SessionInfo {
  /** Of the account or token; `anonymous` for who has none */
  user: string;
  /** What people call them; may be empty */
  name: string;
  /** viewer, user or admin; empty: a link */
  role: string;
  /** What they may: read, run, alerts, manage, admin */
  scopes: Array<string>;
  /** session, token, link or anonymous */
  via: string;
  /** For the header `X-Assay-Csrf` of requests that change something; empty where there is no session */
  csrf: string;
  /** When the session ends unless it is used; null: there is none */
  expires: string | null;
  /** Whether the account has no password yet, and should get one now */
  needs_password: boolean;
  /** What the link shows; null: it is none */
  shows: SharedView | null;
}

/** A link that shows one thing to whoever has it. */
export interface ShareLink {
  /** What it is revoked by */
  id: string;
  /** Who made it */
  user: string;
  /** What it shows */
  shows: SharedView;
  /** What it is for; may be empty */
  note: string;
  /** When it was made */
  created: string;
  /** Null: when it is revoked */
  expires: string | null;
}

/** Links that are good. */
export interface ShareLinkList {
  /** One's own, or all of them */
  links: Array<ShareLink>;
}

/** What a link shows. */
export interface SharedView {
  /** run, study, report or compare */
  kind: string;
  /** The runs that it names */
  runs: Array<string>;
  /** The study that it names, with its runs; may be empty */
  study: string;
}

/** Who wants in: a user and a password, or the secret of a link that lets somebody in once. */
export interface SignIn {
  /** What they sign in with */
  user?: string;
  /** Their password */
  password?: string;
  /** Instead of both: what stands behind `once=` in the link */
  once?: string;
}

/** Alerts that nobody is told about for a while. */
export interface Silence {
  /** What it is known by */
  id: string;
  /** Of this rule; empty: any */
  rule: string;
  /** On this node; empty: any */
  node: string;
  /** About this thing; empty: any */
  about: string;
  /** Who asked for it */
  by: string;
  /** When it ends */
  until: string;
  /** For the others; may be empty */
  reason: string;
}

/** What nobody is told about. */
export interface SilenceList {
  /** That have not ended */
  silences: Array<Silence>;
}

/** Alerts to tell nobody about: those that fit rule, node and about. */
export interface SilenceRequest {
  /** The name of a rule */
  rule?: string;
  /** The name of a node */
  node?: string;
  /** A GPU, a file system */
  about?: string;
  /** true: every alert of the cluster, instead of a rule, a node or a thing */
  everything?: boolean;
  /** How long: 2h */
  for: string;
  /** For the others */
  reason?: string;
}

/** What Slurm does and has to do on machines that it shares with this leader. */
export interface SlurmJobList {
  /** The node whose agent tells of it; empty: none does */
  told_by: string;
  /** When Slurm said so; absent: it was not heard of yet */
  as_of?: string;
  /** Why nothing newer is known */
  problem?: string;
  /** Whether users and names are left out, since Slurm shows jobs to their owners alone */
  keeps_private: boolean;
  /** Further jobs that wait and are not listed */
  left_out: number;
  /** Those that have nodes, then those that wait */
  jobs: Array<ListedSlurmJob>;
}

/** A specification that somebody is writing. */
export interface SpecDraft {
  /** YAML text */
  spec: string;
  /** Changed settings: batch_size=64 */
  set?: Array<string>;
}

/** A mistake in a specification. */
export interface SpecMistake {
  /** From 1 on; 0: of the whole, or of a changed setting */
  line: number;
  /** From 1 on */
  column: number;
  /** What is wrong, and what to write instead */
  message: string;
}

/** What is to be said of a specification. */
export interface SpecOpinion {
  /** Whether it can be asked for */
  valid: boolean;
  /** All of them, in the order of the text */
  mistakes: Array<SpecMistake>;
  /** How many runs it asks for */
  runs: number;
  /** train, command, …; empty while it is not valid */
  kind: string;
}

/** How a specification is written. */
export interface SpecSchema {
  /** A JSON Schema (2020-12) */
  schema: Record<string, unknown>;
}

/** Something that could not be read. */
export interface StoreProblem {
  /** A run, a study or a folder */
  about: string;
  /** Of what is wrong */
  kind: ErrorKind;
  /** What is wrong */
  message: string;
}

/** Several runs that answer one question. */
export interface Study {
  /** The version of this form */
  schema: number;
  /** What it is known by */
  id: string;
  /** What its user calls it */
  name: string;
  /** key=value or bare words */
  tags: Array<string>;
  /** When it was asked for */
  created: string;
  /** The specification as it was written, or the list of imported files */
  source: string;
  /** A hash of the settings, or of the imported files */
  spec_hash: string;
  /** Its runs, in the order in which they are done */
  plan: Array<PlannedRun>;
  /** What was found about the runs together */
  flags?: Array<Flag>;
}

/** What a cluster still does of a study. */
export interface StudyJobs {
  /** The ids of its runs that wait or go on */
  runs: Array<string>;
}

/** Some of the studies that are kept. */
export interface StudyPage {
  /** Newest first */
  studies: Array<StudyRow>;
  /** For `after`: there are more; empty: that is all */
  next: string;
}

/** How to go on with a study. */
export interface StudyResumption {
  /** Where, for what names no node */
  node?: string;
  /** UUIDs of the GPUs to use; without: as many as each run needs */
  gpus?: Array<string>;
}

/** What a list shows of a study. */
export interface StudyRow {
  /** What it is known by */
  id: string;
  /** What its user calls it; may be empty */
  name: string;
  /** key=value or bare words */
  tags: Array<string>;
  /** When it was asked for */
  created_ns: number;
  /** A hash of the settings, or of the imported files */
  spec_hash: string;
  /** How many different ones its plan has */
  configurations: number;
  /** How many runs its plan has */
  planned: number;
  /** How many of them were begun */
  begun: number;
}

/** Tags to be added and removed. */
export interface TagChange {
  /** `key=value` or words; what is there already stays */
  add?: Array<string>;
  /** First; what is not there is no error */
  remove?: Array<string>;
}

/** How the GPUs of many nodes develop. */
export interface TrendList {
  /** By name; their GPUs without the weeks */
  nodes: Array<NodeTrends>;
  /** `after` of the next page; empty: there is none */
  next: string;
}

/** How a GPU's temperature at equal power develops over weeks. */
export interface TrendView {
  /** too little data, steady, hotter or cooler */
  verdict: string;
  /** One sentence */
  why: string;
  /** The common power, in W; null: not known */
  power_w: number | null;
  /** From the first to the last week, in °C; null: not known */
  change_c: number | null;
  /** Where its 95 % interval begins */
  low_c: number | null;
  /** Where its 95 % interval ends */
  high_c: number | null;
  /** Oldest first */
  weeks: Array<TrendWeek>;
}

/** A week of a GPU. */
export interface TrendWeek {
  /** When it began */
  start: string;
  /** With temperature and power */
  hours: number;
  /** At the trend's common power, in °C; null: not known */
  temperature_c: number | null;
  /** The standard error of that */
  uncertainty_c: number | null;
  /** Slowed by heat or the hardware */
  throttled_minutes: number | null;
}

/** What is to be different about an account. */
export interface UserChange {
  /** What people call them */
  full_name?: string;
  /** viewer, user or admin */
  role?: string;
  /** true: they have to stay out */
  disabled?: boolean;
}

/** Accounts. */
export interface UserList {
  /** By name */
  users: Array<UserView>;
}

/** Somebody who may sign in. */
export interface UserView {
  /** What they sign in with */
  name: string;
  /** What people call them; may be empty */
  full_name: string;
  /** viewer, user or admin */
  role: string;
  /** Whether they have to stay out */
  disabled: boolean;
  /** Whether somebody else keeps their password */
  directory: boolean;
  /** Whether they can sign in without a link */
  has_password: boolean;
  /** When the account was made */
  created: string;
  /** Null: never */
  last_login: string | null;
}

/** What the figures of a run are worth; none until it has ended. */
export type Verdict = "none" | "valid" | "flagged" | "invalid" | "failed" | "interrupted";

/** What each route takes and answers with. */
export interface Routes {
  /** How the leader itself is doing */
  "GET /api/v1/status": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: LeaderStatus;
  };
  /** A copy of everything that the leader keeps, made while it goes on: a tar archive whose last file, assay-backup.jsonl, has the SHA-256 of every other. Without that file it is not whole */
  "POST /api/v1/backup": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: Blob;
  };
  /** The newest values for Prometheus; GPUs under the names of dcgm-exporter */
  "GET /metrics": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: string;
  };
  /** Every node: state, inventory, what runs on its GPUs */
  "GET /api/v1/nodes": {
    path: Record<string, never>;
    query: { values?: boolean; after?: string; limit?: number };
    body: undefined;
    answer: NodeList;
  };
  /** One node, with the newest values */
  "GET /api/v1/nodes/{node}": {
    path: { node: string };
    query: Record<string, never>;
    body: undefined;
    answer: NodeView;
  };
  /** Forget a node that is offline */
  "DELETE /api/v1/nodes/{node}": {
    path: { node: string };
    query: { erase?: boolean };
    body: undefined;
    answer: Done;
  };
  /** How each GPU develops over weeks: temperature at equal power, minutes of throttling */
  "GET /api/v1/nodes/{node}/trend": {
    path: { node: string };
    query: Record<string, never>;
    body: undefined;
    answer: NodeTrends;
  };
  /** How the GPUs of all nodes develop over weeks, as of this hour: the verdicts, without the weeks */
  "GET /api/v1/trends": {
    path: Record<string, never>;
    query: { after?: string; limit?: number };
    body: undefined;
    answer: TrendList;
  };
  /** Give the node no new work */
  "POST /api/v1/nodes/{node}/drain": {
    path: { node: string };
    query: Record<string, never>;
    body: DrainRequest | undefined;
    answer: NodeView;
  };
  /** Give the node work again */
  "POST /api/v1/nodes/{node}/resume": {
    path: { node: string };
    query: Record<string, never>;
    body: DrainRequest | undefined;
    answer: NodeView;
  };
  /** What was refused of the node was looked at: it is no problem of the leader's any more */
  "DELETE /api/v1/nodes/{node}/refusals": {
    path: { node: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** What happened, newest first: faults, throttling, nodes and inventory that come, go and change. Each answer looks at a bounded number of events: where there is a 'next', there may be more */
  "GET /api/v1/events": {
    path: Record<string, never>;
    query: { node?: string; kind?: string; about?: string; from?: string; to?: string; before?: string; limit?: number };
    body: undefined;
    answer: EventList;
  };
  /** Ask the agent of a node to do something */
  "POST /api/v1/nodes/{node}/commands": {
    path: { node: string };
    query: Record<string, never>;
    body: CommandRequest;
    answer: CommandView;
  };
  /** Commands to agents and what became of them, newest first; without their output */
  "GET /api/v1/commands": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: CommandList;
  };
  /** One command, with its output */
  "GET /api/v1/commands/{id}": {
    path: { id: string };
    query: Record<string, never>;
    body: undefined;
    answer: CommandView;
  };
  /** Which series there are. Each answer looks at a bounded number of them: where there is a 'next', there may be more */
  "GET /api/v1/series": {
    path: Record<string, never>;
    query: { q?: string; after?: string; limit?: number };
    body: undefined;
    answer: SeriesList;
  };
  /** Erase telemetry: the points of the series in a time; with all=true the series themselves */
  "DELETE /api/v1/series": {
    path: Record<string, never>;
    query: { q: string; all?: boolean };
    body: undefined;
    answer: ErasedSeries;
  };
  /** Telemetry over a time, in buckets of minimum, maximum, mean and count */
  "GET /api/v1/query": {
    path: Record<string, never>;
    query: { q?: string };
    body: undefined;
    answer: SeriesAnswer;
  };
  /** A stream of server-sent events: a snapshot, then what is new, at most five times a second */
  "GET /api/v1/live": {
    path: Record<string, never>;
    query: { metrics?: string; nodes?: string };
    body: undefined;
    answer: LiveEvent;
  };
  /** What needs attention: what, where, since when, the values and what to do. Each answer looks at a bounded number of alerts: where there is a 'next', there may be more */
  "GET /api/v1/alerts": {
    path: Record<string, never>;
    query: { all?: boolean; node?: string; from?: string; to?: string; before?: string; limit?: number };
    body: undefined;
    answer: AlertList;
  };
  /** Say that somebody takes care of it */
  "POST /api/v1/alerts/{id}/acknowledge": {
    path: { id: string };
    query: Record<string, never>;
    body: AlertNote | undefined;
    answer: AlertView;
  };
  /** What nobody is told about for a while */
  "GET /api/v1/silences": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: SilenceList;
  };
  /** Tell nobody about some alerts for a while: those that fit all of rule, node and about */
  "POST /api/v1/silences": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: SilenceRequest;
    answer: Silence;
  };
  /** End a silence */
  "DELETE /api/v1/silences/{id}": {
    path: { id: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** Runs, newest first. Each answer looks at a bounded number of runs: where there is a 'next', there may be more */
  "GET /api/v1/runs": {
    path: Record<string, never>;
    query: { filter?: string; sort?: string; limit?: number; after?: string; changed_after?: number };
    body: undefined;
    answer: RunPage;
  };
  /** Ask for what a specification says: a run, or a study of several, on nodes of the cluster */
  "POST /api/v1/runs": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: RunOrder;
    answer: OrderedRun;
  };
  /** Runs by a query whose conditions are read already */
  "POST /api/v1/runs/search": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: RunQuery | undefined;
    answer: RunPage;
  };
  /** Which runs were added, changed or removed after a number */
  "GET /api/v1/runs/changes": {
    path: Record<string, never>;
    query: { since?: number; limit?: number };
    body: undefined;
    answer: RunChanges;
  };
  /** Make the list of runs again from what is kept of them */
  "POST /api/v1/runs/reindex": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: ReindexReport;
  };
  /** Everything about a run but its events, points and output */
  "GET /api/v1/runs/{run}": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: Run;
  };
  /** Change a run's name and tags; administrators: and what else is said of it. Its state and verdict stay */
  "PUT /api/v1/runs/{run}": {
    path: { run: string };
    query: Record<string, never>;
    body: RunRewrite;
    answer: Run;
  };
  /** Delete a run and all it recorded */
  "DELETE /api/v1/runs/{run}": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: Removed;
  };
  /** Add and remove tags of a run, whatever else is changed about it meanwhile */
  "POST /api/v1/runs/{run}/tags": {
    path: { run: string };
    query: Record<string, never>;
    body: TagChange | undefined;
    answer: RunTags;
  };
  /** Series of a run at a width: exact figures of each bucket, by step or by time */
  "POST /api/v1/runs/{run}/curves": {
    path: { run: string };
    query: Record<string, never>;
    body: CurveQuestion | undefined;
    answer: RunCurves;
  };
  /** A new run that the caller records itself; with `terms` it is the caller's at once */
  "POST /api/v1/runs/recorded": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewRun;
    answer: KeptRun;
  };
  /** Whose the run is: the last lease, good or not; null where there is none */
  "GET /api/v1/runs/{run}/lease": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: LeaseState;
  };
  /** Take a run that is queued, or whose owner is gone */
  "POST /api/v1/runs/{run}/lease": {
    path: { run: string };
    query: Record<string, never>;
    body: LeaseTerms | undefined;
    answer: Lease;
  };
  /** The same lease, good for so long from now on */
  "POST /api/v1/runs/{run}/lease/renew": {
    path: { run: string };
    query: Record<string, never>;
    body: LeaseRenewal;
    answer: Lease;
  };
  /** Give a run up; with `close` it is interrupted and has ended */
  "POST /api/v1/runs/{run}/lease/release": {
    path: { run: string };
    query: Record<string, never>;
    body: LeaseRelease;
    answer: Done;
  };
  /** Change a run as its owner: its state, verdict and results */
  "PUT /api/v1/runs/{run}/owned": {
    path: { run: string };
    query: Record<string, never>;
    body: OwnedRunRewrite;
    answer: Run;
  };
  /** Record a further process of the same job in a journal of its own */
  "POST /api/v1/runs/{run}/join": {
    path: { run: string };
    query: Record<string, never>;
    body: JoiningRank;
    answer: Lease;
  };
  /** Append frames to a journal; what is there already is not written again */
  "POST /api/v1/runs/{run}/frames": {
    path: { run: string };
    query: { journal: string; owner: string; epoch: number; offset: number; renew_ns?: number };
    body: Blob;
    answer: JournalSize;
  };
  /** What a run's processes have recorded: names, sizes, whether more may come */
  "GET /api/v1/runs/{run}/journals": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: RunJournals;
  };
  /** Frames of a journal, as they were appended */
  "GET /api/v1/runs/{run}/journals/{journal}": {
    path: { run: string; journal: string };
    query: { offset?: number; length?: number };
    body: undefined;
    answer: Blob;
  };
  /** Files that belong to a run */
  "GET /api/v1/runs/{run}/artifacts": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: RunArtifacts;
  };
  /** The content of an artifact */
  "GET /api/v1/runs/{run}/artifacts/{name}": {
    path: { run: string; name: string };
    query: Record<string, never>;
    body: undefined;
    answer: Blob;
  };
  /** Keep a file with a run; it may be of any size */
  "PUT /api/v1/runs/{run}/artifacts/{name}": {
    path: { run: string; name: string };
    query: Record<string, never>;
    body: Blob;
    answer: NamedArtifact;
  };
  /** Studies, newest first, without their plans */
  "GET /api/v1/studies": {
    path: Record<string, never>;
    query: { limit?: number; after?: string };
    body: undefined;
    answer: StudyPage;
  };
  /** A new study of runs that the caller records itself */
  "POST /api/v1/studies": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: Study;
    answer: Study;
  };
  /** A study: its plan, and which run did which entry of it */
  "GET /api/v1/studies/{study}": {
    path: { study: string };
    query: Record<string, never>;
    body: undefined;
    answer: Study;
  };
  /** Delete a study; its runs stay */
  "DELETE /api/v1/studies/{study}": {
    path: { study: string };
    query: Record<string, never>;
    body: undefined;
    answer: Removed;
  };
  /** Note which run does an entry of the plan */
  "POST /api/v1/studies/{study}/plan/{entry}": {
    path: { study: string; entry: string };
    query: Record<string, never>;
    body: NamedRun;
    answer: NamedRun;
  };
  /** End a run that waits or goes on; what it has recorded stays */
  "POST /api/v1/runs/{run}/stop": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: NamedRun;
  };
  /** Runs of a study that wait or go on; none once it is over or was stopped */
  "GET /api/v1/studies/{study}/jobs": {
    path: { study: string };
    query: Record<string, never>;
    body: undefined;
    answer: StudyJobs;
  };
  /** Go on with a study: with what has not begun and what was interrupted */
  "POST /api/v1/studies/{study}/resume": {
    path: { study: string };
    query: Record<string, never>;
    body: StudyResumption | undefined;
    answer: ResumedStudy;
  };
  /** End every run of a study, and begin no further one */
  "POST /api/v1/studies/{study}/stop": {
    path: { study: string };
    query: Record<string, never>;
    body: undefined;
    answer: NamedStudy;
  };
  /** What the cluster was asked for and has not ended: what goes on, then what waits, with the reason */
  "GET /api/v1/queue": {
    path: Record<string, never>;
    query: { mine?: boolean; limit?: number; after?: string };
    body: undefined;
    answer: QueueList;
  };
  /** One run of the queue: where it is, or why it waits and until when probably */
  "GET /api/v1/queue/{run}": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: QueuedRun;
  };
  /** What would come of an order: place, expected time and start, cost. Nothing is asked for */
  "POST /api/v1/queue/preview": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: RunOrder;
    answer: OrderPreview;
  };
  /** Let a run that waits go on waiting until it is released */
  "POST /api/v1/runs/{run}/hold": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: QueuedRun;
  };
  /** Let a run that was held start when it is its turn */
  "POST /api/v1/runs/{run}/release": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: QueuedRun;
  };
  /** Make a run that waits more or less urgent; above 0 is for administrators */
  "POST /api/v1/runs/{run}/priority": {
    path: { run: string };
    query: Record<string, never>;
    body: NewPriority;
    answer: QueuedRun;
  };
  /** Jobs of the Slurm cluster that gives out the same machines, whoever's they are: those that have nodes, then those that wait. What Slurm keeps private stays out */
  "GET /api/v1/slurm/jobs": {
    path: Record<string, never>;
    query: { node?: string };
    body: undefined;
    answer: SlurmJobList;
  };
  /** The metrics that assay knows by name: unit, meaning, which way is better */
  "GET /api/v1/metrics/known": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: KnownMetrics;
  };
  /** How a specification is written, for editors and forms */
  "GET /api/v1/spec/schema": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: SpecSchema;
  };
  /** Every mistake of a specification, and how many runs it asks for; nothing is started */
  "POST /api/v1/spec/validate": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: SpecDraft;
    answer: SpecOpinion;
  };
  /** What a run's workload printed; goes on where an earlier answer ended */
  "GET /api/v1/runs/{run}/log": {
    path: { run: string };
    query: { after?: string };
    body: undefined;
    answer: RunLog;
  };
  /** What can be said of runs or studies: summary, results, issues, recommendations, method */
  "GET /api/v1/reports": {
    path: Record<string, never>;
    query: { of: string; compare?: boolean; baseline?: string };
    body: undefined;
    answer: ReportAnswer;
  };
  /** The same as one file to keep or hand on */
  "GET /api/v1/reports/file": {
    path: Record<string, never>;
    query: { of: string; compare?: boolean; baseline?: string; format: string };
    body: undefined;
    answer: Blob;
  };
  /** Sign in: with a password, or with a link that works once; sets a cookie */
  "POST /api/v1/session": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: SignIn | undefined;
    answer: SessionInfo;
  };
  /** Who is asking, and what they may */
  "GET /api/v1/session": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: SessionInfo;
  };
  /** Sign out */
  "DELETE /api/v1/session": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** Change one's own password; every other session of the account ends */
  "POST /api/v1/session/password": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: PasswordChange;
    answer: Done;
  };
  /** Accounts, by name */
  "GET /api/v1/users": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: UserList;
  };
  /** A new account, with a password or a link that lets its user in once */
  "POST /api/v1/users": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewUser;
    answer: Invitation;
  };
  /** Change an account's role or name, or whether its user has to stay out */
  "PUT /api/v1/users/{user}": {
    path: { user: string };
    query: Record<string, never>;
    body: UserChange | undefined;
    answer: UserView;
  };
  /** Remove an account with its sessions, tokens, links and panels; its runs stay */
  "DELETE /api/v1/users/{user}": {
    path: { user: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** Give an account a password, or a link that lets its user in once; its sessions end */
  "POST /api/v1/users/{user}/password": {
    path: { user: string };
    query: Record<string, never>;
    body: PasswordReset | undefined;
    answer: Invitation;
  };
  /** The caller's own tokens */
  "GET /api/v1/tokens": {
    path: Record<string, never>;
    query: { all?: boolean };
    body: undefined;
    answer: PersonalTokenList;
  };
  /** A token for the caller's own programs */
  "POST /api/v1/tokens": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewPersonalToken;
    answer: MadeToken;
  };
  /** Revoke a token of the caller's; administrators, anybody's */
  "DELETE /api/v1/tokens/{token}": {
    path: { token: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** Links that the caller shares */
  "GET /api/v1/links": {
    path: Record<string, never>;
    query: { all?: boolean };
    body: undefined;
    answer: ShareLinkList;
  };
  /** A link that shows one run, study, report or comparison to whoever has it, read-only */
  "POST /api/v1/links": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewShareLink;
    answer: MadeLink;
  };
  /** Revoke a link of the caller's; administrators, anybody's */
  "DELETE /api/v1/links/{link}": {
    path: { link: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** Charts that people saved: the caller's own, and those that are shared with everybody */
  "GET /api/v1/panels": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: PanelList;
  };
  /** Save a panel for the caller's account; shared with everybody, for who may start runs */
  "POST /api/v1/panels": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewPanel;
    answer: Panel;
  };
  /** Change a panel of the caller's */
  "PUT /api/v1/panels/{panel}": {
    path: { panel: string };
    query: Record<string, never>;
    body: NewPanel;
    answer: Panel;
  };
  /** Remove a panel of the caller's; administrators, any that is shared */
  "DELETE /api/v1/panels/{panel}": {
    path: { panel: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** Who changed what, when and from where, and whether it was done */
  "GET /api/v1/audit": {
    path: Record<string, never>;
    query: { who?: string; from?: string; before?: number; limit?: number };
    body: undefined;
    answer: AuditList;
  };
  /** What users may start; administrators may start anything */
  "GET /api/v1/catalog": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: CatalogList;
  };
  /** Offer something to users, or change the offer of that name */
  "PUT /api/v1/catalog": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: Offer;
    answer: Offer;
  };
  /** Offer it no longer */
  "DELETE /api/v1/catalog/{offer}": {
    path: { offer: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** How much people may use */
  "GET /api/v1/quotas": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: QuotaList;
  };
  /** Limit what a user, or everybody, may use */
  "PUT /api/v1/quotas": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: Quota | undefined;
    answer: Quota;
  };
  /** Take a limit away */
  "DELETE /api/v1/quotas/{user}": {
    path: { user: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** What the caller may use, and uses */
  "GET /api/v1/quota": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: QuotaUse;
  };
  /** Whose a run is: who may change it besides administrators */
  "GET /api/v1/runs/{run}/owner": {
    path: { run: string };
    query: Record<string, never>;
    body: undefined;
    answer: OwnerAnswer;
  };
  /** What GPU hours and power cost where a specification names no price */
  "GET /api/v1/prices": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: PriceList;
  };
  /** State the price of a GPU, or change it */
  "PUT /api/v1/prices": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: GpuPrice;
    answer: GpuPrice;
  };
  /** Take a price back */
  "DELETE /api/v1/prices": {
    path: Record<string, never>;
    query: { gpu: string };
    body: undefined;
    answer: Done;
  };
  /** State what power costs, in money and CO₂; what is left out is not stated */
  "PUT /api/v1/prices/power": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: PowerPrice | undefined;
    answer: PowerPrice;
  };
  /** Tokens that let machines join, and the keys of those that did */
  "GET /api/v1/join-tokens": {
    path: Record<string, never>;
    query: { waiting?: boolean; limit?: number; before_token?: string; after_key?: string };
    body: undefined;
    answer: JoinTokenList;
  };
  /** A token with which machines join */
  "POST /api/v1/join-tokens": {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewJoinToken | undefined;
    answer: MadeJoinToken;
  };
  /** Let nobody join with it any more */
  "DELETE /api/v1/join-tokens/{token}": {
    path: { token: string };
    query: { with_nodes?: boolean };
    body: undefined;
    answer: Done;
  };
  /** Let in a node that waits for it */
  "POST /api/v1/nodes/{node}/approve": {
    path: { node: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
  /** Shut a node out: it joins again with another key and a token made after this alone */
  "DELETE /api/v1/nodes/{node}/key": {
    path: { node: string };
    query: Record<string, never>;
    body: undefined;
    answer: Done;
  };
}

export type RouteName = keyof Routes;

/** The same for programs while they run: how a route is asked for, and the scope that it needs. */
export const routes: { readonly [name in RouteName]: { method: string; path: string; scope: string; media: string } } = {
  "GET /api/v1/status": { method: "GET", path: "/api/v1/status", scope: "read", media: "application/json" },
  "POST /api/v1/backup": { method: "POST", path: "/api/v1/backup", scope: "admin", media: "application/x-tar" },
  "GET /metrics": { method: "GET", path: "/metrics", scope: "read", media: "text/plain" },
  "GET /api/v1/nodes": { method: "GET", path: "/api/v1/nodes", scope: "read", media: "application/json" },
  "GET /api/v1/nodes/{node}": { method: "GET", path: "/api/v1/nodes/{node}", scope: "read", media: "application/json" },
  "DELETE /api/v1/nodes/{node}": { method: "DELETE", path: "/api/v1/nodes/{node}", scope: "manage", media: "application/json" },
  "GET /api/v1/nodes/{node}/trend": { method: "GET", path: "/api/v1/nodes/{node}/trend", scope: "read", media: "application/json" },
  "GET /api/v1/trends": { method: "GET", path: "/api/v1/trends", scope: "read", media: "application/json" },
  "POST /api/v1/nodes/{node}/drain": { method: "POST", path: "/api/v1/nodes/{node}/drain", scope: "manage", media: "application/json" },
  "POST /api/v1/nodes/{node}/resume": { method: "POST", path: "/api/v1/nodes/{node}/resume", scope: "manage", media: "application/json" },
  "DELETE /api/v1/nodes/{node}/refusals": { method: "DELETE", path: "/api/v1/nodes/{node}/refusals", scope: "manage", media: "application/json" },
  "GET /api/v1/events": { method: "GET", path: "/api/v1/events", scope: "read", media: "application/json" },
  "POST /api/v1/nodes/{node}/commands": { method: "POST", path: "/api/v1/nodes/{node}/commands", scope: "manage", media: "application/json" },
  "GET /api/v1/commands": { method: "GET", path: "/api/v1/commands", scope: "run", media: "application/json" },
  "GET /api/v1/commands/{id}": { method: "GET", path: "/api/v1/commands/{id}", scope: "run", media: "application/json" },
  "GET /api/v1/series": { method: "GET", path: "/api/v1/series", scope: "read", media: "application/json" },
  "DELETE /api/v1/series": { method: "DELETE", path: "/api/v1/series", scope: "manage", media: "application/json" },
  "GET /api/v1/query": { method: "GET", path: "/api/v1/query", scope: "read", media: "application/json" },
  "GET /api/v1/live": { method: "GET", path: "/api/v1/live", scope: "read", media: "text/event-stream" },
  "GET /api/v1/alerts": { method: "GET", path: "/api/v1/alerts", scope: "read", media: "application/json" },
  "POST /api/v1/alerts/{id}/acknowledge": { method: "POST", path: "/api/v1/alerts/{id}/acknowledge", scope: "alerts", media: "application/json" },
  "GET /api/v1/silences": { method: "GET", path: "/api/v1/silences", scope: "read", media: "application/json" },
  "POST /api/v1/silences": { method: "POST", path: "/api/v1/silences", scope: "alerts", media: "application/json" },
  "DELETE /api/v1/silences/{id}": { method: "DELETE", path: "/api/v1/silences/{id}", scope: "alerts", media: "application/json" },
  "GET /api/v1/runs": { method: "GET", path: "/api/v1/runs", scope: "read", media: "application/json" },
  "POST /api/v1/runs": { method: "POST", path: "/api/v1/runs", scope: "run", media: "application/json" },
  "POST /api/v1/runs/search": { method: "POST", path: "/api/v1/runs/search", scope: "read", media: "application/json" },
  "GET /api/v1/runs/changes": { method: "GET", path: "/api/v1/runs/changes", scope: "read", media: "application/json" },
  "POST /api/v1/runs/reindex": { method: "POST", path: "/api/v1/runs/reindex", scope: "admin", media: "application/json" },
  "GET /api/v1/runs/{run}": { method: "GET", path: "/api/v1/runs/{run}", scope: "read", media: "application/json" },
  "PUT /api/v1/runs/{run}": { method: "PUT", path: "/api/v1/runs/{run}", scope: "run", media: "application/json" },
  "DELETE /api/v1/runs/{run}": { method: "DELETE", path: "/api/v1/runs/{run}", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/tags": { method: "POST", path: "/api/v1/runs/{run}/tags", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/curves": { method: "POST", path: "/api/v1/runs/{run}/curves", scope: "read", media: "application/json" },
  "POST /api/v1/runs/recorded": { method: "POST", path: "/api/v1/runs/recorded", scope: "run", media: "application/json" },
  "GET /api/v1/runs/{run}/lease": { method: "GET", path: "/api/v1/runs/{run}/lease", scope: "read", media: "application/json" },
  "POST /api/v1/runs/{run}/lease": { method: "POST", path: "/api/v1/runs/{run}/lease", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/lease/renew": { method: "POST", path: "/api/v1/runs/{run}/lease/renew", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/lease/release": { method: "POST", path: "/api/v1/runs/{run}/lease/release", scope: "run", media: "application/json" },
  "PUT /api/v1/runs/{run}/owned": { method: "PUT", path: "/api/v1/runs/{run}/owned", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/join": { method: "POST", path: "/api/v1/runs/{run}/join", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/frames": { method: "POST", path: "/api/v1/runs/{run}/frames", scope: "run", media: "application/json" },
  "GET /api/v1/runs/{run}/journals": { method: "GET", path: "/api/v1/runs/{run}/journals", scope: "read", media: "application/json" },
  "GET /api/v1/runs/{run}/journals/{journal}": { method: "GET", path: "/api/v1/runs/{run}/journals/{journal}", scope: "read", media: "application/octet-stream" },
  "GET /api/v1/runs/{run}/artifacts": { method: "GET", path: "/api/v1/runs/{run}/artifacts", scope: "read", media: "application/json" },
  "GET /api/v1/runs/{run}/artifacts/{name}": { method: "GET", path: "/api/v1/runs/{run}/artifacts/{name}", scope: "read", media: "application/octet-stream" },
  "PUT /api/v1/runs/{run}/artifacts/{name}": { method: "PUT", path: "/api/v1/runs/{run}/artifacts/{name}", scope: "run", media: "application/json" },
  "GET /api/v1/studies": { method: "GET", path: "/api/v1/studies", scope: "read", media: "application/json" },
  "POST /api/v1/studies": { method: "POST", path: "/api/v1/studies", scope: "run", media: "application/json" },
  "GET /api/v1/studies/{study}": { method: "GET", path: "/api/v1/studies/{study}", scope: "read", media: "application/json" },
  "DELETE /api/v1/studies/{study}": { method: "DELETE", path: "/api/v1/studies/{study}", scope: "run", media: "application/json" },
  "POST /api/v1/studies/{study}/plan/{entry}": { method: "POST", path: "/api/v1/studies/{study}/plan/{entry}", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/stop": { method: "POST", path: "/api/v1/runs/{run}/stop", scope: "run", media: "application/json" },
  "GET /api/v1/studies/{study}/jobs": { method: "GET", path: "/api/v1/studies/{study}/jobs", scope: "read", media: "application/json" },
  "POST /api/v1/studies/{study}/resume": { method: "POST", path: "/api/v1/studies/{study}/resume", scope: "run", media: "application/json" },
  "POST /api/v1/studies/{study}/stop": { method: "POST", path: "/api/v1/studies/{study}/stop", scope: "run", media: "application/json" },
  "GET /api/v1/queue": { method: "GET", path: "/api/v1/queue", scope: "read", media: "application/json" },
  "GET /api/v1/queue/{run}": { method: "GET", path: "/api/v1/queue/{run}", scope: "read", media: "application/json" },
  "POST /api/v1/queue/preview": { method: "POST", path: "/api/v1/queue/preview", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/hold": { method: "POST", path: "/api/v1/runs/{run}/hold", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/release": { method: "POST", path: "/api/v1/runs/{run}/release", scope: "run", media: "application/json" },
  "POST /api/v1/runs/{run}/priority": { method: "POST", path: "/api/v1/runs/{run}/priority", scope: "run", media: "application/json" },
  "GET /api/v1/slurm/jobs": { method: "GET", path: "/api/v1/slurm/jobs", scope: "read", media: "application/json" },
  "GET /api/v1/metrics/known": { method: "GET", path: "/api/v1/metrics/known", scope: "read", media: "application/json" },
  "GET /api/v1/spec/schema": { method: "GET", path: "/api/v1/spec/schema", scope: "read", media: "application/json" },
  "POST /api/v1/spec/validate": { method: "POST", path: "/api/v1/spec/validate", scope: "read", media: "application/json" },
  "GET /api/v1/runs/{run}/log": { method: "GET", path: "/api/v1/runs/{run}/log", scope: "read", media: "application/json" },
  "GET /api/v1/reports": { method: "GET", path: "/api/v1/reports", scope: "read", media: "application/json" },
  "GET /api/v1/reports/file": { method: "GET", path: "/api/v1/reports/file", scope: "read", media: "application/octet-stream" },
  "POST /api/v1/session": { method: "POST", path: "/api/v1/session", scope: "", media: "application/json" },
  "GET /api/v1/session": { method: "GET", path: "/api/v1/session", scope: "read", media: "application/json" },
  "DELETE /api/v1/session": { method: "DELETE", path: "/api/v1/session", scope: "read", media: "application/json" },
  "POST /api/v1/session/password": { method: "POST", path: "/api/v1/session/password", scope: "read", media: "application/json" },
  "GET /api/v1/users": { method: "GET", path: "/api/v1/users", scope: "admin", media: "application/json" },
  "POST /api/v1/users": { method: "POST", path: "/api/v1/users", scope: "admin", media: "application/json" },
  "PUT /api/v1/users/{user}": { method: "PUT", path: "/api/v1/users/{user}", scope: "admin", media: "application/json" },
  "DELETE /api/v1/users/{user}": { method: "DELETE", path: "/api/v1/users/{user}", scope: "admin", media: "application/json" },
  "POST /api/v1/users/{user}/password": { method: "POST", path: "/api/v1/users/{user}/password", scope: "admin", media: "application/json" },
  "GET /api/v1/tokens": { method: "GET", path: "/api/v1/tokens", scope: "read", media: "application/json" },
  "POST /api/v1/tokens": { method: "POST", path: "/api/v1/tokens", scope: "read", media: "application/json" },
  "DELETE /api/v1/tokens/{token}": { method: "DELETE", path: "/api/v1/tokens/{token}", scope: "read", media: "application/json" },
  "GET /api/v1/links": { method: "GET", path: "/api/v1/links", scope: "run", media: "application/json" },
  "POST /api/v1/links": { method: "POST", path: "/api/v1/links", scope: "run", media: "application/json" },
  "DELETE /api/v1/links/{link}": { method: "DELETE", path: "/api/v1/links/{link}", scope: "run", media: "application/json" },
  "GET /api/v1/panels": { method: "GET", path: "/api/v1/panels", scope: "read", media: "application/json" },
  "POST /api/v1/panels": { method: "POST", path: "/api/v1/panels", scope: "read", media: "application/json" },
  "PUT /api/v1/panels/{panel}": { method: "PUT", path: "/api/v1/panels/{panel}", scope: "read", media: "application/json" },
  "DELETE /api/v1/panels/{panel}": { method: "DELETE", path: "/api/v1/panels/{panel}", scope: "read", media: "application/json" },
  "GET /api/v1/audit": { method: "GET", path: "/api/v1/audit", scope: "admin", media: "application/json" },
  "GET /api/v1/catalog": { method: "GET", path: "/api/v1/catalog", scope: "read", media: "application/json" },
  "PUT /api/v1/catalog": { method: "PUT", path: "/api/v1/catalog", scope: "admin", media: "application/json" },
  "DELETE /api/v1/catalog/{offer}": { method: "DELETE", path: "/api/v1/catalog/{offer}", scope: "admin", media: "application/json" },
  "GET /api/v1/quotas": { method: "GET", path: "/api/v1/quotas", scope: "admin", media: "application/json" },
  "PUT /api/v1/quotas": { method: "PUT", path: "/api/v1/quotas", scope: "admin", media: "application/json" },
  "DELETE /api/v1/quotas/{user}": { method: "DELETE", path: "/api/v1/quotas/{user}", scope: "admin", media: "application/json" },
  "GET /api/v1/quota": { method: "GET", path: "/api/v1/quota", scope: "read", media: "application/json" },
  "GET /api/v1/runs/{run}/owner": { method: "GET", path: "/api/v1/runs/{run}/owner", scope: "read", media: "application/json" },
  "GET /api/v1/prices": { method: "GET", path: "/api/v1/prices", scope: "read", media: "application/json" },
  "PUT /api/v1/prices": { method: "PUT", path: "/api/v1/prices", scope: "admin", media: "application/json" },
  "DELETE /api/v1/prices": { method: "DELETE", path: "/api/v1/prices", scope: "admin", media: "application/json" },
  "PUT /api/v1/prices/power": { method: "PUT", path: "/api/v1/prices/power", scope: "admin", media: "application/json" },
  "GET /api/v1/join-tokens": { method: "GET", path: "/api/v1/join-tokens", scope: "admin", media: "application/json" },
  "POST /api/v1/join-tokens": { method: "POST", path: "/api/v1/join-tokens", scope: "admin", media: "application/json" },
  "DELETE /api/v1/join-tokens/{token}": { method: "DELETE", path: "/api/v1/join-tokens/{token}", scope: "admin", media: "application/json" },
  "POST /api/v1/nodes/{node}/approve": { method: "POST", path: "/api/v1/nodes/{node}/approve", scope: "admin", media: "application/json" },
  "DELETE /api/v1/nodes/{node}/key": { method: "DELETE", path: "/api/v1/nodes/{node}/key", scope: "admin", media: "application/json" },
};
