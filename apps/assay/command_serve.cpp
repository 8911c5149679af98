#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "access/secrets.h"
#include "access/token_book.h"
#include "agent/node_facts.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "commands.h"
#include "http/leader_router.h"
#include "leader/leader.h"
#include "leader_place.h"
#include "leader_stores.h"
#include "net/http_server.h"
#include "net/listener.h"
#include "net/own_names.h"
#include "net/tls.h"
#include "outlets/command/command_outlet.h"
#include "outlets/webhook/webhook.h"
#include "report/text/style.h"
#include "stop_signals.h"
#include "watch/rules_reader.h"

namespace assay {
namespace {

constexpr const char* kDefaultListen = "127.0.0.1:8470";
constexpr Nanos kGrace = std::chrono::seconds(5);
// Two for each of some thousands of nodes: telemetry and commands.
constexpr std::size_t kMostConnections = 16'384;
// Where nobody can tell: what systems give at least.
constexpr std::size_t kUsualOpenFiles = 1024;
// Plenty for a browser or a dashboard; who asks for more at once would keep the others waiting.
constexpr std::size_t kRequestsOfOneCaller = 32;

struct ServeOptions {
  std::vector<std::string> listen;
  std::string certificate;
  std::string key;
  bool tls = false;
  std::vector<std::string> names;
  std::string rules;
  std::vector<std::string> webhooks;
  std::string alert_command;
  std::string keep_raw = "14d";
  std::string keep_minutes = "90d";
  std::string keep_hours = "730d";
  std::string keep_events = "730d";
  std::size_t events_per_node = LeaderOptions().events_per_node;
  std::size_t workers = 4;
};

bool is_loopback(const ListenAddress& address) { return address.is_unix() || is_loopback_host(address.host); }

bool is_everywhere(const ListenAddress& address) {
  return !address.is_unix() && (address.host.empty() || address.host == "0.0.0.0" || address.host == "::");
}

Result<Nanos> keep_time(const char* option, const std::string& text) {
  auto duration = parse_duration(text);
  if (!duration) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{} '{}' {}", option, text, duration.error().message)};
  }
  return duration;
}

Result<SeriesStoreOptions> series_options(const ServeOptions& options) {
  SeriesStoreOptions made;
  ASSAY_TRY(made.keep[0], keep_time("--keep-raw", options.keep_raw));
  ASSAY_TRY(made.keep[1], keep_time("--keep-minutes", options.keep_minutes));
  ASSAY_TRY(made.keep[2], keep_time("--keep-hours", options.keep_hours));
  if (made.keep[0] > made.keep[1] || made.keep[1] > made.keep[2]) {
    return Error{.kind = ErrorKind::usage,
                 .message = "--keep-raw, --keep-minutes and --keep-hours must not get shorter"};
  }
  return made;
}

Result<LeaderOptions> leader_options(const ServeOptions& options) {
  LeaderOptions made;
  if (!options.rules.empty()) {
    ASSAY_TRY(made.rules, load_rules(options.rules));
  }
  for (const auto& url : options.webhooks) {
    ASSAY_TRY(auto webhook, make_webhook({.url = url}));
    made.outlets.push_back(std::move(webhook));
  }
  if (!options.alert_command.empty()) {
    made.outlets.push_back(make_command_outlet({.command = {"/bin/sh", "-c", options.alert_command}}));
  }
  ASSAY_TRY(made.keep_events, keep_time("--keep-events", options.keep_events));
  made.events_per_node = options.events_per_node;
  return made;
}

struct Listening {
  std::vector<ListenAddress> addresses;
  std::optional<TlsFiles> tls;
  std::string fingerprint;
};

/// The certificate that this leader makes itself, once. Says what it is not good for if it is older than the wish.
Result<TlsFiles> own_certificate(const LeaderPlace& place, const ServeOptions& options,
                                 const std::vector<ListenAddress>& addresses) {
  std::vector<std::string> asked_for = options.names;
  for (const auto& address : addresses) {
    if (!address.is_unix() && !is_everywhere(address)) asked_for.push_back(address.host);
  }
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  names.insert(names.end(), asked_for.begin(), asked_for.end());
  const fs::path file = place.tls() / "assay-tls.pem";
  std::error_code ignored;
  const bool reachable = !std::all_of(addresses.begin(), addresses.end(), is_loopback);
  // The resolver may be slow, so only when it matters.
  if (reachable && !fs::exists(file, ignored)) {
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
Result<Listening> listening_of(const LeaderPlace& place, const ServeOptions& options) {
  Listening listening;
  for (const auto& text : options.listen) {
    ASSAY_TRY(auto address, parse_listen_address(text));
    listening.addresses.push_back(std::move(address));
  }
  if (options.certificate.empty() != options.key.empty()) {
    return Error{.kind = ErrorKind::usage, .message = "--certificate and --key belong together"};
  }
  const bool reachable = !std::all_of(listening.addresses.begin(), listening.addresses.end(), is_loopback);
  const bool makes_its_own = options.certificate.empty() && (options.tls || reachable);
  if (!options.names.empty() && !makes_its_own) {
    return Error{
        .kind = ErrorKind::usage,
        .message = fmt::format("--name {} is for a certificate that the leader makes itself, and there is none",
                               options.names.front()),
        .hint = "Leave it out; or add --tls, and no --certificate."};
  }
  if (makes_its_own) {
    ASSAY_TRY(listening.tls, own_certificate(place, options, listening.addresses));
  } else if (!options.certificate.empty()) {
    listening.tls = TlsFiles{.certificate = options.certificate, .key = options.key};
  }
  if (listening.tls) {
    ASSAY_TRY(listening.fingerprint, certificate_fingerprint(listening.tls->certificate));
  }
  return listening;
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

Result<void> serve(const Context& context, const ServeOptions& options) {
  const LeaderPlace place(context.data_folder());
  ASSAY_CHECK(make_folders(place.folder));
  fs::permissions(place.folder, fs::perms::owner_all);
  ASSAY_TRY(auto wanted, leader_options(options));
  ASSAY_TRY(const auto series, series_options(options));
  ASSAY_TRY(auto listening, listening_of(place, options));
  StopSignals stop;
  ASSAY_TRY(auto data, LeaderData::open(place, series).within("opening the leader's data"));
  ASSAY_TRY(const auto leader,
            Leader::open(std::move(wanted), data.stores(), context.clock).within("opening the leader's data"));
  ASSAY_TRY(auto book, TokenBook::open(place.tokens(), context.clock).within("opening the tokens"));
  ASSAY_CHECK(keep_own_token(book, place.own_token()).within("making the owner's token"));
  Gatekeeper gatekeeper(book);
  Router router = make_leader_router(
      *leader, gatekeeper, [&](const fs::path& folder) { return back_up(context.data_folder(), data, folder); });
  ASSAY_TRY(const auto server, HttpServer::start({.listen = listening.addresses,
                                                  .tls = listening.tls,
                                                  .limits = leader_limits(),
                                                  .workers = options.workers,
                                                  .urgent_workers = options.workers},
                                                 std::move(router)));
  leader->start();
  ASSAY_CHECK(write_endpoint(place, {.url = url_of(server->addresses().front(), listening.tls.has_value()),
                                     .fingerprint = listening.fingerprint}));
  say_where(context, *server, listening);

  pollfd waiting{.fd = stop.fd(), .events = POLLIN, .revents = 0};
  while (!stop.requested()) ::poll(&waiting, 1, -1);
  if (!context.quiet) print_error("Stopping …\n");
  // Streams end first: they would keep the server waiting.
  leader->live().finish();
  leader->commands().finish();
  leader->run_desk().finish();
  server->stop(kGrace);
  leader->stop();
  std::error_code ignored;
  fs::remove(place.endpoint(), ignored);
  return {};
}

}  // namespace

Action add_serve(CLI::App& app, Context& context) {
  auto options = std::make_shared<ServeOptions>();
  auto* command =
      app.add_subcommand("serve", "Lead a cluster: take in telemetry, keep it, watch over it")->group("Cluster");
  command
      ->add_option("--listen", options->listen,
                   fmt::format("Address to listen on: host:port, :port, unix:/path [{}]", kDefaultListen))
      ->type_name("ADDRESS");
  command->add_option("--certificate", options->certificate, "PEM file with the certificate chain")->type_name("FILE");
  command->add_option("--key", options->key, "PEM file with its key")->type_name("FILE");
  command->add_flag("--tls", options->tls, "TLS on loopback, too, with a certificate of its own");
  command
      ->add_option("--name", options->names,
                   "Another name or address of this machine, for that certificate; may be given more than once")
      ->type_name("NAME");
  command->add_option("--rules", options->rules, "YAML file with rules for alerts (docs/reference/watch-rules.md)")
      ->type_name("FILE");
  command->add_option("--webhook", options->webhooks, "URL that gets each alert as JSON; may be given more than once")
      ->type_name("URL");
  command
      ->add_option("--alert-command", options->alert_command,
                   "Shell command that gets each alert as JSON on its standard input")
      ->type_name("COMMAND");
  command->add_option("--keep-raw", options->keep_raw, "How long every value is kept")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--keep-minutes", options->keep_minutes, "How long minutes are kept")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--keep-hours", options->keep_hours, "How long hours are kept")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--keep-events", options->keep_events, "How long events and resolved alerts are kept")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--events-per-node", options->events_per_node, "Of more than these, the oldest are forgotten")
      ->check(CLI::Range(100, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--workers", options->workers, "Threads that answer people; agents have as many")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->footer(R"(
On loopback it speaks plain HTTP; anywhere else TLS, with a certificate that it makes itself unless one is given.
Every request needs a token (`assay token`); the owner of the data folder has one already.
Examples:
  assay serve                                 on this machine alone
  assay serve --listen :8470                  for a cluster
  assay nodes · assay top · assay query 'gpu.util last=1h'       look at it, on the same machine)");
  return [&context, options] {
    if (options->listen.empty()) options->listen.emplace_back(kDefaultListen);
    const auto served = serve(context, *options);
    return served ? 0 : context.fail(served.error());
  };
}

}  // namespace assay
