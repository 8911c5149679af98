#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/journal/journal.h"
#include "store/read_journals.h"
#include "store/run_curves.h"
#include "store/run_store.h"

namespace assay {

/// Whatever shows the points of a run to a visitor, as often as it is asked to.
using ShowPoints = std::function<Result<void>(JournalVisitor&)>;

/// Sums series up in buckets, all on one grid. Shows the points to itself twice, and holds none of them. `usage` for a
/// width that no screen has, or bounds in the wrong order.
Result<std::vector<RunCurve>> draw_curves(const CurveQuestion& question, const ShowPoints& show);

/// The points of a run in memory, up to a limit: beyond it there are none.
class RunPoints final : public JournalVisitor {
 public:
  explicit RunPoints(std::size_t limit_bytes) : limit_(limit_bytes) {}

  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override;
  void show(JournalVisitor& visitor) const;
  bool too_many() const { return too_many_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Series {
    std::string unit;
    std::vector<SeriesPoint> points;
  };
  const std::size_t limit_;
  std::map<SeriesKey, Series> series_;
  std::size_t bytes_ = 0;
  bool too_many_ = false;
};

/// Answers questions about series for a store: the points of the runs that were asked for last stay in memory, and of a
/// run that goes on only what is new is read. A run with more points than there is room for is read each time. Any
/// thread; questions about one run wait for each other.
class PointCache {
 public:
  explicit PointCache(std::size_t budget_bytes) : budget_(budget_bytes) {}

  /// See `draw_curves`.
  Result<std::vector<RunCurve>> answer(RunStore& store, std::string_view run, const CurveQuestion& question);
  void forget(std::string_view run);

 private:
  struct Entry {
    explicit Entry(std::size_t limit) : points(limit) {}
    std::mutex mutex;
    JournalPosition position;
    RunPoints points;
    std::size_t counted = 0;  ///< of `used_`; guarded by the cache's mutex
  };
  std::shared_ptr<Entry> entry_of(std::string_view run);
  void count(std::string_view run, const std::shared_ptr<Entry>& entry, std::size_t bytes);

  const std::size_t budget_;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::list<std::string> recent_;  ///< runs, the one that was asked for last in front
  std::map<std::string, std::pair<std::shared_ptr<Entry>, std::list<std::string>::iterator>, std::less<>> entries_;
};

}  // namespace assay
