#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "access/directory_roles.h"
#include "access/ldap/ldap_directory.h"
#include "access/secrets.h"
#include "access/token_book.h"
#include "accounts/accounts.h"
#include "agent/node_facts.h"
#include "backup/backup_schedule.h"
#include "backup/disk.h"
#include "base/log.h"
#include "base/supervised_thread.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "commands.h"
#include "config_flags.h"
#include "dashboard/embedded_files.h"
#include "http/api_routes.h"
#include "http/leader_router.h"
#include "leader/leader.h"
#include "leader/leader_options.h"
#include "leader_place.h"
#include "leader_stores.h"
#include "net/http_server.h"
#include "net/listener.h"
#include "net/own_names.h"
#include "net/router.h"
#include "net/server_options.h"
#include "net/tls.h"
#include "net/tls_files.h"
#include "outlets/command/command_outlet.h"
#include "outlets/webhook/webhook.h"
#include "report/text/style.h"
#include "service/leader_config.h"
#include "stop_signals.h"
#include "watch/rules_reader.h"

namespace assay {
namespace {

// Whoever has not taken its answer by then asks again; a client that takes nothing must hold up nobody.
constexpr Nanos kGrace = std::chrono::seconds(1);
constexpr Nanos kBackupLook = std::chrono::seconds(10);
constexpr const char* kScheduledBackup = "the scheduled backup";
constexpr Nanos kCertificateNotice = std::chrono::hours(24 * 14);
// Two for each of some thousands of nodes: telemetry and commands.
constexpr std::size_t kMostConnections = 16'384;
// Where nobody can tell: what systems give at least.
constexpr std::size_t kUsualOpenFiles = 1024;
// Plenty for a browser or a dashboard; who asks for more at once would keep the others waiting.
constexpr std::size_t kRequestsOfOneCaller = 32;

bool is_everywhere(const ListenAddress& address) {
  return !address.is_unix() && (address.host.empty() || address.host == "0.0.0.0" || address.host == "::");
}

SeriesStoreOptions series_options(const LeaderConfig& config) {
  SeriesStoreOptions made;
  made.keep = {config.keep_raw, config.keep_minutes, config.keep_hours};
  made.max_per_owner.series = config.series_per_node;
  made.max_per_owner.bytes = static_cast<std::uint64_t>(config.bytes_per_node.count);
  return made;
}

Result<LeaderOptions> leader_options(const LeaderConfig& config) {
  LeaderOptions made;
  if (!config.rules.empty()) {
    ASSAY_TRY(made.rules, load_rules(config.rules));
  }
  for (const auto& url : config.webhooks) {
    ASSAY_TRY(auto webhook, make_webhook({.url = url}));
    made.outlets.push_back(std::move(webhook));
  }
  if (!config.alert_command.empty()) {
    made.outlets.push_back(make_command_outlet({.command = {"/bin/sh", "-c", config.alert_command}}));
  }
  made.keep_events = config.keep_events;
  made.events_per_node = config.events_per_node;
  made.events_per_hour = config.events_per_hour;
  made.intake_threads = config.workers;
  made.runs.first_wait = config.retry_wait;
  made.runs.patience = config.lost_after;
  made.slurm.told_by = config.slurm_from;
  made.accounts.anonymous = config.anonymous;
  made.accounts.behind_proxy = config.behind_proxy;
  made.accounts.people.sessions = {.idle = config.session_idle, .length = config.session_length};
  if (!config.ldap.url.empty()) {
    ASSAY_TRY(auto directory, make_ldap_directory(config.ldap).within("the directory of people"));
    made.accounts.people.directory = {.passwords = std::move(directory),
                                      .role_of = [roles = config.ldap.roles](const std::vector<std::string>& groups) {
                                        return role_of_groups(groups, roles);
                                      }};
  }
  return made;
}

struct Listening {
  std::optional<TlsFiles> tls;
  std::string fingerprint;  ///< what join tokens carry, as the administrator chose
  std::string certificate;  ///< that of the certificate, whatever was chosen
};

/// The certificate that this leader makes itself, once. Says what it is not good for if it is older than the wish.
Result<TlsFiles> own_certificate(const LeaderPlace& place, const LeaderConfig& config) {
  std::vector<std::string> asked_for = config.names;
  for (const auto& address : config.listen) {
    if (!address.is_unix() && !is_everywhere(address)) asked_for.push_back(address.host);
  }
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  names.insert(names.end(), asked_for.begin(), asked_for.end());
  const fs::path file = place.tls() / "assay-tls.pem";
  std::error_code ignored;
  // The resolver may be slow, so only when it matters.
  if (config.is_reachable() && !fs::exists(file, ignored)) {
    const auto own = names_of_this_machine();
    names.insert(names.end(), own.begin(), own.end());
  }
  ASSAY_TRY(auto files, keep_self_made_certificate(place.tls(), names));
  ASSAY_TRY(const auto missing, names_not_covered(files.certificate, asked_for));
  if (!missing.empty()) {
    log_warning(
        "The certificate of this leader is not good for {}: whoever checks names refuses it there. To make a new one, "
        "delete '{}' and start again; its fingerprint changes then, and everybody who has the old one, as in join "
        "tokens, needs the new one.",
        join(missing, ", "), file.string());
  }
  return files;
}

/// Plain HTTP is for loopback alone.
Result<Listening> listening_of(const LeaderPlace& place, const LeaderConfig& config) {
  Listening listening;
  if (config.makes_certificate()) {
    ASSAY_TRY(listening.tls, own_certificate(place, config));
  } else if (!config.certificate.empty()) {
    listening.tls = TlsFiles{.certificate = config.certificate, .key = config.key};
  }
  if (listening.tls) {
    ASSAY_TRY(listening.fingerprint, certificate_fingerprint(listening.tls->certificate, config.pin));
    ASSAY_TRY(listening.certificate, certificate_fingerprint(listening.tls->certificate));
  }
  return listening;
}

/// Nobody else may look into it. On a file system that is read-only, or in a folder of somebody else, that fails.
Result<void> make_private(const fs::path& folder) {
  std::error_code problem;
  fs::permissions(folder, fs::perms::owner_all, problem);
  if (!problem) return {};
  return Error{.kind = ErrorKind::io,
               .message = fmt::format("the data folder '{}' cannot be used: {}", folder.string(), problem.message()),
               .hint = "It must be yours, on a file system that can be written to. --data names another one."};
}

/// The owner of the data folder may do everything with the leader that runs there: it is theirs.
Result<void> keep_own_token(TokenBook& book, const fs::path& file) {
  if (const auto secret = read_secret_file(file); secret && book.check(*secret)) return {};
  const auto revoked = book.revoke(kOwnerToken);
  if (!revoked && revoked.error().kind != ErrorKind::not_found) return revoked.error();
  ASSAY_TRY(const auto made, book.create(Role::admin, kOwnerToken, std::nullopt));
  std::error_code ignored;
  fs::remove(file, ignored);
  return write_secret_file(file, made.secret);
}

std::string url_of(const ListenAddress& address, bool tls) {
  if (address.is_unix()) return "unix:" + address.socket_path;
  ListenAddress reachable = address;
  if (is_everywhere(address)) reachable.host = address.host == "::" ? "::1" : "127.0.0.1";
  return fmt::format("{}://{}", tls ? "https" : "http", reachable.text());
}

void say_where(const Context& context, const HttpServer& server, const Listening& listening) {
  if (context.quiet) return;
  const TerminalStyle style = context.error_style();
  std::string text = style.paint(Colour::bold, fmt::format("assay {} leads", version())) + "\n";
  const std::string host = short_host_name();
  std::string url = "URL";
  for (const auto& address : server.addresses()) {
    const bool everywhere = is_everywhere(address) && !host.empty();
    ListenAddress told = address;
    if (everywhere) told.host = host;
    const std::string shown = url_of(told, listening.tls.has_value());
    text += fmt::format("  listening    {}{}\n", shown, everywhere ? " (every address of this machine)" : "");
    if (!address.is_unix() && url == "URL") url = shown;
  }
  if (!listening.fingerprint.empty()) text += fmt::format("  certificate  {}\n", listening.fingerprint);
  text += fmt::format("  data         {}\n", context.data_folder().string());
  text += style.paint(Colour::dim, fmt::format("  join nodes   assay token create --role agent --out join.token\n"
                                               "               assay agent --leader {} --token-file join.token\n",
                                               url));
  print_error(text);
}

/// Until somebody administers, each start prints a link that makes whoever opens it first the administrator.
Result<void> invite_first(const Context& context, Leader& leader, const HttpServer& server,
                          const Listening& listening) {
  ASSAY_TRY(const auto invited, leader.accounts().people().invite_first());
  if (!invited || context.quiet) return {};
  ListenAddress address = server.addresses().front();
  if (is_everywhere(address) && !short_host_name().empty()) address.host = short_host_name();
  if (address.is_unix()) {
    print_error(fmt::format("  first login  as {}: assay user password {}\n", invited->user, invited->user));
    return {};
  }
  print_error(fmt::format("  first login  {}/#/login?once={}\n               (as {}, works once, for 24 hours)\n",
                          url_of(address, listening.tls.has_value()), invited->secret, invited->user));
  return {};
}

HttpLimits leader_limits() {
  const auto files = raise_file_limit();
  if (!files) log_warning("{}", files.error().text());
  HttpLimits limits;
  limits.connections = connections_within(files ? *files : kUsualOpenFiles, kMostConnections);
  // However many one machine opens, others still get in.
  limits.connections_of_peer = limits.connections / 2;
  limits.waiting_requests = limits.connections;
  limits.requests_of_caller = kRequestsOfOneCaller;
  return limits;
}

/// Time enough to get another one.
Result<void> check_certificate_end(const Listening& listening, WallTime now) {
  if (!listening.tls) return {};
  ASSAY_TRY(const auto end, certificate_end(listening.tls->certificate));
  if (end - now > kCertificateNotice) return {};
  return Error{.kind = ErrorKind::bad_file,
               .message = fmt::format("'{}' {} {}", listening.tls->certificate.string(),
                                      end > now ? "is good only until" : "has not been good since", iso8601(end)),
               .hint = "Put a new one in its place and send the leader SIGHUP."};
}

LeaderEndpoint endpoint_of(const HttpServer& server, const Listening& listening) {
  return {.url = url_of(server.addresses().front(), listening.tls.has_value()),
          .fingerprint = listening.fingerprint,
          .certificate = listening.certificate};
}

/// A leader that is up, and what it takes to change its certificate while it stays so.
struct Serving {
  const LeaderPlace& place;
  const LeaderConfig& config;
  Leader& leader;
  HttpServer& server;
  Listening listening;
};

Result<void> reload_certificate(Serving& serving) {
  ASSAY_TRY(auto listening, listening_of(serving.place, serving.config));
  if (!listening.tls) return {};
  ASSAY_CHECK(serving.server.change_certificate(*listening.tls));
  serving.listening = std::move(listening);
  log_info("The certificate was read again: {}", serving.listening.fingerprint);
  return write_endpoint(serving.place, endpoint_of(serving.server, serving.listening));
}

/// Until somebody wants it to stop.
void keep_serving(const StopSignals& signals, Serving& serving) {
  constexpr int kLookMilliseconds = 3'600'000;
  while (!signals.requested()) {
    serving.leader.note_problem("the certificate",
                                check_certificate_end(serving.listening, serving.leader.clock().wall()),
                                ProblemKind::certificate);
    pollfd waiting{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    char byte = 0;
    if (::poll(&waiting, 1, kLookMilliseconds) <= 0 || ::read(signals.fd(), &byte, 1) != 1 || byte != 'r') continue;
    serving.leader.note_problem("reading the certificate again", reload_certificate(serving), ProblemKind::certificate);
  }
}

/// Makes backups when they are due; absent where nobody wants them. Everything it is given must outlive it.
std::optional<SupervisedThread> keep_backups(const LeaderConfig& config, BackupDesk& backups, Leader& leader) {
  if (config.backup_to.empty()) return std::nullopt;
  const auto make = [&backups](const fs::path& folder, const std::stop_token& stop) -> Result<void> {
    const auto made = backups.make(folder, stop);
    if (!made) return made.error();
    log_info("Backup '{}': {} files, {}, every sum is right", folder.string(), made->files,
             format_bytes(Bytes{static_cast<std::int64_t>(made->bytes)}));
    return {};
  };
  const BackupSchedule::Options options{
      .to = config.backup_to, .every = config.backup_every, .keep = config.backup_keep};
  const auto keep = [&leader, schedule = std::make_shared<BackupSchedule>(options, make, leader.clock())](
                        const std::stop_token& stop) {
    do {
      const auto outcome = schedule->tick(stop);
      if (outcome && !stop.stop_requested()) leader.note_problem(kScheduledBackup, *outcome);
    } while (sleep_for(stop, kBackupLook));
  };
  const auto report = [&leader](const std::string& problem) {
    leader.note_problem(kScheduledBackup, Error{.kind = ErrorKind::internal, .message = problem});
  };
  return SupervisedThread("leader-backups", keep, {.restart_after = kBackupLook, .report = report});
}

Result<void> serve(const Context& context, const LeaderConfig& config) {
  const LeaderPlace place(context.data_folder());
  ASSAY_CHECK(make_folders(place.folder));
  ASSAY_CHECK(make_private(place.folder));
  if (!config.backup_to.empty()) {
    ASSAY_CHECK(check_outside(config.backup_to, context.data_folder()).within("backup.to"));
  }
  ASSAY_TRY(auto wanted, leader_options(config));
  ASSAY_TRY(auto listening, listening_of(place, config));
  // Who closes the terminal that it was started in wants it to end.
  const StopSignals stop(::isatty(STDIN_FILENO) != 0 ? StopSignals::OnHangup::stop : StopSignals::OnHangup::reload);
  ASSAY_TRY(auto data,
            LeaderData::open(place, series_options(config), config.bytes_per_run).within("opening the leader's data"));
  ASSAY_TRY(const auto leader,
            Leader::open(std::move(wanted), data.stores(), context.clock).within("opening the leader's data"));
  ASSAY_TRY(auto book, TokenBook::open(place.tokens(), context.clock).within("opening the tokens"));
  ASSAY_CHECK(keep_own_token(book, place.own_token()).within("making the owner's token"));
  const auto gatekeeper = make_gatekeeper(*leader, book);
  BackupDesk backups(data.backup_options(place), context.clock);
  Router router = make_leader_router(*leader, *gatekeeper,
                                     {.backup = [&backups] { return backups.begin(); },
                                      .fingerprint =
                                          [&place] {
                                            // Where it is renewed when the certificate is.
                                            const auto endpoint = read_endpoint(place);
                                            return endpoint ? endpoint->fingerprint : std::string();
                                          }},
                                     embedded_dashboard());
  ASSAY_TRY(const auto server, HttpServer::start({.listen = config.listen,
                                                  .tls = listening.tls,
                                                  .limits = leader_limits(),
                                                  .workers = config.workers,
                                                  .urgent_workers = config.workers},
                                                 std::move(router)));
  leader->start();
  ASSAY_CHECK(write_endpoint(place, endpoint_of(*server, listening)));
  say_where(context, *server, listening);
  ASSAY_CHECK(invite_first(context, *leader, *server, listening).within("inviting the first administrator"));

  auto scheduled = keep_backups(config, backups, *leader);
  Serving serving{.place = place, .config = config, .leader = *leader, .server = *server, .listening = listening};
  keep_serving(stop, serving);
  if (scheduled) scheduled->request_stop();
  if (!context.quiet) print_error("Stopping …\n");
  // Streams end first: they would keep the server waiting.
  leader->finish_streams();
  server->stop(kGrace);
  scheduled.reset();
  leader->stop();
  std::error_code ignored;
  fs::remove(place.endpoint(), ignored);
  return {};
}

}  // namespace

Action add_serve(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("serve", "Lead a cluster: take in telemetry, keep it, watch over it")->group("Cluster");
  auto flags = std::make_shared<ConfigFlags>(*command, leader_table());
  command->footer(R"(
On loopback it speaks plain HTTP; anywhere else TLS, with a certificate that it makes itself unless one is given.
Every request needs an account (`assay user`) or a token (`assay token`); the owner of the data folder has one already.
Examples:
  assay serve                                 on this machine alone
  assay serve --listen :8470                  for a cluster
  assay serve --config /etc/assay/leader.yaml settings from a file; `assay config example leader` prints one
  assay nodes · assay top · assay query 'gpu.util last=1h'       look at it, on the same machine)");
  return [&context, flags] {
    const auto config = configure(context, leader_table(), *flags);
    if (!config) return context.fail(config.error());
    if (!config->data.empty()) context.data_option = config->data.string();
    const auto served = serve(context, *config);
    return served ? 0 : context.fail(served.error());
  };
}

}  // namespace assay
