#include "store/cluster/job_rows.h"

#include <fmt/format.h>

#include <array>

#include "store/cluster/rows.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 18> kJobColumns = {
    "id",    "node",  "created",  "author", "planned",   "gpus",     "study",   "entry",      "stop",
    "doing", "owner", "priority", "held",   "waits_for", "attempts", "attempt", "not_before", "deadline"};
constexpr int kRevisionColumn = static_cast<int>(kJobColumns.size());
constexpr RevisedTable kJobs{.name = "job", .columns = kJobColumns};

Result<Stored<JobRecord>> job_from(const Statement& statement) {
  Stored<JobRecord> job{.row = {.run = statement.text(0),
                                .node = statement.text(1),
                                .created = wall_time(statement.integer(2)),
                                .by = statement.text(3)},
                        .revision = statement.integer(kRevisionColumn)};
  ASSAY_TRY(auto planned, parse_json(statement.bytes(4)));
  const json::value value(json::object{{"planned", std::move(planned)},
                                       {"gpus", parse_json(statement.bytes(5)).value_or({})},
                                       {"after", parse_json(statement.bytes(13)).value_or({})}});
  JsonFields fields(value, "job");
  job.row.planned = fields.object_or_empty("planned");
  if (!value.get_object().at("gpus").is_null()) job.row.gpus = fields.texts_or_empty("gpus");
  job.row.after = fields.texts_or_empty("after");
  ASSAY_CHECK(fields.finish());
  job.row.study = statement.text(6);
  job.row.entry = static_cast<std::size_t>(statement.integer(7));
  job.row.stop = statement.integer(8) != 0;
  job.row.current = statement.text(9);
  job.row.owner = statement.text(10);
  job.row.priority = static_cast<int>(statement.integer(11));
  job.row.held = statement.integer(12) != 0;
  job.row.attempts = static_cast<int>(statement.integer(14));
  job.row.attempt = static_cast<int>(statement.integer(15));
  job.row.not_before = wall_time(statement.integer(16));
  if (statement.integer(17) != 0) job.row.deadline = wall_time(statement.integer(17));
  return job;
}

}  // namespace

Result<std::vector<Stored<JobRecord>>> JobRows::list() {
  return connections_.read([&](Database& database) -> Result<std::vector<Stored<JobRecord>>> {
    ASSAY_TRY(auto statement,
              database.prepare(fmt::format("SELECT {} FROM job ORDER BY created, id", selected(kJobs))));
    std::vector<Stored<JobRecord>> all;
    for (;;) {
      ASSAY_TRY(const bool found, statement.step());
      if (!found) return all;
      ASSAY_TRY(auto job, job_from(statement));
      all.push_back(std::move(job));
    }
  });
}

Result<Revision> JobRows::put(const Stored<JobRecord>& job) {
  return connections_.write([&](Database& database) -> Result<Revision> {
    ASSAY_TRY(auto statement, prepare_put(database, kJobs, job.revision));
    const auto& row = job.row;
    statement.bind(1, row.run).bind(2, row.node).bind(3, stored_time(row.created)).bind(4, row.by);
    statement.bind(5, json::serialize(row.planned));
    statement.bind(6, row.gpus ? json::serialize(json::value_from(*row.gpus)) : std::string("null"));
    statement.bind(7, row.study).bind(8, static_cast<std::int64_t>(row.entry)).bind(9, std::int64_t{row.stop});
    statement.bind(10, row.current).bind(11, row.owner).bind(12, std::int64_t{row.priority});
    statement.bind(13, std::int64_t{row.held}).bind(14, json::serialize(json::value_from(row.after)));
    statement.bind(15, std::int64_t{row.attempts}).bind(16, std::int64_t{row.attempt});
    statement.bind(17, stored_time(row.not_before)).bind(18, stored_time(row.deadline.value_or(WallTime{})));
    return run_put(statement, kJobs, job.revision, row.run);
  });
}

Result<void> JobRows::remove(std::string_view run) {
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement, database.prepare("DELETE FROM job WHERE id = ?"));
    statement.bind(1, run);
    return statement.run();
  });
}

}  // namespace assay
