#include "launch/job.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(WithPathsOfPlace, ReplacesTheNamesAtTheBeginning) {
  const Job job = with_paths_of_place({.arguments = {"{assay-engine}", "{assay}", "{scratch}/spec.json", "x{assay}"},
                                       .environment = {{"A", "{scratch}/artifacts"}, {"B", "{other}"}}},
                                      {.assay = "/a", .engine = "/e", .scratch = "/s/{assay}"});
  EXPECT_THAT(job.arguments, ElementsAre("/e", "/a", "/s/{assay}/spec.json", "x{assay}"));
  EXPECT_THAT(job.environment, ElementsAre(Pair("A", "/s/{assay}/artifacts"), Pair("B", "{other}")));
}

TEST(WithPathsOfPlace, WhatIsNotKnownStays) {
  EXPECT_THAT(with_paths_of_place({.arguments = {"{assay-engine}", "{assay}"}}, {.assay = "/a"}).arguments,
              ElementsAre("{assay-engine}", "/a"));
}

}  // namespace
}  // namespace assay
