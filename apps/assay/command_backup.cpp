#include <fmt/format.h>

#include <memory>

#include "api/cluster_types.h"
#include "backup/data_folder_copy.h"
#include "commands.h"
#include "leader_place.h"
#include "leader_stores.h"
#include "store/local/local_store.h"

namespace assay {
namespace {

// The leader says nothing until the copy is complete, and that is a matter of how much there is.
constexpr Nanos kLongestBackup = std::chrono::hours(24);

struct BackupOptions {
  std::string folder;
};

/// With a leader it makes the copy itself, since it alone may touch its telemetry; without one this process does.
Result<void> make_backup(const Context& context, const fs::path& folder) {
  const LeaderPlace place(context.data_folder());
  if (!context.leader.url.empty() || read_endpoint(place).ok()) {
    ASSAY_TRY(auto client, connect_to_leader(context));
    auto answer =
        client->send_json("POST", "/api/v1/backup", write_api(BackupFolder{.folder = folder.string()}), kLongestBackup);
    // One that was killed has left its address behind.
    if (answer || answer.error().kind != ErrorKind::unreachable || !context.leader.url.empty()) {
      return answer ? Result<void>{} : Result<void>(answer.error());
    }
  }
  ASSAY_TRY(auto stopped, LeaderData::open(place));
  return back_up(context.data_folder(), stopped, folder);
}

int run_backup(const Context& context, const BackupOptions& options) {
  const fs::path folder = fs::absolute(options.folder);
  if (const auto made = make_backup(context, folder).within("making a backup"); !made) {
    return context.fail(made.error());
  }
  if (!context.json && !context.quiet) print(fmt::format("Everything was copied to {}\n", folder.string()));
  return context.succeed({{"folder", folder.string()}});
}

Result<void> restore(const fs::path& backup, const fs::path& data) {
  ASSAY_CHECK(restore_data_folder(backup, data));
  ASSAY_TRY(const auto store, open_local_store(data));
  const auto indexed = store->reindex();
  return indexed ? Result<void>{} : Result<void>(indexed.error());
}

int run_restore(const Context& context, const std::string& backup) {
  const fs::path data = context.data_folder();
  if (const auto done = restore(backup, data).within("restoring a backup"); !done) return context.fail(done.error());
  if (!context.json && !context.quiet) print(fmt::format("{} holds what was in {}\n", data.string(), backup));
  return context.succeed({{"data", data.string()}});
}

}  // namespace

Action add_backup(CLI::App& app, Context& context) {
  auto options = std::make_shared<BackupOptions>();
  auto* command =
      app.add_subcommand("backup", "Copy all data to a new folder while everything goes on")->group("Cluster");
  command->add_option("FOLDER", options->folder, "A new or empty folder; on the leader's machine with --leader")
      ->required();
  command->footer(
      "\nTelemetry, nodes, events, alerts, runs, tokens (hashes only) and the leader's certificate with its key:\n"
      "keep the copy as safe as the original. `assay restore FOLDER --data DIR` brings it back.");
  return [&context, options] { return run_backup(context, *options); };
}

Action add_restore(CLI::App& app, Context& context) {
  auto folder = std::make_shared<std::string>();
  auto* command = app.add_subcommand("restore", "Put a backup into an empty data folder (--data)")->group("Cluster");
  command->add_option("FOLDER", *folder, "What `assay backup` made")->required();
  command->footer("\nExample:\n  assay restore /mnt/backup/monday --data /var/lib/assay");
  return [&context, folder] { return run_restore(context, *folder); };
}

}  // namespace assay
