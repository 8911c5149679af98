#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/run.h"
#include "model/study.h"
#include "store/journal/journal_recording_fixture.h"
#include "store/lease.h"
#include "store/read_journals.h"
#include "store/run_answers.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/run_writer.h"
#include "store/study_list.h"

namespace assay {

/// One place where runs are kept, empty at first, that can be opened any number of times.
class RunStorePlace {
 public:
  virtual ~RunStorePlace() = default;
  virtual std::unique_ptr<RunStore> open() = 0;
  /// Time passes for whoever decides about leases.
  virtual void pass(Nanos time) = 0;
};

struct RunStoreFactory {
  std::string name;
  std::function<std::unique_ptr<RunStorePlace>()> make_place;
};

inline std::string run_store_factory_name(const testing::TestParamInfo<RunStoreFactory>& info) {
  return info.param.name;
}
inline void PrintTo(const RunStoreFactory& factory, std::ostream* out) { *out << factory.name; }

class RunStoreContract : public testing::TestWithParam<RunStoreFactory> {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  static Run a_run(std::string name = "mnist") {
    Run run;
    run.name = std::move(name);
    run.kind = "train";
    run.tags = {"4gpu", "owner=ada"};
    run.created = at(0);
    run.started = at(1);
    run.spec = {{"epochs", 3}};
    run.spec_hash = "cafe";
    run.provenance.hostname = "gpu01";
    return run;
  }

  static WallTime at(int seconds) { return WallTime(std::chrono::seconds(1'700'000'000 + seconds)); }
  static SeriesPoint point(int seconds, double value) {
    return {.time_ns = at(seconds).time_since_epoch().count(), .step = seconds, .value = value};
  }

  /// Creates and finishes a run.
  Run ended_run(Run run, Verdict verdict = Verdict::valid) {
    auto writer = begin_run(*store_, run);
    EXPECT_TRUE(writer.ok()) << writer.error().text();
    run.verdict = verdict;
    run.state = RunState::ended;
    const auto finished = (*writer)->finish(run);
    EXPECT_TRUE(finished.ok()) << finished.error().text();
    return run;
  }

  std::unique_ptr<RunWriter> writer_of(Run& run) {
    auto writer = begin_run(*store_, run);
    EXPECT_TRUE(writer.ok()) << writer.error().text();
    return std::move(writer).value();
  }

  JournalRecording recorded(const std::string& id) {
    JournalRecording recording;
    const auto read = read_journal(*store_, id, recording);
    EXPECT_TRUE(read.ok()) << read.error().text();
    return recording;
  }

  std::vector<std::string> names(const RunQuery& query) {
    const auto page = store_->list_runs(query);
    EXPECT_TRUE(page.ok()) << page.error().text();
    std::vector<std::string> names;
    for (const auto& row : page->rows) names.push_back(row.name);
    return names;
  }

  std::unique_ptr<RunStorePlace> place_ = GetParam().make_place();
  std::unique_ptr<RunStore> store_ = place_->open();
};

#define ASSERT_OK(...)                                       \
  do {                                                       \
    const auto& assert_ok = (__VA_ARGS__);                   \
    ASSERT_TRUE(assert_ok.ok()) << assert_ok.error().text(); \
  } while (false)

#define EXPECT_ERROR(expected, ...)                                                                  \
  do {                                                                                               \
    const auto& expect_error = (__VA_ARGS__);                                                        \
    ASSERT_FALSE(expect_error.ok());                                                                 \
    EXPECT_EQ(name_of(expect_error.error().kind), name_of(expected)) << expect_error.error().text(); \
  } while (false)

}  // namespace assay
