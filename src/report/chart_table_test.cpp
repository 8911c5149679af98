#include "report/chart_table.h"

#include <gmock/gmock.h>

#include "report/document.h"

namespace assay {
namespace {

TEST(ChartTable, HasTheDataOfSmallChartsOnly) {
  XyChart chart{.x = {"X", ""},
                .y = {"Y", "ratio"},
                .series = {{.name = "a", .points = {{1, 0.5}, {2, 0.25, std::nullopt, true}}}}};
  const auto table = chart_table({.id = "", .title = "", .caption = "", .chart = chart});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->columns[1].title, "a (%)");
  EXPECT_EQ(table->rows[0][1].text, "50.0");
  EXPECT_EQ(table->rows[1][1].text, "25.0 (flagged)");
  chart.series[0].points.resize(13);
  EXPECT_FALSE(chart_table({.id = "", .title = "", .caption = "", .chart = chart}));
}

}  // namespace
}  // namespace assay
