#include "launch/hosted/relay_line.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<RelayFrame> frames_in(std::string_view text, std::size_t piece = 100'000) {
  std::vector<RelayFrame> frames;
  RelayReader reader([&](RelayFrame frame) -> Result<void> {
    frames.push_back(std::move(frame));
    return {};
  });
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    EXPECT_TRUE(reader.take(text.substr(0, piece)).ok());
  }
  return frames;
}

TEST(RelayLine, IsReadableText) {
  EXPECT_EQ(relay_lines({.kind = RelayKind::out, .offset = 12, .payload = "loss=0.5\n\\x\n"}),
            "@assay out 12 :loss=0.5\\n\\\\x\\n\n");
  EXPECT_EQ(relay_lines({.kind = RelayKind::alive}), "@assay alive 0 :\n");
}

TEST(RelayLine, EveryByteArrivesInShortLines) {
  std::string all;
  for (int i = 0; i < 40'000; ++i) all += static_cast<char>(i * 7 % 256);
  const auto text = relay_lines({.kind = RelayKind::events, .offset = 5, .payload = all});
  for (const auto line : split(text, '\n')) EXPECT_LE(line.size(), kLongestRelayLine);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, text.size()}) {
    std::string got;
    for (const auto& frame : frames_in(text, piece)) {
      EXPECT_EQ(frame.kind, RelayKind::events);
      EXPECT_EQ(frame.offset, 5 + got.size());
      got += frame.payload;
    }
    EXPECT_EQ(got, all);
  }
}

TEST(RelayLine, ALongRecordIsOneFrame) {
  const RelayFrame record{.kind = RelayKind::order, .payload = std::string(50'000, 'j')};
  EXPECT_THAT(frames_in(relay_lines(record)), ElementsAre(record));
}

TEST(RelayLine, LinesOfOthersArePassedOver) {
  EXPECT_THAT(frames_in("Welcome to gpu01!\n" + std::string(20'000, 'x') + "\n@assay alive 0 :\n\n@assay"),
              ElementsAre(RelayFrame{.kind = RelayKind::alive}));
  EXPECT_THAT(frames_in(""), IsEmpty());
}

TEST(RelayLine, ADamagedLineIsAnError) {
  for (const char* line : {"@assay out :x\n", "@assay nonsense 0 :\n", "@assay out 0 =%%%%\n", "@assay out 0 :\\q\n",
                           "@assay out 0\n", "@assay out x :\n", "@assay out 0 :\\x4\n"}) {
    RelayReader reader([](const RelayFrame&) { return Result<void>(); });
    const auto taken = reader.take(line);
    ASSERT_FALSE(taken.ok()) << line;
    EXPECT_EQ(taken.error().kind, ErrorKind::bad_file);
  }
}

}  // namespace
}  // namespace assay
