#include "model/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

Run full_run() {
  Run run;
  run.id = "r0000000aa";
  run.name = "spiral";
  run.kind = "train";
  run.tags = {"paper", "cluster=a"};
  run.study = "s0000000aa";
  run.variant = "batch_size=64";
  run.repeat = 3;
  run.ranks = 8;
  run.nodes = 2;
  run.state = RunState::ended;
  run.verdict = Verdict::failed;
  run.flags = {{"non_finite", "loss", "2 of 50 values are not finite."}, {"left_processes", "", "One process stayed."}};
  run.error = RunError{ErrorKind::oom, "out of memory", "Use a smaller batch_size."};
  run.created = *parse_iso8601("2026-11-15T04:05:06.789Z");
  run.started = *parse_iso8601("2026-11-15T04:05:07Z");
  run.ended = *parse_iso8601("2026-11-15T04:06:07.5Z");
  run.duration = Nanos(60'123'456'789);
  run.exit_code = 1;
  run.spec = {{"kind", "train"}, {"learning_rate", 2e-4}, {"lora", {{"rank", 8}}}, {"warmup", 1.0}};
  run.spec_hash = "0123456789abcdef0123456789abcdef";
  run.provenance.hostname = "gpu01";
  run.metrics = {{"loss", 0.119}, {"samples_per_second", 1379.25}};
  run.series = {{.name = "loss",
                 .labels = {{"rank", "1"}},
                 .unit = "",
                 .points = 50,
                 .non_finite = 2,
                 .first = 1.5,
                 .last = 0.119,
                 .min = 0.1,
                 .max = 1.5,
                 .mean = 0.6}};
  return run;
}

Result<Run> through_text(const Run& run) {
  ASSAY_TRY(const auto value, parse_json(pretty_json(to_json(run))));
  return run_from_json(value);
}

/// What reading the full run after `change` complains about; fails the test if nothing.
template <typename Change>
std::string error_after(Change change) {
  json::object object = to_json(full_run());
  change(object);
  const auto run = run_from_json(object);
  if (run.ok()) {
    ADD_FAILURE() << "was accepted";
    return {};
  }
  EXPECT_EQ(run.error().kind, ErrorKind::bad_file);
  return run.error().text();
}

TEST(Run, SurvivesTheRoundTripThroughText) {
  const assay::Run before = full_run();
  const auto after = through_text(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(after->id, before.id);
  EXPECT_EQ(after->name, before.name);
  EXPECT_EQ(after->kind, before.kind);
  EXPECT_EQ(after->tags, before.tags);
  EXPECT_EQ(after->study, before.study);
  EXPECT_EQ(after->variant, before.variant);
  EXPECT_EQ(after->repeat, before.repeat);
  EXPECT_EQ(after->ranks, before.ranks);
  EXPECT_EQ(after->nodes, before.nodes);
  EXPECT_EQ(after->state, before.state);
  EXPECT_EQ(after->verdict, before.verdict);
  EXPECT_EQ(after->flags, before.flags);
  EXPECT_EQ(after->error, before.error);
  EXPECT_EQ(after->created, before.created);
  EXPECT_EQ(after->started, before.started);
  EXPECT_EQ(after->ended, before.ended);
  EXPECT_EQ(after->duration, before.duration);
  EXPECT_EQ(after->exit_code, before.exit_code);
  EXPECT_EQ(after->signal, std::nullopt);
  EXPECT_EQ(after->spec, before.spec);
  EXPECT_EQ(after->spec_hash, before.spec_hash);
  EXPECT_EQ(after->provenance, before.provenance);
  EXPECT_EQ(after->metrics, before.metrics);
  EXPECT_EQ(after->series, before.series);
}

TEST(Run, WhatWasNeverSetStaysUnset) {
  assay::Run run;
  run.id = "r0000000aa";
  run.kind = "command";
  run.signal = 9;
  const auto after = through_text(run);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(after->state, RunState::queued);
  EXPECT_EQ(after->verdict, Verdict::none);
  EXPECT_EQ(after->error, std::nullopt);
  EXPECT_EQ(after->exit_code, std::nullopt);
  EXPECT_EQ(after->signal, 9);
  EXPECT_EQ(after->started, WallTime{});
  EXPECT_EQ(after->study, "");
}

TEST(Run, ValuesThatAreNotFiniteBecomeNullAndNaN) {
  assay::Run run = full_run();
  run.metrics = {{"loss", std::nan("")}, {"perplexity", std::numeric_limits<double>::infinity()}};
  run.series[0].last = std::nan("");
  const json::value object = to_json(run);
  EXPECT_TRUE(object.at("metrics").at("loss").is_null());
  EXPECT_TRUE(object.at("metrics").at("perplexity").is_null());
  EXPECT_TRUE(object.at("series").at(0).at("last").is_null());

  const auto after = through_text(run);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_TRUE(std::isnan(after->metrics.at("loss")));
  EXPECT_TRUE(std::isnan(after->metrics.at("perplexity")));
  EXPECT_TRUE(std::isnan(after->series[0].last));
  EXPECT_EQ(after->series[0].first, 1.5);
}

// What the very first schema needs at least. It must stay readable whatever is added.
TEST(Run, ReadsAnOlderRecordWithoutTheFieldsAddedSince) {
  const auto value =
      parse_json(R"({"schema": 1, "id": "r1", "kind": "command", "state": "ended", "verdict": "valid"})");
  ASSERT_TRUE(value.ok());
  const auto run = run_from_json(*value);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->id, "r1");
  EXPECT_EQ(run->verdict, Verdict::valid);
  EXPECT_EQ(run->ranks, 1);
  EXPECT_EQ(run->nodes, 1);
  EXPECT_TRUE(run->metrics.empty());
  EXPECT_EQ(run->provenance, Provenance{});
}

TEST(Run, IgnoresFieldsItDoesNotKnow) {
  json::object object = to_json(full_run());
  object["mood"] = "fine";
  EXPECT_TRUE(run_from_json(object).ok());
}

TEST(Run, ANewerSchemaIsAClearError) {
  json::object object = to_json(full_run());
  object["schema"] = kRunSchema + 1;
  const auto run = run_from_json(object);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, ErrorKind::bad_file);
  EXPECT_EQ(run.error().message, "run: written by a newer assay (schema 2, this one reads up to 1)");
  EXPECT_EQ(run.error().hint, "Update assay on this machine.");
}

