#include <fmt/format.h>

#include <functional>
#include <memory>

#include "base/text.h"
#include "commands.h"
#include "leader_place.h"
#include "report/text/style.h"
#include "store/cluster/sqlite_cluster_store.h"
#include "store/series/embedded_series_store.h"

namespace assay {
namespace {

/// A database of the data folder, and what it means that it is damaged.
struct RepairPart {
  std::string name;
  fs::path file;
  std::function<Result<DatabaseRepair>(bool mend)> repair;
  std::string remedy;  ///< what mending does and what it costs
  std::string anew;    ///< what it costs where nothing can be read
};

std::vector<RepairPart> parts_of(const LeaderPlace& place) {
  const fs::path index = place.data() / "index.db";
  const auto begin_anew = [](Database&, const std::vector<SalvagedTable>&) {
    return Result<void>(Error{.kind = ErrorKind::bad_file, .message = "it is made again"});
  };
  return {
      {.name = "cluster",
       .file = place.cluster(),
       .repair = [place](bool mend) { return repair_cluster_store(place.cluster(), mend); },
       .remedy = "a new file gets every row that can be read; nodes, alerts, silences, events and waiting runs on "
                 "pages that cannot be read are lost. Nodes come back with their agents' next hello",
       .anew = "the leader begins a new one: events, alerts, silences and waiting runs are lost; nodes come back "
               "with their agents' next hello"},
      {.name = "series",
       .file = place.series() / "series.db",
       .repair = [place](bool mend) { return repair_series_store(place.series(), mend); },
       .remedy = "a new file gets every row that can be read; telemetry on pages that cannot be read is lost, and "
                 "answers say so until the damaged file is removed",
       .anew = "the leader begins a new one: telemetry is lost but for what its logs still have, and answers say so "
               "until the damaged file is removed"},
      {.name = "index",
       .file = index,
       .repair = [index, begin_anew](bool mend) { return repair_database(index, mend, begin_anew); },
       .remedy = "it is made again from the run folders when it is next needed; nothing is lost",
       .anew = "it is made again from the run folders when it is next needed; nothing is lost"}};
}

std::string salvaged_text(const DatabaseRepair& repair) {
  std::vector<std::string> tables;
  for (const auto& table : repair.salvaged) {
    tables.push_back(fmt::format("{} {}{}", table.rows, table.name, table.whole ? "" : " (others are lost)"));
  }
  return join(tables, ", ");
}

void say(const Context& context, const RepairPart& part, const DatabaseRepair& repair) {
  const TerminalStyle style = context.out_style();
  const std::string head = fmt::format("{:<8}", part.name);
  if (repair.problems.empty()) {
    print(fmt::format("{} {}\n", head, style.paint(Colour::green, "sound")));
    return;
  }
  print(fmt::format("{} {}  {}\n", head, style.paint(Colour::red, "damaged"), part.file.string()));
  for (const auto& problem : repair.problems) print(fmt::format("           {}\n", printable(problem)));
  if (repair.aside.empty()) {
    print(fmt::format("           --mend: {}\n", part.remedy));
    return;
  }
  const std::string done = repair.salvaged.empty() ? part.anew : "rows that were kept: " + salvaged_text(repair);
  print(fmt::format("           mended: {}\n           the damaged file is {}\n", done, repair.aside.string()));
}

json::object to_json(const RepairPart& part, const DatabaseRepair& repair) {
  json::array problems;
  for (const auto& problem : repair.problems) problems.emplace_back(printable(problem));
  json::array tables;
  for (const auto& table : repair.salvaged) {
    tables.push_back({{"name", table.name}, {"rows", table.rows}, {"whole", table.whole}});
  }
  return {{"part", part.name},
          {"file", part.file.string()},
          {"problems", std::move(problems)},
          {"aside", repair.aside.string()},
          {"tables", std::move(tables)}};
}

int run_repair(const Context& context, bool mend) {
  const LeaderPlace place(context.data_folder());
  const auto lock = lock_series_store(place.series());
  if (!lock) {
    Error error = lock.error();
    if (error.kind == ErrorKind::busy) error.hint = "Stop the leader first: systemctl stop assay-leader.";
    return context.fail(error);
  }
  json::array answers;
  bool damaged = false;
  for (const auto& part : parts_of(place)) {
    const auto repair = part.repair(mend);
    if (!repair) return context.fail(repair.error());
    if (!context.json) say(context, part, *repair);
    damaged = damaged || (!repair->problems.empty() && repair->aside.empty());
    answers.push_back(to_json(part, *repair));
  }
  return context.answer(damaged ? 4 : 0, {{"parts", std::move(answers)}}, nullptr);
}

}  // namespace

Action add_repair(CLI::App& app, Context& context) {
  auto mend = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("repair", "Look for damage in the databases of a stopped leader, and mend it")
                      ->group("Cluster");
  command->add_flag("--mend", *mend, "Mend what is damaged; the damaged files are kept beside the new ones");
  command->footer(
      "\nReads every page of cluster.db (nodes, events, alerts, waiting runs), series.db (telemetry) and index.db "
      "(the\n"
      "list of runs), says what is damaged, what mending does and what is lost by it, and changes nothing without "
      "--mend.\n"
      "Exit code 4: something is damaged and was not mended. A backup (`assay restore`) may have what is lost here.\n"
      "Example:\n  systemctl stop assay-leader && assay repair --data /var/lib/assay");
  return [&context, mend] { return run_repair(context, *mend); };
}

}  // namespace assay
