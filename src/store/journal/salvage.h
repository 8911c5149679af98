#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/run.h"
#include "store/journal/journal.h"
#include "store/journal/series_tally.h"

namespace assay {

/// Sums up what a journal still holds of a run whose owner is gone.
class Salvager final : public JournalVisitor {
 public:
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override;

  /// Closes the run as `interrupted`, with summaries of all series and the last finite value of each metric of the
  /// workload. `last_sign`: when its owner was last heard of; `owner`: who that was; may be empty.
  Run close(Run run, WallTime last_sign, std::string_view owner) const;

 private:
  struct Series {
    SeriesKey key;
    std::string unit;
    SeriesTally tally;
  };

  std::map<SeriesKey, std::size_t> places_;
  std::vector<Series> series_;
};

}  // namespace assay
