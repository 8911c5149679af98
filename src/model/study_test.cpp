#include "model/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

Study full_study() {
  Study study{.id = "s0000000aa",
              .name = "scaling",
              .tags = {"paper", "cluster=a"},
              .created = *parse_iso8601("2026-11-15T04:05:06.789Z"),
              .source = "kind: train\nscale: [1, 4]\n",
              .spec_hash = "0123456789abcdef0123456789abcdef"};
  study.plan.push_back({.variant = "ranks=1", .spec = {{"kind", "train"}, {"ranks", 1}}, .run = "r0000000aa"});
  study.plan.push_back(
      {.variant = "ranks=4", .repeat = 2, .ranks = 4, .nodes = 2, .node = "gpu01", .spec = {{"learning_rate", 2e-4}}});
  study.flags.push_back({"unequal_work", "gpu01", "a sample has 512 tokens here"});
  return study;
}

json::value json_of(const Study& study) { return to_json(study); }

/// What reading `study` after `change` complains about; fails the test if nothing.
template <typename Change>
std::string study_error_after(Change change) {
  json::value value = json_of(full_study());
  change(value.as_object());
  const auto study = study_from_json(value);
  if (study.ok()) {
    ADD_FAILURE() << "was accepted";
    return {};
  }
  EXPECT_EQ(study.error().kind, ErrorKind::bad_file);
  return study.error().text();
}

TEST(Study, SurvivesTheRoundTripThroughText) {
  const Study before = full_study();
  const auto parsed = parse_json(pretty_json(json_of(before)));
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  const auto after = study_from_json(*parsed);
  ASSERT_TRUE(after.ok()) << after.error().text();

  EXPECT_EQ(after->id, before.id);
  EXPECT_EQ(after->name, before.name);
  EXPECT_EQ(after->tags, before.tags);
  EXPECT_EQ(after->created, before.created);
  EXPECT_EQ(after->source, before.source);
  EXPECT_EQ(after->spec_hash, before.spec_hash);
  EXPECT_EQ(after->flags, before.flags);
  ASSERT_EQ(after->plan.size(), before.plan.size());
  for (std::size_t i = 0; i < before.plan.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(after->plan[i].variant, before.plan[i].variant);
    EXPECT_EQ(after->plan[i].repeat, before.plan[i].repeat);
    EXPECT_EQ(after->plan[i].ranks, before.plan[i].ranks);
    EXPECT_EQ(after->plan[i].nodes, before.plan[i].nodes);
    EXPECT_EQ(after->plan[i].node, before.plan[i].node);
    EXPECT_EQ(after->plan[i].spec, before.plan[i].spec);
    EXPECT_EQ(after->plan[i].run, before.plan[i].run);
  }
}

TEST(Study, FilesFromBeforeStudiesHadFlagsAreRead) {
  json::object old = to_json(full_study());
  old.erase("flags");
  const auto study = study_from_json(old);
  ASSERT_TRUE(study.ok()) << study.error().text();
  EXPECT_TRUE(study->flags.empty());

  Study without = full_study();
  without.flags.clear();
  EXPECT_FALSE(to_json(without).contains("flags")) << "a study without flags is written as it always was";
}

TEST(Study, ANewerSchemaIsAClearError) {
  EXPECT_EQ(study_error_after([](json::object& study) { study["schema"] = kStudySchema + 1; }),
            "study: written by a newer assay (schema 2, this one reads up to 1)");
  EXPECT_EQ(study_error_after([](json::object& study) { study.erase("schema"); }), "study: 'schema' is missing");
}

TEST(Study, NamesBadFields) {
  EXPECT_EQ(study_error_after([](json::object& study) { study.erase("id"); }), "study: 'id' is missing");
  EXPECT_EQ(study_error_after([](json::object& study) { study["tags"] = {"ok", 7}; }),
            "study: 'tags' must hold strings only");
  EXPECT_EQ(study_error_after([](json::object& study) { study["created"] = "yesterday"; }),
            "study: 'created': 'yesterday' is not a time like 2026-11-15T04:05:06Z");
  EXPECT_EQ(study_error_after([](json::object& study) { study["plan"] = "none"; }), "study: 'plan' must be a list");
  EXPECT_EQ(study_error_after([](json::object& study) { study["plan"].at(0).as_object().erase("repeat"); }),
            "planned run: 'repeat' is missing");
  EXPECT_EQ(study_error_after([](json::object& study) { study["plan"].at(1).as_object()["ranks"] = 1e12; }),
            "planned run: 'ranks' is out of range");
  EXPECT_EQ(study_error_after([](json::object& study) { study["plan"].at(1) = 5; }),
            "planned run: expected a JSON object");
  EXPECT_EQ(study_error_after([](json::object& study) { study["flags"] = 7; }), "study: 'flags' must be a list");
  EXPECT_EQ(study_error_after([](json::object& study) { study["flags"] = json::array{json::object{{"about", "x"}}}; }),
            "study: 'flags' has a bad entry: flag: 'kind' is missing");
}

}  // namespace
}  // namespace assay