TEST(Run, SchemasThatNeverExistedAreErrors) {
  EXPECT_EQ(error_after([](json::object& run) { run["schema"] = 0; }), "run: schema 0 does not exist");
  EXPECT_EQ(error_after([](json::object& run) { run["schema"] = 1.5; }), "run: 'schema' must be a whole number");
  EXPECT_EQ(error_after([](json::object& run) { run.erase("schema"); }), "run: 'schema' is missing");
}

TEST(Run, NamesBadFields) {
  EXPECT_EQ(error_after([](json::object& run) { run.erase("id"); }), "run: 'id' is missing");
  EXPECT_EQ(error_after([](json::object& run) { run["kind"] = nullptr; }), "run: 'kind' must be a string");
  EXPECT_EQ(error_after([](json::object& run) { run["state"] = "asleep"; }),
            "run: 'state' is not queued, starting, running or ended");
  EXPECT_EQ(error_after([](json::object& run) { run.erase("state"); }), "run: 'state' is missing");
  EXPECT_EQ(error_after([](json::object& run) { run["verdict"] = "good"; }), "run: 'verdict' is not a known verdict");
  EXPECT_EQ(error_after([](json::object& run) { run["tags"] = json::array{1}; }), "run: 'tags' must hold strings only");
  EXPECT_EQ(error_after([](json::object& run) { run["ranks"] = 1e12; }), "run: 'ranks' is out of range");
  EXPECT_EQ(error_after([](json::object& run) { run["exit_code"] = "1"; }), "run: 'exit_code' must be a whole number");
  EXPECT_EQ(error_after([](json::object& run) { run["started"] = "noon"; }), "run: 'started' is not a time");
  EXPECT_EQ(error_after([](json::object& run) { run["duration_seconds"] = 1e20; }),
            "run: 'duration_seconds' is not a duration");
  EXPECT_EQ(error_after([](json::object& run) { run["duration_seconds"] = nullptr; }),
            "run: 'duration_seconds' is not a duration");
  EXPECT_EQ(error_after([](json::object& run) { run["metrics"] = {{"loss", "low"}}; }),
            "run: 'metrics' must hold numbers");
  EXPECT_EQ(error_after([](json::object& run) { run["metrics"] = 5; }), "run: 'metrics' must be an object");
  EXPECT_EQ(error_after([](json::object& run) { run["flags"].at(0).as_object().erase("kind"); }),
            "run: 'flags' has a bad entry: flag: 'kind' is missing");
  EXPECT_EQ(error_after([](json::object& run) { run["series"].at(0).as_object()["points"] = "many"; }),
            "run: 'series' has a bad entry: series: 'points' must be a whole number");
  EXPECT_EQ(error_after([](json::object& run) { run["error"] = "oops"; }),
            "run: 'error' is bad: error: expected a JSON object");
  EXPECT_EQ(error_after([](json::object& run) { run["provenance"] = {{"os", 5}}; }),
            "provenance: 'os' must be a string");
  EXPECT_EQ(error_after([](json::object& run) { run["spec"] = "train"; }), "run: 'spec' must be an object");
}

TEST(Run, IsNotReadFromAnythingButAnObject) {
  const auto run = run_from_json(json::array{});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().message, "run: expected a JSON object");
}

TEST(Run, StatesAndVerdictsHaveNamesThatReadBack) {
  for (const auto state : {RunState::queued, RunState::running, RunState::ended}) {
    EXPECT_EQ(run_state_from(name_of(state)), state);
  }
  for (const auto verdict :
       {Verdict::none, Verdict::valid, Verdict::flagged, Verdict::invalid, Verdict::failed, Verdict::interrupted}) {
    EXPECT_EQ(verdict_from(name_of(verdict)), verdict);
  }
  EXPECT_EQ(run_state_from(""), std::nullopt);
  EXPECT_EQ(verdict_from("VALID"), std::nullopt);
}

}  // namespace
}  // namespace assay
