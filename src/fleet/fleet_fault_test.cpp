#include "fleet/fleet_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using Kind = FleetFault::Kind;

std::string problem_of(std::string_view text) {
  const auto fault = parse_fleet_fault(text, 12, 8);
  EXPECT_FALSE(fault.ok()) << text;
  if (fault.ok()) return "";
  EXPECT_EQ(fault.error().kind, ErrorKind::usage);
  EXPECT_THAT(fault.error().hint, HasSubstr("KIND:nodeN"));
  return fault.error().message;
}

TEST(FleetFault, ReadsEveryKind) {
  EXPECT_EQ(*parse_fleet_fault("hot:node3:gpu0@30s", 12, 8),
            (FleetFault{.kind = Kind::hot, .node = 2, .gpu = 0, .from = seconds(30)}));
  EXPECT_EQ(*parse_fleet_fault("slow:node12:gpu7", 12, 8), (FleetFault{.kind = Kind::slow, .node = 11, .gpu = 7}));
  EXPECT_EQ(*parse_fleet_fault("dead:node1", 12, 8), (FleetFault{.kind = Kind::dead, .node = 0}));
  EXPECT_EQ(*parse_fleet_fault("leak:node1:gpu2@1min30s-1h", 12, 8),
            (FleetFault{.kind = Kind::leak, .gpu = 2, .from = seconds(90), .until = seconds(3600)}));
  for (const auto kind : {Kind::capped, Kind::idle, Kind::ecc, Kind::remap}) {
    const auto fault = parse_fleet_fault(std::string(name_of(kind)) + ":node1:gpu2", 12, 8);
    EXPECT_EQ(*fault, (FleetFault{.kind = kind, .gpu = 2}));
  }
  EXPECT_EQ(parse_fleet_fault("node-dead:node2@5s", 12, 8)->kind, Kind::node_dead);
  EXPECT_EQ(parse_fleet_fault("flapping:node2", 12, 8)->kind, Kind::flapping);
  EXPECT_EQ(parse_fleet_fault("skew:node2@0s-1s", 12, 8)->until, seconds(1));
}

TEST(FleetFault, IsActiveFromItsStartToBeforeItsEnd) {
  const FleetFault fault{.from = seconds(10), .until = seconds(20)};
  EXPECT_FALSE(fault.active_at(seconds(9)));
  EXPECT_TRUE(fault.active_at(seconds(10)));
  EXPECT_FALSE(fault.active_at(seconds(20)));
  EXPECT_TRUE((FleetFault{.from = seconds(10)}).active_at(seconds(1'000'000)));
}

TEST(FleetFault, MistakesNameTheRuleAndWhatWasMeant) {
  EXPECT_THAT(problem_of("hott:node3"), AllOf(HasSubstr("'hott' is no kind of fault. Did you mean 'hot'?"),
                                              HasSubstr("node-dead, flapping, skew")));
  EXPECT_THAT(problem_of("hot:nod3"), HasSubstr("'nod3' is no node. Did you mean 'node3'?"));
  EXPECT_THAT(problem_of("hot:3"), HasSubstr("Did you mean 'node3'?"));
  EXPECT_THAT(problem_of("hot:gpu"), HasSubstr("'gpu' is no node. Write 'node' and its number: 'node1'"));
  EXPECT_THAT(problem_of("hot:node0"), HasSubstr("there is no 'node0': they are node1 to node12"));
  EXPECT_THAT(problem_of("hot:node13"), HasSubstr("they are node1 to node12"));
  EXPECT_THAT(problem_of("hot:node3:gpu8"), HasSubstr("they are gpu0 to gpu7"));
  EXPECT_THAT(problem_of("hot"), HasSubstr("names no node"));
  EXPECT_THAT(problem_of(""), HasSubstr("'' is no kind of fault"));
  EXPECT_THAT(problem_of("hot:node1:gpu1:gpu2"), HasSubstr("too many parts"));
  EXPECT_THAT(problem_of("skew:node1:gpu1"), HasSubstr("'skew' befalls a whole node. Leave out ':gpu1'"));
  EXPECT_THAT(problem_of("hot:node1@30"), HasSubstr("'30' has no unit"));
  EXPECT_THAT(problem_of("hot:node1@30s-10s"), HasSubstr("ends before it begins"));
  EXPECT_THAT(problem_of("hot:node1@30s-30s"), HasSubstr("ends before it begins"));
  EXPECT_FALSE(problem_of("hot:node1@").empty());
  EXPECT_FALSE(problem_of("hot:node99999999999999999999").empty());
  EXPECT_FALSE(problem_of("hot:node1:").empty());
}

TEST(FleetFault, AllMistakesAreReportedAtOnce) {
  EXPECT_THAT(problem_of("cold:node99:gpu99@x"),
              AllOf(HasSubstr("'cold'"), HasSubstr("'node99'"), HasSubstr("'gpu99'"), HasSubstr("'x'")));
  const std::vector<std::string> texts = {"hot:node1", "hot:node0", "cold:node1"};
  const auto faults = parse_fleet_faults(texts, 12, 8);
  ASSERT_FALSE(faults.ok());
  EXPECT_THAT(faults.error().message, AllOf(HasSubstr("fault 'hot:node0'"), HasSubstr("\nfault 'cold:node1'")));
  EXPECT_EQ(parse_fleet_faults(std::vector<std::string>{"hot:node1", "dead:node2:gpu1"}, 12, 8)->size(), 2U);
}

TEST(FleetFault, TextFromOutsideIsSafeToPrint) {
  EXPECT_EQ(problem_of("hot\x1b[2J:node1").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace assay
