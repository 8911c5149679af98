#include "protocol/part_report.h"

#include <gtest/gtest.h>

#include "protocol/job_list.h"

namespace assay {
namespace {

TEST(PartReport, IsReadAsItWasWritten) {
  const PartReport report{.meeting = MeetingPlace{.address = "10.0.0.1", .port = 29500, .secret = "s"},
                          .bringing = true,
                          .ended = true,
                          .error = Error{.kind = ErrorKind::oom, .message = "out of memory", .hint = "less"}};
  const auto read = parse_part_report(json::serialize(to_json(report)));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->meeting, report.meeting);
  EXPECT_TRUE(read->ended);
  EXPECT_TRUE(read->bringing);
  EXPECT_EQ(read->error->kind, ErrorKind::oom);
  EXPECT_EQ(read->error->hint, "less");
  const auto nothing = parse_part_report("{}");
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->ended || nothing->bringing || nothing->meeting || nothing->error);
}

TEST(PartReport, NonsenseIsRefused) {
  for (const char* text :
       {"", "[]", R"({"meeting": 1})", R"({"meeting": {"address": "", "port": 1, "secret": ""}})",
        R"({"meeting": {"address": "a", "port": 0, "secret": ""}})",
        R"({"meeting": {"address": "a", "port": 65536, "secret": ""}})", R"({"ended": "yes"})", R"({"error": 3})"}) {
    const auto read = parse_part_report(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::usage) << text;
  }
  std::string long_words(100'000, 'x');
  const auto shortened = parse_part_report(json::serialize(json::object{{"error", {{"message", long_words}}}}));
  ASSERT_TRUE(shortened.ok());
  EXPECT_LE(shortened->error->message.size(), 4096U);
}

TEST(PartReport, PartsAndAnswersSurviveTheWire) {
  const PartOfRun part{
      .number = 1, .of = 2, .epoch = 3, .meeting = MeetingPlace{.address = "a", .port = 1, .secret = "s"}};
  EXPECT_EQ(part_of_run_from_json(to_json(part)).value(), part);
  EXPECT_FALSE(part_of_run_from_json(*parse_json(R"({"number": 2, "of": 2, "epoch": 1})")).ok());
  EXPECT_FALSE(part_of_run_from_json(*parse_json(R"({"number": 0, "of": 1, "epoch": -1})")).ok());
  const PartAnswer answer{.open = 2, .bringing = 1, .lost = Error{.kind = ErrorKind::lost_peer, .message = "gone"}};
  const auto read = part_answer_from_json(to_json(answer));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->open, 2);
  EXPECT_EQ(read->bringing, 1);
  EXPECT_EQ(read->lost->message, "gone");
}

TEST(PartReport, AListSaysWhichPart) {
  const std::vector<ListedJob> jobs = {{.run = "r1"}, {.run = "r2", .stop = true, .part = 3}};
  EXPECT_EQ(parse_job_list(json::serialize(to_json(jobs))).value(), jobs);
  EXPECT_FALSE(parse_job_list(R"({"jobs": [{"run": "r1", "part": -1}]})").ok());
}

}  // namespace
}  // namespace assay
