#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "base/files.h"
#include "base/text.h"
#include "runs/recorder.h"
#include "support/collecting_writer.h"
#include "support/source_tree.h"

// Logs as the usual programs write them, each line with what a person would read in it: tests/fixtures/logs.

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExpected = "#=";

std::vector<fs::path> logs() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(test::fixture_folder() / "logs")) {
    if (entry.path().extension() == ".log") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Feeds a recorder and tells what each line added to its recording.
class Reader {
 public:
  std::multiset<std::string> read(std::string_view line) {
    recorder_.add_output(OutputStream::out, line);
    recorder_.add_output(OutputStream::out, "\n");
    std::multiset<std::string> added;
    seen_.resize(writer_.keys.size());
    for (std::size_t i = 0; i < writer_.keys.size(); ++i) {
      for (; seen_[i] < writer_.points[i].size(); ++seen_[i]) added.insert(describe(i, writer_.points[i][seen_[i]]));
    }
    for (const auto& [name, why] : recorder_.facts().doubtful) {
      if (doubts_.insert(name).second) added.insert("?" + name);
    }
    return added;
  }

 private:
  std::string describe(std::size_t series, const SeriesPoint& point) const {
    const SeriesKey& key = writer_.keys[series];
    const auto rank = key.labels.find("rank");
    const std::string label = rank == key.labels.end() ? "" : fmt::format("[{}]", rank->second);
    return fmt::format("{}{}={:.6g}@{}", key.name, label, point.value, point.step);
  }

  ManualClock clock_;
  CollectingWriter writer_;
  RunRecorder recorder_{writer_, TextMetrics::make({}).value(), {}, clock_};
  std::vector<std::size_t> seen_;
  std::set<std::string> doubts_;
};

std::multiset<std::string> words_in(std::string_view text) {
  std::multiset<std::string> words;
  for (const auto word : split(text, ' ')) {
    if (!word.empty()) words.emplace(word);
  }
  return words;
}

TEST(TextCorpus, EveryLineIsReadAsAPersonWould) {
  ASSERT_GE(logs().size(), 15U);
  int expected_lines = 0;
  for (const auto& path : logs()) {
    const auto content = read_file(path);
    ASSERT_TRUE(content.ok()) << path;
    const auto lines = split(*content, '\n');
    Reader reader;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool told = i + 1 < lines.size() && lines[i + 1].starts_with(kExpected);
      const auto expected = told ? words_in(lines[i + 1].substr(kExpected.size())) : std::multiset<std::string>();
      EXPECT_EQ(reader.read(lines[i]), expected)
          << path.filename().string() << ":" << i + 1 << ": " << printable(lines[i]);
      if (told) {
        ++i;
        ++expected_lines;
      }
    }
  }
  EXPECT_GE(expected_lines, 60);
}

}  // namespace
}  // namespace assay
