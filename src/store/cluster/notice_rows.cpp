#include "store/cluster/notice_rows.h"

#include "store/cluster/rows.h"

namespace assay {

Result<std::vector<RefusalRecord>> RefusalRows::list() {
  return connections_.read([](Database& database) -> Result<std::vector<RefusalRecord>> {
    ASSAY_TRY(auto statement, database.prepare("SELECT node, what, why, count, since FROM refusal ORDER BY node, id"));
    std::vector<RefusalRecord> refusals;
    while (true) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return refusals;
      refusals.push_back({.node = statement.text(0),
                          .what = statement.text(1),
                          .why = statement.text(2),
                          .count = statement.integer(3),
                          .since = wall_time(statement.integer(4))});
    }
  });
}

Result<void> RefusalRows::put(std::span<const RefusalRecord> refusals) {
  if (refusals.empty()) return {};
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement,
              database.prepare("INSERT INTO refusal (node, what, why, count, since) VALUES (?, ?, ?, ?, ?) "
                               "ON CONFLICT (node, what, why) DO UPDATE SET count = excluded.count"));
    for (const auto& refusal : refusals) {
      statement.bind(1, refusal.node)
          .bind(2, refusal.what)
          .bind(3, refusal.why)
          .bind(4, refusal.count)
          .bind(5, stored_time(refusal.since));
      ASSAY_CHECK(statement.run());
    }
    return {};
  });
}

Result<void> RefusalRows::remove(std::string_view node) {
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement, database.prepare("DELETE FROM refusal WHERE node = ?"));
    statement.bind(1, node);
    return statement.run();
  });
}

Result<std::vector<NoticeRecord>> NoticeRows::list() {
  return connections_.read([](Database& database) -> Result<std::vector<NoticeRecord>> {
    ASSAY_TRY(auto statement, database.prepare("SELECT id, outlet, body, time FROM notice ORDER BY id"));
    std::vector<NoticeRecord> notices;
    while (true) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return notices;
      notices.push_back({.id = statement.integer(0),
                         .outlet = statement.text(1),
                         .body = statement.text(2),
                         .time = wall_time(statement.integer(3))});
    }
  });
}

Result<void> NoticeRows::add(std::span<NoticeRecord> notices) {
  if (notices.empty()) return {};
  std::vector<std::int64_t> ids;
  ASSAY_CHECK(connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement,
              database.prepare("INSERT INTO notice (outlet, body, time) VALUES (?, ?, ?) RETURNING id"));
    for (const auto& notice : notices) {
      statement.bind(1, notice.outlet).bind(2, notice.body).bind(3, stored_time(notice.time));
      ASSAY_CHECK(statement.step());
      ids.push_back(statement.integer(0));
      statement.reset();
    }
    return {};
  }));
  for (std::size_t i = 0; i < notices.size(); ++i) notices[i].id = ids[i];
  return {};
}

Result<void> NoticeRows::remove(std::int64_t id) {
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement, database.prepare("DELETE FROM notice WHERE id = ?"));
    statement.bind(1, id);
    return statement.run();
  });
}

}  // namespace assay
