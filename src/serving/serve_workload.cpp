#include "serving/serve_workload.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "base/version.h"
#include "net/listener.h"
#include "serving/client_place.h"
#include "serving/serve_follow.h"

namespace assay {
namespace {

/// Turns the signals that ask a program to end into a stop request. Made before any other thread, so that all of them
/// leave these signals to it.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& ending) {
      while (!ending.stop_requested()) {
        const timespec wait{.tv_sec = 0, .tv_nsec = 100'000'000};
        if (::sigtimedwait(&signals_, nullptr, &wait) > 0) source_.request_stop();
      }
    });
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source source_;
  std::jthread thread_;
};

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<ServeSettings> settings_in(const std::string& file) {
  ASSAY_TRY(const auto text, read_file(file));
  json::error_code code;
  const json::value parsed = json::parse(text, code);
  if (code || !parsed.is_object()) {
    return Error{.kind = ErrorKind::bad_file, .message = "the settings are no JSON object", .at = file};
  }
  return read_serve_settings(parsed.get_object());
}

Result<LoadIdentity> identity_of(const ServeSettings& settings) {
  ASSAY_TRY(auto files, hash_of_files(settings));
  return LoadIdentity{.version = fmt::format("assay {} ({})", version(), git_commit()),
                      .settings = content_hash(json::serialize(settings.spec)),
                      .files = std::move(files)};
}

/// Where the first client listens: at the address that others call it by, or at every address where that is not one
/// of this machine's own (containers, forwarded ports).
Result<Listener> listen_for_clients(const ClientSeat& seat) {
  auto listener = Listener::open({.host = seat.coordinator, .port = seat.port});
  if (listener || listener.error().kind == ErrorKind::busy) return listener;
  return Listener::open({.host = "", .port = seat.port});
}

/// One process of a load: what it was started with, and what it needs all the time.
struct ServeProcess {
  std::vector<std::string> arguments;
  ServeSettings settings;
  LoadCarrier carrier;
  ServeEvents& events;
  std::stop_token stopping;
};

Result<void> serve_with(ServeProcess& process, LoadCoordinator* others) {
  return serve(process.settings,
               {.carrier = process.carrier,
                .events = process.events,
                .artifacts = variable("ASSAY_ARTIFACTS").value_or(""),
                .others = others},
               process.stopping);
}

Result<void> lead_clients(ServeProcess& process, const ClientSeat& seat, const LoadKey& key, bool start_them) {
  const SystemClock clock;
  ASSAY_TRY(auto identity, identity_of(process.settings));
  ASSAY_TRY(const auto listener, listen_for_clients(seat));
  LocalClients siblings;
  if (start_them) {
    std::vector<std::string> arguments = process.arguments;
    arguments.emplace_back(kClientsStarted);
    ASSAY_CHECK(siblings.start(arguments, seat.share.count, listener.address().port));
  }
  process.events.phase("clients join");
  ASSAY_TRY(const auto others, LoadCoordinator::gather(listener,
                                                       {.clients = seat.share.count,
                                                        .identity = std::move(identity),
                                                        .key = key,
                                                        .run = process.carrier.run,
                                                        .still_expected = [&] { return siblings.all_there(); }},
                                                       clock, process.stopping));
  return serve_with(process, others.get());
}

Result<void> follow_first_client(ServeProcess& process, const ClientSeat& seat, const LoadKey& key) {
  const SystemClock clock;
  ASSAY_TRY(auto identity, identity_of(process.settings));
  ASSAY_TRY(const auto follower, LoadFollower::join({.host = seat.coordinator,
                                                     .port = seat.port,
                                                     .hello = {.index = seat.share.index,
                                                               .count = seat.share.count,
                                                               .host = process.carrier.host,
                                                               .identity = std::move(identity)},
                                                     .key = key},
                                                    clock, process.stopping));
  process.carrier.run = follower->run();
  return follow_loads(process.settings, process.carrier, *follower, process.stopping);
}

/// Whether this process is the one that speaks of the run.
bool is_first(const std::vector<std::string>& arguments) {
  return arguments.size() < 5 || arguments[4] != kClientsStarted || variable("RANK").value_or("0") == "0";
}

Result<void> serve_as_told(const std::vector<std::string>& arguments, const TargetMaker& make_target,
                           ServeEvents& events, const std::stop_token& stopping) {
  if (arguments.size() < 3) return Error{.kind = ErrorKind::usage, .message = "a file with settings is missing"};
  ASSAY_TRY(auto settings, settings_in(arguments[2]));
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  ServeProcess process{
      .arguments = arguments,
      .settings = std::move(settings),
      .carrier = {.make_target = make_target, .run = variable("ASSAY_RUN_ID").value_or(""), .host = host.data()},
      .events = events,
      .stopping = stopping};
  if (process.settings.clients == 1) return serve_with(process, nullptr);
  if (arguments.size() < 4) return Error{.kind = ErrorKind::usage, .message = "the key of a shared load is missing"};
  ASSAY_TRY(const auto key, read_load_key(arguments[3]));
  ClientSeat seat{.share = {0, process.settings.clients}, .coordinator = "127.0.0.1"};
  const bool started = arguments.size() > 4 && arguments[4] == kClientsStarted;
  if (started) {
    ASSAY_TRY(seat, seat_of_environment(process.settings.clients, variable));
  }
  process.carrier.share = seat.share;
  if (seat.share.index > 0) return follow_first_client(process, seat, key);
  return lead_clients(process, seat, key, !started);
}

}  // namespace

int serve_workload_main(int argc, char** argv, const TargetMaker& make_target) {
  const StopOnSignal signals;
  const std::vector<std::string> arguments(argv, argv + argc);
  // Only the first client is listened to; of the others, people read what went wrong.
  ServeEvents events(is_first(arguments) ? variable("ASSAY_EVENTS").value_or("") : "file:/dev/null");
  const auto served = serve_as_told(arguments, make_target, events, signals.token());
  if (served) return 0;
  if (!is_first(arguments))
    fmt::print(stderr, "assay: client {}: {}\n", variable("RANK").value_or("?"), served.error().text());
  events.error(served.error());
  return 1;
}

}  // namespace assay
