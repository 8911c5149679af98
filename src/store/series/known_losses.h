#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "store/series_types.h"

namespace assay {

/// What is missing from a store without leaving a trace where an answer is read from, so that answers say it all the
/// same. Not thread-safe.
class KnownLosses {
 public:
  /// `why`: "it could not be written". Losses of one series are told as one, with the last reason.
  void add(SeriesId series, TimeRange range, std::string why);
  /// `what`: a sentence; whichever series an answer is about, it may lack something.
  void add_for_all(TimeRange range, std::string what);
  void forget(SeriesId series) { by_series_.erase(series); }

  /// In words, what an answer on these series lacks.
  std::vector<std::string> of(std::span<const SeriesId> series, TimeRange range) const;

 private:
  struct Loss {
    TimeRange range;
    std::string why;
  };
  std::map<SeriesId, Loss> by_series_;
  std::vector<Loss> for_all_;
};

}  // namespace assay
