#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "store/series/embedded_series_store.h"
#include "store/series_asker_fixture.h"
#include "store/series_expected_fixture.h"

namespace assay {

class SeriesStoreTest : public testing::Test, protected SeriesAsker {
 protected:
  SeriesStoreTest() {
    options_.clock = &clock_;
    open();
  }
  ~SeriesStoreTest() override { store_.reset(); }  // before its folder goes

  void open() {
    store_.reset();
    auto store = open_series_store(folder_, options_);
    ASSERT_TRUE(store.ok()) << store.error().text();
    store_ = std::move(*store);
  }

  /// What a process that is killed at this moment leaves behind.
  fs::path crash_copy() {
    const auto copy = temporary_.path() / ("crash-" + std::to_string(copies_++));
    fs::copy(folder_, copy, fs::copy_options::recursive);
    return copy;
  }

  /// Goes on as if the process had been killed and started again.
  void crash() {
    const auto copy = crash_copy();
    store_.reset();
    folder_ = copy;
    open();
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path() / "telemetry";
  SeriesStoreOptions options_;
  int copies_ = 0;
};

}  // namespace assay
