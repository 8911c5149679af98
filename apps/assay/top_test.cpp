#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "top_picture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

json::value node(const std::string& name, const std::string& state) {
  json::array devices;
  for (const char* index : {"0", "1"}) {
    devices.push_back(json::object{{"id", "GPU-" + name + index},
                                   {"facts", json::object{{"index", index}, {"name", "NVIDIA H200"}}}});
  }
  return json::object{{"name", name}, {"state", state}, {"devices", std::move(devices)}};
}

/// Two nodes with two GPUs each, told as the leader's stream tells them.
class TopTest : public testing::Test {
 protected:
  TopTest() {
    const json::value nodes = json::object{{"nodes", json::array{node("gpu01", "online"), node("gpu02", "online")}}};
    EXPECT_TRUE(model_.set_nodes(nodes).ok());
    json::array series;
    std::int64_t id = 1;
    for (const char* name : {"gpu01", "gpu02"}) {
      for (const char* index : {"0", "1"}) {
        for (const char* metric : {"gpu.util", "gpu.temperature_c"}) {
          const json::object labels{{"node", name}, {"gpu", std::string("GPU-") + name + index}};
          series.push_back(json::object{{"id", id++}, {"node", name}, {"name", metric}, {"labels", labels}});
        }
      }
    }
    tell({{"time_ms", 1'000'000}, {"series", series}}, true);
  }
  void tell(const json::object& event, bool snapshot = false) {
    const auto taken = model_.apply(json::serialize(event), snapshot);
    EXPECT_TRUE(taken.ok()) << taken.error().text();
  }
  /// Use and temperature of the GPU with this number in the list above.
  static void put(json::array& values, int gpu, std::int64_t time_ms, double use, double temperature) {
    values.push_back(json::array{2 * gpu + 1, time_ms, use});
    values.push_back(json::array{2 * gpu + 2, time_ms, temperature});
  }
  void tell_alert(const std::string& id, const std::string& severity, std::int64_t since_s, const std::string& what) {
    json::object alert{{"id", id},        {"state", "open"},
                       {"node", "gpu01"}, {"severity", severity},
                       {"what", what},    {"since_ns", since_s * 1'000'000'000}};
    tell({{"time_ms", 1'000'000}, {"alerts", json::array{std::move(alert)}}});
  }
  std::string draw(int width = 100, std::size_t rows = 24) const {
    return draw_top(model_, view_, {.colour = false, .unicode = true, .width = width}, rows, "");
  }

  TopModel model_;
  TopView view_{.gpus = true};
};

TEST_F(TopTest, AGpuThatFellSilentIsNotShownAsHealthy) {
  json::array values;
  for (int gpu = 0; gpu < 4; ++gpu) put(values, gpu, 1'000'000, 0.98, 67);
  tell({{"time_ms", 1'000'000}, {"values", values}});
  EXPECT_THAT(draw(), Not(HasSubstr("no readings")));
  values.clear();
  for (const int gpu : {0, 2, 3}) put(values, gpu, 1'011'000, 0.5, 60);
  tell({{"time_ms", 1'011'000}, {"values", values}});
  const std::string picture = draw();
  EXPECT_THAT(picture, HasSubstr("no readings"));
  EXPECT_THAT(picture, Not(HasSubstr("67 °C")));
  EXPECT_THAT(picture, HasSubstr("1 without readings"));
}

TEST_F(TopTest, ANodeThatIsOfflineHasNoValues) {
  json::array values;
  put(values, 0, 1'000'000, 0.98, 67);
  put(values, 2, 1'000'000, 0.5, 60);
  tell({{"time_ms", 1'000'000}, {"values", values}});
  tell({{"time_ms", 1'001'000},
        {"nodes", json::array{json::object{{"name", "gpu01"}, {"state", "offline"}, {"gpus", 2}}}}});
  EXPECT_THAT(draw(), Not(HasSubstr("67 °C")));
  EXPECT_THAT(draw(), HasSubstr("1 of 2 nodes online"));
}

TEST_F(TopTest, GpusAreSortedOneByOne) {
  json::array values;
  const double temperatures[] = {50, 90, 70, 80};
  for (int gpu = 0; gpu < 4; ++gpu) put(values, gpu, 1'000'000, 0.5, temperatures[gpu]);
  tell({{"time_ms", 1'000'000}, {"values", values}});
  view_.sort = TopView::Sort::temperature;
  const std::string picture = draw();
  EXPECT_LT(picture.find("90 °C"), picture.find("80 °C"));
  EXPECT_LT(picture.find("80 °C"), picture.find("70 °C"));
  EXPECT_LT(picture.find("70 °C"), picture.find("50 °C"));
}

TEST_F(TopTest, TheGravestAlertsComeFirst) {
  tell_alert("a", "critical", 100, "GPU 0 of gpu01 is lost.");
  for (int i = 0; i < 4; ++i) tell_alert(std::to_string(i), "warning", 900 + i, "gpu01 is a little warm.");
  const std::string picture = draw();
  EXPECT_LT(picture.find("critical"), picture.find("warning"));
  EXPECT_THAT(picture, HasSubstr("15 min 00 s"));
  EXPECT_THAT(picture, HasSubstr("2 more: assay alerts"));
}

TEST_F(TopTest, APictureFitsItsScreen) {
  json::array values;
  for (int gpu = 0; gpu < 4; ++gpu) put(values, gpu, 1'000'000, 0.98, 67);
  tell({{"time_ms", 1'000'000}, {"values", values}});
  for (int i = 0; i < 5; ++i) tell_alert(std::to_string(i), "warning", i, std::string(150, 'x'));
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
