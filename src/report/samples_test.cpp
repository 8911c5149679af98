#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "base/files.h"
#include "base/json.h"
#include "report/chart/svg.h"
#include "report/chart/text_chart.h"
#include "report/render.h"
#include "report/sample_document_fixture.h"

namespace assay {
namespace {

/// For looking at: ASSAY_REPORT_SAMPLES=folder keeps the files.
TEST(Samples, AreWrittenInEveryFormat) {
  const TemporaryFolder scratch;
  const char* kept = std::getenv("ASSAY_REPORT_SAMPLES");
  const fs::path folder = kept ? fs::path(kept) : scratch.path();
  const Document document = sample_document();
  ASSERT_TRUE(write_file_atomically(folder / "report.html", render_html(document)).ok());
  ASSERT_TRUE(write_file_atomically(folder / "hostile.html", render_html(hostile_document())).ok());
  ASSERT_TRUE(write_file_atomically(folder / "report.md", render_markdown(document)).ok());
  ASSERT_TRUE(write_file_atomically(folder / "report.json", pretty_json(render_json(document))).ok());
  for (const int width : {60, 100, 160}) {
    for (const bool unicode : {true, false}) {
      const auto name = fmt::format("report-{}{}.txt", width, unicode ? "" : "-ascii");
      ASSERT_TRUE(write_file_atomically(
                      folder / name, render_terminal(document, {.colour = false, .unicode = unicode, .width = width}))
                      .ok());
    }
  }
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      const auto* chart = std::get_if<ChartBlock>(&block);
      if (!chart) continue;
      ASSERT_TRUE(write_file_atomically(folder / (chart->id + ".svg"), svg_file(*chart)).ok());
      ASSERT_TRUE(write_file_atomically(folder / (chart->id + ".txt"), text_chart(*chart, {.width = 90})).ok());
    }
  }
  EXPECT_GT(fs::file_size(folder / "report.html"), 10000U);
}

}  // namespace
}  // namespace assay
