#include "launch/ssh/ssh_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/ids.h"
#include "base/text.h"
#include "launch/hosted/parted_job.h"
#include "launch/ssh/ssh_host.h"
#include "launch/ssh/ssh_part.h"

namespace assay {
namespace {

constexpr std::string_view kHandlePrefix = "ssh:";
constexpr Nanos kAttachPatience = std::chrono::seconds(60);
constexpr Nanos kAttachPause = std::chrono::milliseconds(10);

/// `ssh:7k2m9q1xw4:gpu01,gpu02`
struct SshHandle {
  std::string id;
  std::vector<std::string> hosts;
};
std::string text_of(const SshHandle& handle) {
  return fmt::format("{}{}:{}", kHandlePrefix, handle.id, join(handle.hosts, ","));
}
/// As `new_id` makes them: it stands in commands for a shell.
bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}
std::optional<SshHandle> parse_handle(std::string_view text) {
  if (!text.starts_with(kHandlePrefix)) return std::nullopt;
  text.remove_prefix(kHandlePrefix.size());
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || !is_id(text.substr(0, colon))) return std::nullopt;
  SshHandle handle{.id = std::string(text.substr(0, colon))};
  for (const auto host : split(text.substr(colon + 1), ',')) {
    if (!check_host(host)) return std::nullopt;
    handle.hosts.emplace_back(host);
  }
  return handle;
}

/// Notes on jobs that nobody took up for a month; their hosts have forgotten them long before.
void remove_old_notes(const fs::path& folder) {
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(24 * 30);
  std::error_code code;
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(folder, code); !code && entry != fs::directory_iterator(); entry.increment(code)) {
    std::error_code unknown;
    if (entry->path().extension() == ".merge" && entry->last_write_time(unknown) < before) old.push_back(entry->path());
  }
  for (const auto& file : old) fs::remove(file, code);
}

/// Does the same for each of several at once, each on a thread of its own. The first error in their order is the
/// result; the others are waited for, which deadlines bound.
Result<void> for_each_at_once(std::size_t count, const std::function<Result<void>(std::size_t)>& act) {
  std::vector<Result<void>> results(count);
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { results[i] = act(i); });
  }
  for (auto& result : results) ASSAY_CHECK(std::move(result));
  return {};
}

class SshLauncher final : public Launcher {
 public:
  explicit SshLauncher(SshLauncherOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "ssh"; }

  Result<std::unique_ptr<RunningJob>> start(const Job& asked) override {
    ASSAY_CHECK(check_order(asked));
    Job job = asked;
    ASSAY_TRY(job.nodes, choose_hosts(asked));
    const std::string id = job.token.empty() ? new_id() : id_from(job.token);
    ASSAY_TRY(auto hosts, connect(job.nodes));
    if (auto taken = hand_out(id, job, hosts); !taken) {
      // Not what another one has begun under this token.
      if (taken.error().kind != ErrorKind::busy) {
        (void)for_each_at_once(hosts.size(), [&](std::size_t i) -> Result<void> {
          hosts[i].drop_job(id);
          return {};
        }).ok();
      }
      return std::move(taken).error();
    }
    return follow({id, job.nodes}, std::move(hosts), {}, job.grace);
  }

  Result<std::unique_ptr<RunningJob>> attach(std::string_view text, PerStream<std::uint64_t> taken) override {
    const auto handle = parse_handle(text);
    if (!handle && (text.empty() || text.starts_with(kHandlePrefix))) return no_such_job(text);
    auto found = handle ? Result<SshHandle>(*handle) : find_job(text);
    if (!found) return std::move(found).error();
    ASSAY_TRY(auto hosts, connect(found->hosts));
    auto job = follow(*found, std::move(hosts), taken, std::nullopt);
    if (!job && job.error().kind == ErrorKind::not_found) return no_such_job(text);
    return job;
  }

 private:
  static Error no_such_job(std::string_view name) {
    return {.kind = ErrorKind::not_found, .message = fmt::format("none of the hosts has a job '{}'", name)};
  }

  Result<std::vector<std::string>> choose_hosts(const Job& job) const {
    const auto count = static_cast<std::size_t>(job.ranks.nodes);
    if (job.nodes.empty() && count <= options_.hosts.size()) {
      return std::vector(options_.hosts.begin(), options_.hosts.begin() + static_cast<std::ptrdiff_t>(count));
    }
    for (const auto& node : job.nodes) {
      if (std::find(options_.hosts.begin(), options_.hosts.end(), node) != options_.hosts.end()) continue;
      return Error{.kind = ErrorKind::unsupported,
                   .message = fmt::format("the run is for the node '{}', which is none of the hosts {}", node,
                                          join(options_.hosts, ", ")),
                   .hint = fmt::format("Name it: --on ssh:{},{}", join(options_.hosts, ","), node)};
    }
    if (job.nodes.size() == count) return job.nodes;
    return Error{
        .kind = ErrorKind::unsupported,
        .message = fmt::format("the run needs {} nodes, and {} {} named: {}", count, options_.hosts.size(),
                               options_.hosts.size() == 1 ? "host is" : "hosts are", join(options_.hosts, ", ")),
        .hint = "Name more of them: --on ssh:gpu01,gpu02"};
  }

