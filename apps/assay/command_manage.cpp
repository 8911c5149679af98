#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "base/age.h"
#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "model/run.h"
#include "model/tags.h"
#include "store/resolve.h"
#include "store/run_answers.h"
#include "store/run_query.h"
#include "store/run_store.h"

namespace assay {
namespace {

/// Ids of all runs that the references name, each once.
Result<std::vector<std::string>> resolve_all(RunStore& store, const std::vector<std::string>& references) {
  std::vector<std::string> ids;
  for (const auto& reference : references) {
    ASSAY_TRY(const auto found, resolve_runs(store, reference));
    for (const auto& id : found) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }
  return ids;
}

/// Asks on the terminal; elsewhere nobody can answer, and the command must have been given --yes.
Result<bool> confirmed(const std::string& question, bool yes) {
  if (yes) return true;
  if (::isatty(STDIN_FILENO) != 1) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{} Nobody is there to answer", question),
                 .hint = "Add --yes."};
  }
  print(question + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

struct TagOptions {
  std::vector<std::string> words;  ///< runs, then tags
  std::vector<std::string> remove;
};

/// Whether a word behind the first one is a further run. A tag may read like a run's name or the beginning of an id;
/// those are tags.
bool names_run(RunStore& store, const std::string& word) {
  return word.starts_with('@') || word.starts_with("tag:") || word.starts_with("study:") || store.find_run(word).ok();
}

int tag(const Context& context, const TagOptions& options) {
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  const auto first_tag = std::find_if(options.words.begin() + 1, options.words.end(),
                                      [&](const std::string& word) { return !names_run(**store, word); });
  const std::vector<std::string> add(first_tag, options.words.end());
  if (add.empty() && options.remove.empty()) {
    return context.fail({.kind = ErrorKind::usage,
                         .message = "no tag given",
                         .hint = "assay tag RUN… gpu=a100 checked, or --remove TAG"});
  }
  for (const auto& one : add) {
    if (auto valid = check_tag(one); !valid) return context.fail(valid.error());
  }
  auto ids = resolve_all(**store, {options.words.begin(), first_tag});
  if (!ids) return context.fail(ids.error());
  json::array changed;
  for (const auto& id : *ids) {
    auto run = (*store)->change_run(id, [&](Run& stored) { return change_tags(stored.tags, add, options.remove); });
    if (!run) return context.fail(run.error());
    if (!context.json && !context.quiet) print(fmt::format("{}  {}\n", id, join(run->tags, ", ")));
    changed.push_back({{"id", id}, {"tags", json::value_from(run->tags)}});
  }
  return context.succeed({{"runs", std::move(changed)}});
}

std::string counted_runs(std::size_t count) { return fmt::format("{} run{}", count, count == 1 ? "" : "s"); }

/// What is to be deleted. The runs of a study go before the study itself, which knows which there were.
struct Doomed {
  std::vector<std::string> runs;
  std::vector<std::string> studies;

  std::string text() const {
    if (studies.empty()) return counted_runs(runs.size());
    const std::string named = studies.size() == 1 ? "1 study" : fmt::format("{} studies", studies.size());
    return runs.empty() ? named : fmt::format("{} with {}", named, counted_runs(runs.size()));
  }
};

Result<Doomed> find_doomed(RunStore& store, const std::vector<std::string>& references) {
  constexpr std::string_view kStudy = "study:";
  Doomed doomed;
  std::vector<std::string> others;
  for (const auto& reference : references) {
    if (reference.starts_with(kStudy)) {
      ASSAY_TRY(auto study, resolve_study(store, reference.substr(kStudy.size())));
      if (std::find(doomed.studies.begin(), doomed.studies.end(), study) == doomed.studies.end()) {
        doomed.studies.push_back(std::move(study));
      }
      const auto runs = resolve_runs(store, reference);
      if (!runs && runs.error().kind == ErrorKind::not_found) continue;
    }
    others.push_back(reference);
  }
  ASSAY_TRY(doomed.runs, resolve_all(store, others));
  return doomed;
}

int remove_all(const Context& context, RunStore& store, const Doomed& doomed) {
  for (const auto& id : doomed.runs) {
    if (auto result = store.remove_run(id); !result) return context.fail(result.error());
  }
  for (const auto& id : doomed.studies) {
    if (auto result = store.remove_study(id); !result) return context.fail(result.error());
  }
  if (!context.json && !context.quiet) print(doomed.text() + " deleted\n");
  return context.succeed(
      {{"removed", json::value_from(doomed.runs)}, {"removed_studies", json::value_from(doomed.studies)}});
}

struct RemoveOptions {
  std::vector<std::string> runs;
  bool yes = false;
};

int rm(const Context& context, const RemoveOptions& options) {
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  auto doomed = find_doomed(**store, options.runs);
  if (!doomed) return context.fail(doomed.error());
  // One run named on purpose goes without a question; several at once are asked about.
  const bool is_one = doomed->runs.size() + doomed->studies.size() == 1;
  auto sure = confirmed(fmt::format("Delete {}?", doomed->text()), options.yes || is_one);
  if (!sure) return context.fail(sure.error());
  return *sure ? remove_all(context, **store, *doomed) : 0;
}

struct PruneOptions {
  std::vector<std::string> filter;
  std::string older_than;
  std::int64_t keep = 0;
  bool dry_run = false;
  bool yes = false;
};

Result<std::vector<RunRow>> find_prunable(const Context& context, RunStore& store, const PruneOptions& options) {
  RunQuery query;
  ASSAY_TRY(query.conditions, parse_conditions(join(options.filter, " "), context.clock.wall()));
  ASSAY_CHECK(resolve_studies(store, query.conditions));
  query.conditions.push_back({.field = "state", .op = Condition::Op::equal, .text = "ended"});
  ASSAY_TRY(auto page, store.list_runs(query));
  auto& rows = page.rows;  // newest first
  rows.erase(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(options.keep, std::ssize(rows)));
  if (!options.older_than.empty()) {
    auto age = parse_age(options.older_than);
    if (!age) {
      return Error{
          .kind = ErrorKind::usage,
          .message = fmt::format("'--older-than {}' is no age. Write a number with a unit, like '90d' or '12h'",
                                 options.older_than)};
    }
    const WallTime limit = context.clock.wall() - *age;
    std::erase_if(rows, [&](const RunRow& row) { return row.created >= limit; });
  }
  return std::move(rows);
}

int prune(const Context& context, const PruneOptions& options) {
  if (options.older_than.empty() && options.keep == 0 && options.filter.empty()) {
    return context.fail({.kind = ErrorKind::usage,
                         .message = "say which runs: --older-than 90d, --keep 100 or a filter such as verdict=failed",
                         .hint = "--dry-run shows what would go."});
  }
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  auto rows = find_prunable(context, **store, options);
  if (!rows) return context.fail(rows.error());
  std::vector<std::string> ids;
  for (const auto& row : *rows) ids.push_back(row.id);
  if (options.dry_run || ids.empty()) {
    if (!context.json) {
      for (const auto& row : *rows) print(fmt::format("{}  {}  {}\n", row.id, local_time(row.created), row.name));
      print(counted_runs(ids.size()) + " would be deleted\n");
    }
    return context.succeed({{"would_remove", json::value_from(ids)}});
  }
  auto sure = confirmed(fmt::format("Delete {}?", counted_runs(ids.size())), options.yes);
  if (!sure) return context.fail(sure.error());
  return *sure ? remove_all(context, **store, {.runs = std::move(ids), .studies = {}}) : 0;
}

int reindex(const Context& context) {
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  auto report = (*store)->reindex();
  if (!report) return context.fail(report.error());
  if (!context.json) {
    print(fmt::format("{} runs, {} studies indexed", report->runs, report->studies));
    print(report->interrupted ? fmt::format("; {} found without an owner and closed\n", report->interrupted)
                              : std::string("\n"));
    for (const auto& problem : report->problems)
      print_error(fmt::format("{}: {}\n", problem.about, problem.error.text()));
  }
  json::array problems;
  for (const auto& problem : report->problems)
    problems.push_back({{"about", problem.about}, {"message", problem.error.text()}});
  const int code = report->problems.empty() ? 0 : 4;
  return context.answer(code,
                        {{"runs", report->runs},
                         {"studies", report->studies},
                         {"interrupted", report->interrupted},
                         {"problems", std::move(problems)}},
                        nullptr);
}

}  // namespace

Action add_tag(CLI::App& app, Context& context) {
  auto options = std::make_shared<TagOptions>();
  auto* command = app.add_subcommand("tag", "Add or remove tags of runs")->group("Manage");
  command->add_option("RUN", options->words, "Runs (@last, tag:T, study:S, further ones by their whole id), then tags")
      ->required();
  command->add_option("--remove", options->remove, "Tag to remove; may be repeated")->allow_extra_args(false);
  command->footer(R"(
A tag is key=value or a word.
Examples:
  assay tag @last @last-1 gpu=a100 checked
  assay tag study:lr-sweep paper
  assay runs verdict=failed --ids | xargs -I ID assay tag ID look-again)");
  return [&context, options] { return tag(context, *options); };
}

Action add_rm(CLI::App& app, Context& context) {
  auto options = std::make_shared<RemoveOptions>();
  auto* command = app.add_subcommand("rm", "Delete runs and all they recorded")->group("Manage");
  command
      ->add_option("RUN", options->runs, "Runs; tag:T for all with that tag, study:S for a study and all of its runs")
      ->required();
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  return [&context, options] { return rm(context, *options); };
}

Action add_prune(CLI::App& app, Context& context) {
  auto options = std::make_shared<PruneOptions>();
  auto* command = app.add_subcommand("prune", "Delete old runs")->group("Manage");
  command->add_option("FILTER", options->filter, "Only runs that match: verdict=failed (see `assay runs --help`)");
  command->add_option("--older-than", options->older_than, "Only runs older than this: 90d")->type_name("AGE");
  command->add_option("--keep", options->keep, "Keep the newest N that match")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("-n,--dry-run", options->dry_run, "Show what would be deleted");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->footer("\nExample: assay prune verdict=failed --older-than 30d --dry-run");
  return [&context, options] { return prune(context, *options); };
}

Action add_reindex(CLI::App& app, Context& context) {
  app.add_subcommand("reindex", "Rebuild the index from the run folders, and report damaged ones")->group("Manage");
  return [&context] { return reindex(context); };
}

}  // namespace assay
