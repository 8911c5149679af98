#include "store/cluster/run_command_rows.h"

#include <fmt/format.h>

#include <array>

#include "store/cluster/rows.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> kRunCommandColumns = {"id", "node", "created", "runs"};
constexpr RowTable kRunCommands{.name = "run_command", .columns = kRunCommandColumns};

}  // namespace

Result<Stored<RunCommand>> RunCommandRows::find(std::string_view id) {
  return connections_.read([&](Database& database) -> Result<Stored<RunCommand>> {
    ASSAY_TRY(auto statement,
              database.prepare(fmt::format("SELECT {} FROM run_command WHERE id = ?", selected(kRunCommands))));
    statement.bind(1, id);
    ASSAY_TRY(const bool found, statement.step());
    if (!found) return no_such_row("run command", id);
    Stored<RunCommand> command{
        .row = {.id = statement.text(0), .node = statement.text(1), .created = wall_time(statement.integer(2))},
        .revision = statement.integer(4)};
    ASSAY_TRY(const auto runs, parse_json(statement.bytes(3)));
    const json::value value(json::object{{"runs", runs}});
    JsonFields fields(value, "run command");
    command.row.runs = fields.texts_or_empty("runs");
    ASSAY_CHECK(fields.finish());
    return command;
  });
}

Result<Revision> RunCommandRows::put(const Stored<RunCommand>& command) {
  return connections_.write([&](Database& database) -> Result<Revision> {
    ASSAY_TRY(auto statement, prepare_put(database, kRunCommands, command.revision));
    statement.bind(1, command.row.id)
        .bind(2, command.row.node)
        .bind(3, stored_time(command.row.created))
        .bind(4, json::serialize(json::value_from(command.row.runs)));
    return run_put(statement, kRunCommands, command.revision, command.row.id);
  });
}

Result<void> RunCommandRows::forget_before(WallTime time) {
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement, database.prepare("DELETE FROM run_command WHERE created < ?"));
    statement.bind(1, stored_time(time));
    return statement.run();
  });
}

}  // namespace assay
