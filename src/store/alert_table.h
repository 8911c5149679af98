#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/alert.h"
#include "store/stored.h"

namespace assay {

/// A place in the list of resolved alerts: after the newer ones, and of those of one time after the smaller ids.
struct AlertPlace {
  WallTime since;
  std::string id;
};
struct AlertPageQuery {
  std::string node;  ///< empty: every one
  std::optional<AlertPlace> after;
  std::size_t limit = 1000;
  std::optional<WallTime> from;  ///< not those that were over before
  std::optional<WallTime> to;    ///< not those that began then or later
};
struct AlertPage {
  std::vector<Stored<AlertRecord>> alerts;
  /// Where to go on. There may be fewer alerts than the limit, even none, and still a place: so far was looked.
  std::optional<AlertPlace> next;
};

class AlertTable {
 public:
  virtual ~AlertTable() = default;
  /// Every one that is open, in no order.
  virtual Result<std::vector<Stored<AlertRecord>>> open() = 0;
  /// Newest first. Looks at `kMostExamined` alerts at most, whatever is asked for: a filter that fits nothing costs no
  /// more than one that fits.
  virtual Result<AlertPage> resolved(const AlertPageQuery& query) = 0;
  /// `not_found`.
  virtual Result<Stored<AlertRecord>> find(std::string_view id) = 0;
  /// Makes or changes all of them or none, and renews their revisions. `busy`: somebody else was first with one.
  virtual Result<void> put(std::span<Stored<AlertRecord>> alerts) = 0;
  /// Forgets resolved ones that began before `time`, at most `most`. Whether there are more.
  virtual Result<bool> forget_resolved(WallTime time, std::size_t most) = 0;

  static constexpr std::size_t kMostExamined = 10'000;
};

class SilenceTable {
 public:
  virtual ~SilenceTable() = default;
  virtual Result<std::vector<Silence>> list() = 0;
  /// `busy` if there is one of that id.
  virtual Result<void> add(const Silence& silence) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::string_view id) = 0;
};

}  // namespace assay
