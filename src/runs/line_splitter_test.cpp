#include "runs/line_splitter.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;

std::vector<std::string> split_in_pieces(std::string_view stream, std::size_t piece, std::size_t longest) {
  LineSplitter splitter(longest);
  std::vector<std::string> lines;
  const auto take = [&](const SplitLine& line) {
    lines.push_back(std::string(line.text) + (line.whole ? "" : "…") + std::string(line.end));
  };
  for (std::size_t i = 0; i < stream.size(); i += piece) splitter.feed(stream.substr(i, piece), take);
  splitter.finish(take);
  return lines;
}

TEST(LineSplitter, EndsLinesAtNewlineAndCarriageReturn) {
  for (const std::size_t piece : {1, 2, 3, 100}) {
    EXPECT_THAT(split_in_pieces("one\ntwo\r\n\n50 %\r60 %\rlast", piece, 100),
                ElementsAre("one\n", "two\r", "\n", "\n", "50 %\r", "60 %\r", "last"))
        << "pieces of " << piece;
  }
}

TEST(LineSplitter, CutsOverLongLinesAndCountsThemOnce) {
  for (const std::size_t piece : {1, 4, 100}) {
    EXPECT_THAT(split_in_pieces("0123456789\nok\n", piece, 4), ElementsAre("0123…", "4567…", "89…\n", "ok\n"));
  }
  LineSplitter splitter(4);
  splitter.feed("0123456789abcdefgh\nshort\n", [](const SplitLine&) {});
  EXPECT_EQ(splitter.over_long_lines(), 2);
}

TEST(LineSplitter, NothingIsLost) {
  std::string stream;
  for (int i = 0; i < 500; ++i) stream += std::string(static_cast<std::size_t>(i % 17), 'x') + (i % 3 ? "\n" : "\r");
  for (const std::size_t piece : {1, 7, 64}) {
    LineSplitter splitter(8);
    std::string joined;
    const auto take = [&](const SplitLine& line) { joined.append(line.text).append(line.end); };
    for (std::size_t i = 0; i < stream.size(); i += piece) splitter.feed(stream.substr(i, piece), take);
    splitter.finish(take);
    EXPECT_EQ(joined, stream);
  }
}

}  // namespace
}  // namespace assay
