#include "net/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

/// Reads the whole text in pieces of the given size.
std::vector<ServerEvent> read_events(std::string_view text, std::size_t piece) {
  SseParser parser;
  std::vector<ServerEvent> events;
  while (!text.empty()) {
    std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    while (!part.empty()) {
      auto event = parser.next(part);
      EXPECT_TRUE(event.ok());
      if (*event) events.push_back(**event);
    }
  }
  return events;
}

TEST(Sse, ReadsFieldsHoweverThePiecesAreCut) {
  const std::string text =
      "\xEF\xBB\xBF: hello\nevent: step\nid: 7\nretry: 250\ndata: {\"a\":1}\ndata:second\n\n"
      "data\r\n\r\nid\rdata: x\r\rdata: lost";
  for (const std::size_t piece : {1UL, 2UL, 3UL, 7UL, 1000UL}) {
    EXPECT_THAT(read_events(text, piece),
                ElementsAre(ServerEvent{"step", "{\"a\":1}\nsecond", "7", milliseconds(250)},
                            ServerEvent{"message", "", "7", {}}, ServerEvent{"message", "x", "", {}}))
        << piece;
  }
}

TEST(Sse, EventsWithoutDataAreNone) { EXPECT_TRUE(read_events("event: a\n\n: beat\n\nid: 1\n\n", 5).empty()); }

TEST(Sse, IgnoresFieldsItDoesNotUnderstand) {
  using namespace std::string_view_literals;
  EXPECT_THAT(read_events("id: a\0b\nretry: soon\nretry: 99999999999\nfoo: bar\ndata: x\n\n"sv, 4),
              ElementsAre(ServerEvent{"message", "x", "", {}}));
}

TEST(Sse, WritesWhatItReads) {
  const std::vector<ServerEvent> events = {
      {"message", "plain", "", {}},
      {"step", "two\nlines", "12", milliseconds(5)},
      {"empty", "", "", {}},
      {"message", " leading blank\n\n", "", {}},
  };
  for (const auto& event : events) {
    const auto back = read_events(format_event(event), 3);
    EXPECT_THAT(back, ElementsAre(event));
  }
}

TEST(Sse, FieldsCannotBreakOutOfTheirLine) {
  EXPECT_EQ(format_event({"a\ndata: evil", "x\ry\r\nz", "1\n\n", {}}),
            "event: adata: evil\nid: 1\ndata: x\ndata: y\ndata: z\n\n");
}

TEST(Sse, LinesAndEventsAreBounded) {
  SseParser lines({.line_bytes = 10, .event_bytes = 100});
  std::string_view text = "data: 0123456789";
  EXPECT_THAT(lines.next(text).error().message, HasSubstr("line"));

  SseParser events({.line_bytes = 100, .event_bytes = 20});
  std::string many;
  for (int i = 0; i < 10; ++i) many += "data: 12345\n";
  text = many;
  EXPECT_THAT(events.next(text).error().message, HasSubstr("event"));
}

}  // namespace
}  // namespace assay