  /// The program is read once, however many jobs are started.
  Result<ProgramCopy> program() {
    const std::lock_guard lock(mutex_);
    if (!program_) {
      ASSAY_TRY(program_, describe_program(options_.program));
    }
    return *program_;
  }

  Result<std::vector<SshHost>> connect(const std::vector<std::string>& names) {
    ASSAY_TRY(const auto copy, program());
    std::vector<std::optional<SshHost>> connected(names.size());
    ASSAY_CHECK(for_each_at_once(names.size(), [&](std::size_t i) -> Result<void> {
      ASSAY_TRY(auto host, SshHost::connect(options_.ssh, names[i]));
      ASSAY_CHECK(host.install(copy));
      connected[i].emplace(std::move(host));
      return {};
    }));
    std::vector<SshHost> hosts;
    for (auto& host : connected) hosts.push_back(std::move(*host));
    return hosts;
  }

  /// The first host begins, since it knows where the ranks can meet; then all the others at once.
  Result<void> hand_out(const std::string& id, const Job& job, std::vector<SshHost>& hosts) {
    const auto count = static_cast<std::int64_t>(hosts.size());
    std::string address;
    if (count > 1) {
      address = options_.address;
      if (address.empty()) {
        ASSAY_TRY(address, address_of(options_.ssh, hosts.front().name()));
      }
      if (address.find(':') != std::string::npos) address = "[" + address + "]";
    }
    ASSAY_TRY(const auto first,
              hosts.front().take_job(id, job, {0, count}, count > 1 ? address : "-", options_.engine));
    const std::string meeting = fmt::format("{}:{}", address, first.rendezvous_port);
    return for_each_at_once(hosts.size() - 1, [&](std::size_t i) -> Result<void> {
      auto taken = hosts[i + 1].take_job(id, job, {static_cast<std::int64_t>(i) + 1, count}, meeting, options_.engine);
      return taken ? Result<void>() : Result<void>(std::move(taken).error());
    });
  }

  Result<std::unique_ptr<RunningJob>> follow(const SshHandle& handle, std::vector<SshHost> hosts,
                                             const PerStream<std::uint64_t>& taken, std::optional<Nanos> grace) const {
    MergeNotes notes;
    const std::size_t count = hosts.size();
    if (count > 1) {
      ASSAY_CHECK(make_folders(options_.state));
      remove_old_notes(options_.state);
      ASSAY_TRY(notes, MergeNotes::open(options_.state / (handle.id + ".merge"), count, taken));
    }
    std::vector<std::unique_ptr<SshPart>> parts;
    for (std::size_t i = 0; i < count; ++i) {
      const PartOfJob part{static_cast<std::int64_t>(i), static_cast<std::int64_t>(count)};
      parts.push_back(std::make_unique<SshPart>(std::move(hosts[i]), handle.id, part,
                                                count > 1 ? notes.merged(i) : taken, options_.patience));
    }
    ASSAY_CHECK(await_orders(parts));
    const Nanos asked_grace = grace.value_or(parts.front()->order()->grace);
    std::vector<std::unique_ptr<JobPart>> as_parts;
    for (auto& part : parts) as_parts.push_back(std::move(part));
    return make_parted_job(std::move(as_parts),
                           {.handle = text_of(handle), .grace = asked_grace, .notes = std::move(notes), .keep = {}});
  }

  /// Until each host has said what the job is: it is ours then.
  static Result<void> await_orders(const std::vector<std::unique_ptr<SshPart>>& parts) {
    const SystemClock clock;
    const auto deadline = clock.now() + kAttachPatience;
    while (true) {
      bool all = true;
      for (const auto& part : parts) {
        part->look();
        all = all && part->order().has_value();
        const auto& problem = part->problem();
        if (problem && (problem->kind == ErrorKind::not_found || problem->kind == ErrorKind::busy)) return *problem;
        if (problem && clock.now() > deadline) return *problem;
      }
      if (all) return {};
      if (clock.now() > deadline) {
        return Error{.kind = ErrorKind::unreachable, .message = "the hosts of the job do not answer in time"};
      }
      std::this_thread::sleep_for(kAttachPause);
    }
  }

  /// By its token alone: whichever of the hosts has its first part knows where the others are. A host that cannot be
  /// asked is an error, since it might have it.
  Result<SshHandle> find_job(std::string_view token) {
    const std::string id = id_from(token);
    ASSAY_TRY(auto hosts, connect(options_.hosts));
    for (auto& host : hosts) {
      const auto name = host.name();
      ASSAY_TRY(const auto order, host.read_order_of(id));
      if (order) return SshHandle{id, order->nodes.empty() ? std::vector{name} : order->nodes};
    }
    return no_such_job(token);
  }

  const SshLauncherOptions options_;
  std::mutex mutex_;
  std::optional<ProgramCopy> program_;
};

}  // namespace

std::unique_ptr<Launcher> make_ssh_launcher(SshLauncherOptions options) {
  return std::make_unique<SshLauncher>(std::move(options));
}

}  // namespace assay
