#include "launch/place_text.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::HasSubstr;

TEST(PlaceText, IsAKindWithWordsAndOptions) {
  EXPECT_EQ(parse_place("ssh:gpu01, me@gpu02,engine=/opt/a=b").value(),
            (PlaceText{.kind = "ssh", .words = {"gpu01", "me@gpu02"}, .options = {{"engine", "/opt/a=b"}}}));
  EXPECT_EQ(parse_place("slurm").value(), PlaceText{.kind = "slurm"});
  EXPECT_EQ(parse_place("k8s:").value(), PlaceText{.kind = "k8s"});
}

TEST(PlaceText, SaysWhatIsWrong) {
  for (const auto& [text, rule] : {std::pair("", "kind of place is missing"), std::pair(":gpu01", "kind of place"),
                                   std::pair("ssh:a,,b", "nothing between"), std::pair("ssh:=x", "no name"),
                                   std::pair("slurm:account=a,account=b", "stands twice")}) {
    const auto place = parse_place(text);
    ASSERT_FALSE(place.ok()) << text;
    EXPECT_EQ(place.error().kind, ErrorKind::usage);
    EXPECT_THAT(place.error().message, HasSubstr(rule));
  }
}

TEST(PlaceText, AnUnknownOptionIsAskedAbout) {
  constexpr std::array<std::string_view, 2> kKnown = {"partition", "account"};
  const auto place = parse_place("slurm:partion=gpu").value();
  EXPECT_THAT(check_options(place, kKnown).error().message, HasSubstr("Did you mean 'partition'?"));
  EXPECT_TRUE(check_options(parse_place("slurm:account=x").value(), kKnown).ok());
}

TEST(PlaceText, DurationsHaveUnits) {
  const auto place = parse_place("ssh:a,patience=30s,other=30").value();
  EXPECT_EQ(duration_option_or(place, "patience", Nanos(0)).value(), std::chrono::seconds(30));
  EXPECT_EQ(duration_option_or(place, "absent", std::chrono::hours(1)).value(), std::chrono::hours(1));
  EXPECT_EQ(duration_option_or(place, "other", Nanos(0)).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace assay
