#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "top_picture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

NodeAnswer node(const std::string& name) {
  NodeAnswer made{.record = {.name = name}, .state = NodeState::online};
  for (const char* index : {"0", "1"}) {
    made.record.devices.push_back({.id = "GPU-" + name + index, .facts = {{"index", index}, {"name", "NVIDIA H200"}}});
  }
  return made;
}

/// Two nodes with two GPUs each, told as the leader's stream tells them.
class TopTest : public testing::Test {
 protected:
  TopTest() {
    model_.set_nodes({.nodes = {node("gpu01"), node("gpu02")}});
    LiveEvent event{.time_ms = 1'000'000};
    for (const std::string name : {"gpu01", "gpu02"}) {
      for (const std::string index : {"0", "1"}) {
        for (const char* metric : {"gpu.util", "gpu.temperature_c"}) {
          event.series.push_back({.id = event.series.size() + 1,
                                  .node = name,
                                  .name = metric,
                                  .labels = {{"node", name}, {"gpu", "GPU-" + name + index}}});
        }
      }
    }
    tell(event, true);
  }
  void tell(const LiveEvent& event, bool snapshot = false) {
    const auto taken = model_.apply(json::serialize(write_api(event)), snapshot);
    EXPECT_TRUE(taken.ok()) << taken.error().text();
  }
  /// Use and temperature of the GPU with this number in the list above.
  static void put(LiveEvent& event, std::uint64_t gpu, double use, double temperature) {
    event.values.emplace_back(2 * gpu + 1, event.time_ms, use);
    event.values.emplace_back(2 * gpu + 2, event.time_ms, temperature);
  }
  void tell_alert(const std::string& id, AlertSeverity severity, std::int64_t since_s, const std::string& what) {
    AlertRecord record;
    record.alert = {.id = id,
                    .severity = severity,
                    .node = "gpu01",
                    .what = what,
                    .since = WallTime(std::chrono::seconds(since_s))};
    tell({.time_ms = 1'000'000, .alerts = {record}});
  }
  std::string draw(int width = 100, std::size_t rows = 24) const {
    return draw_top(model_, view_, {.colour = false, .unicode = true, .width = width}, rows, "");
  }

  TopModel model_;
  TopView view_{.gpus = true};
};

TEST_F(TopTest, AGpuThatFellSilentIsNotShownAsHealthy) {
  LiveEvent event{.time_ms = 1'000'000};
  for (const std::uint64_t gpu : {0, 1, 2, 3}) put(event, gpu, 0.98, 67);
  tell(event);
  EXPECT_THAT(draw(), Not(HasSubstr("no readings")));
  LiveEvent later{.time_ms = 1'011'000};
  for (const std::uint64_t gpu : {0, 2, 3}) put(later, gpu, 0.5, 60);
  tell(later);
  const std::string picture = draw();
  EXPECT_THAT(picture, HasSubstr("no readings"));
  EXPECT_THAT(picture, Not(HasSubstr("67 °C")));
  EXPECT_THAT(picture, HasSubstr("1 without readings"));
}

TEST_F(TopTest, ANodeThatIsOfflineHasNoValues) {
  LiveEvent event{.time_ms = 1'000'000};
  put(event, 0, 0.98, 67);
  put(event, 2, 0.5, 60);
  tell(event);
  tell({.time_ms = 1'001'000, .nodes = {{.name = "gpu01", .state = NodeState::offline, .gpus = 2}}});
  EXPECT_THAT(draw(), Not(HasSubstr("67 °C")));
  EXPECT_THAT(draw(), HasSubstr("1 of 2 nodes online"));
}

TEST_F(TopTest, GpusAreSortedOneByOne) {
  LiveEvent event{.time_ms = 1'000'000};
  const double temperatures[] = {50, 90, 70, 80};
  for (const std::uint64_t gpu : {0, 1, 2, 3}) put(event, gpu, 0.5, temperatures[gpu]);
  tell(event);
  view_.sort = TopView::Sort::temperature;
  const std::string picture = draw();
  EXPECT_LT(picture.find("90 °C"), picture.find("80 °C"));
  EXPECT_LT(picture.find("80 °C"), picture.find("70 °C"));
  EXPECT_LT(picture.find("70 °C"), picture.find("50 °C"));
}

TEST_F(TopTest, TheGravestAlertsComeFirst) {
  tell_alert("a", AlertSeverity::critical, 100, "GPU 0 of gpu01 is lost.");
  for (int i = 0; i < 4; ++i) tell_alert(std::to_string(i), AlertSeverity::warning, 900 + i, "gpu01 is a little warm.");
  const std::string picture = draw();
  EXPECT_LT(picture.find("critical"), picture.find("warning"));
  EXPECT_THAT(picture, HasSubstr("15 min 00 s"));
  EXPECT_THAT(picture, HasSubstr("2 more: assay alerts"));
}

TEST_F(TopTest, APictureFitsItsScreen) {
  LiveEvent event{.time_ms = 1'000'000};
  for (const std::uint64_t gpu : {0, 1, 2, 3}) put(event, gpu, 0.98, 67);
  tell(event);
  for (int i = 0; i < 5; ++i) tell_alert(std::to_string(i), AlertSeverity::warning, i, std::string(150, 'x'));
  for (const bool gpus : {true, false}) {
    view_.gpus = gpus;
    for (const int width : {60, 80, 120}) {
      for (const std::size_t rows : {6U, 8U, 12U, 24U}) {
        const std::string picture = draw(width, rows);
        const auto lines = split(std::string_view(picture).substr(0, picture.size() - 1), '\n');
        EXPECT_LE(lines.size(), rows) << width << "\n" << picture;
        for (const auto line : lines) EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      }
    }
  }
}

}  // namespace
}  // namespace assay
