#include "model/node_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/node_state.h"

namespace assay {
namespace {

using testing::HasSubstr;

NodeRecord full_record() {
  return {.name = "gpu01",
          .first_seen = WallTime(std::chrono::hours(24 * 20'000)),
          .last_seen = WallTime(std::chrono::hours(24 * 20'001) + std::chrono::milliseconds(250)),
          .simulated = true,
          .draining = true,
          .drain_reason = "a new fan",
          .maintenance = {{.from = WallTime(std::chrono::hours(24 * 20'002)),
                           .until = WallTime(std::chrono::hours(24 * 20'003))}},
          .version = "0.4.0",
          .facts = {{"kernel", "6.1.0"}, {"os", "Debian 12"}},
          .devices = {{.id = "GPU-1", .facts = {{"name", "NVIDIA H200"}}}, {.id = "GPU-2"}},
          .allow = {"doctor", "run"},
          .sources = {"procfs"},
          .period_ms = 250};
}

TEST(NodeRecord, ComesBackAsItWas) {
  const auto text = json::serialize(to_json(full_record()));
  const auto read = node_record_from_json(*parse_json(text));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(*read, full_record());
}

TEST(NodeRecord, WhatIsNotThereHasADefault) {
  const auto value = parse_json(R"({"schema": 1, "name": "gpu01", "first_seen": "2026-11-15T04:05:06.789Z",
                                    "last_seen": "2026-11-15T04:05:06.789Z"})");
  const auto read = node_record_from_json(*value);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->period_ms, 1000);
  EXPECT_FALSE(read->draining);
  EXPECT_TRUE(read->devices.empty());
}

TEST(NodeRecord, WhatIsNoneIsAnError) {
  for (const char* key : {"name", "first_seen", "last_seen", "schema"}) {
    json::object object = to_json(full_record());
    object.erase(key);
    EXPECT_FALSE(node_record_from_json(object).ok()) << key;
    object[key] = json::array{};
    EXPECT_FALSE(node_record_from_json(object).ok()) << key;
  }
  json::object endless = to_json(full_record());
  endless.erase("maintenance_until");
  EXPECT_FALSE(node_record_from_json(endless).ok()) << "a maintenance without an end";
  json::object newer = to_json(full_record());
  newer["schema"] = 2;
  EXPECT_FALSE(node_record_from_json(newer).ok());
  json::object nameless = to_json(full_record());
  nameless["devices"] = json::array{json::object{}};
  const auto refused = node_record_from_json(nameless);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("device"));
  EXPECT_FALSE(node_record_from_json(json::array{}).ok());
}

TEST(NodeState, EveryStateHasAName) {
  EXPECT_EQ(name_of(NodeState::online), "online");
  EXPECT_EQ(name_of(NodeState::late), "late");
  EXPECT_EQ(name_of(NodeState::offline), "offline");
  EXPECT_EQ(name_of(NodeState::draining), "draining");
}

}  // namespace
}  // namespace assay
