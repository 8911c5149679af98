#include <fmt/format.h>

#include <memory>

#include "backup/backup_receiver.h"
#include "backup/disk.h"
#include "backup/restore.h"
#include "base/units.h"
#include "commands.h"
#include "leader_place.h"
#include "leader_stores.h"
#include "net/client_messages.h"
#include "report/text/style.h"

namespace assay {
namespace {

// The leader says nothing until it has copied its stores, and that is a matter of how much there is.
constexpr Nanos kLongestSilence = std::chrono::hours(1);

struct BackupOptions {
  std::string folder;
};

Result<BackupSummary> receive_from_leader(Connection& leader, const fs::path& folder) {
  ASSAY_TRY(const auto receiver, BackupReceiver::begin(folder));
  ASSAY_CHECK(leader.receive({.method = "POST", .target = "/api/v1/backup", .time = kLongestSilence},
                             [&](std::string_view piece) { return receiver->take(piece); }));
  return receiver->finish();
}

/// A leader that runs sends the copy, since it alone may touch its telemetry; without one this process makes it.
Result<BackupSummary> make_backup(const Context& context, const fs::path& folder) {
  const LeaderPlace place(context.data_folder());
  const bool named = !context.leader.url.empty();
  if (!named) ASSAY_CHECK(check_outside(folder, place.data()));
  if (named || read_endpoint(place).ok()) {
    ASSAY_TRY(auto client, connect_to_leader(context));
    auto received = receive_from_leader(*client, folder);
    // One that was killed has left its address behind.
    if (received || named || received.error().kind != ErrorKind::unreachable) return received;
  }
  std::error_code code;
  if (!fs::is_directory(place.data(), code)) {
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("there is no data folder '{}'", place.data().string()),
                 .hint = "Name it with --data DIR, or a leader with --leader URL --token-file FILE."};
  }
  return back_up_stopped(place, folder, context.clock.wall());
}

int run_backup(const Context& context, const BackupOptions& options) {
  const fs::path folder = fs::absolute(options.folder);
  const auto made = make_backup(context, folder).within("making a backup");
  if (!made) return context.fail(made.error());
  if (!context.json && !context.quiet) {
    print(fmt::format("Copied {} files, {}, to {} and read them back: every sum is right\n", made->files,
                      format_bytes(Bytes{static_cast<std::int64_t>(made->bytes)}), folder.string()));
  }
  return context.succeed({{"folder", folder.string()}, {"files", made->files}, {"bytes", made->bytes}});
}

/// A revocation since then is not in the copy.
std::string who_is_back(WallTime made) {
  return fmt::format(
      "tokens, keys of nodes, accounts and their passwords are as they were when the backup was made{}: whatever was "
      "revoked, disabled or changed since then is good again. Before the leader starts, revoke it anew: `assay token "
      "list`, `assay token revoke`, `assay user disable`",
      made == WallTime{} ? "" : fmt::format(" ({})", local_time(made)));
}

int run_restore(const Context& context, const std::string& backup) {
  const fs::path data = context.data_folder();
  const auto done = restore_data_folder(backup, data).within("restoring a backup");
  if (!done) return context.fail(done.error());
  auto texts = done->warnings;
  std::error_code code;
  if (fs::exists(LeaderPlace(data).tokens(), code)) texts.push_back(who_is_back(done->made));
  json::array warnings;
  for (const auto& warning : texts) {
    warnings.emplace_back(warning);
    if (!context.json)
      print_error(fmt::format("{} {}\n", context.error_style().paint(Colour::yellow, "note:"), warning));
  }
  if (!context.json && !context.quiet) {
    print(fmt::format("{} holds what was in {}: {} files, {}, every sum is right\n", data.string(), backup, done->files,
                      format_bytes(Bytes{static_cast<std::int64_t>(done->bytes)})));
  }
  return context.succeed(
      {{"data", data.string()}, {"files", done->files}, {"bytes", done->bytes}, {"warnings", std::move(warnings)}});
}

}  // namespace

Action add_backup(CLI::App& app, Context& context) {
  auto options = std::make_shared<BackupOptions>();
  auto* command =
      app.add_subcommand("backup", "Copy all data to a new folder while everything goes on")->group("Cluster");
  command
      ->add_option("FOLDER", options->folder, "A new or empty folder of this machine, whichever leader sends the copy")
      ->required();
  command->footer(
      "\nTelemetry, nodes, events, alerts, runs, tokens (hashes only) and the leader's certificate with its key:\n"
      "keep the copy as safe as the original. The folder has its name once everything in it was read back and\n"
      "every SHA-256 is right; until then it is FOLDER.partial. From another machine: --leader URL and the token of\n"
      "an administrator. `assay restore FOLDER --data DIR` brings it back; a leader makes backups by itself with\n"
      "`backup: {to: DIR}` in its configuration.");
  return [&context, options] { return run_backup(context, *options); };
}

Action add_restore(CLI::App& app, Context& context) {
  auto folder = std::make_shared<std::string>();
  auto* command = app.add_subcommand("restore", "Put a backup into an empty data folder (--data)")->group("Cluster");
  command->add_option("FOLDER", *folder, "What `assay backup` made")->required();
  command->footer(
      "\nEvery file is held against its sum first: a damaged backup is refused with the names of the files. Files "
      "have\n"
      "the modes they had and, where root restores them, their owners.\n"
      "Example:\n  assay restore /mnt/backup/monday --data /var/lib/assay");
  return [&context, folder] { return run_restore(context, *folder); };
}

}  // namespace assay
