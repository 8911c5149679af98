#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "telemetry/sample.h"

namespace assay {

// Readings of the nodes of a job as lines of JSON, so that those of several nodes can be put together line by line.
//
//   {"node":0,"of":2,"schema":1,"host":"gpu01","began":1763496000000000000}      who speaks
//   {"node":0,"first":0,"series":[["host.cpu_util","ratio"],["gpu.util","ratio",{"gpu":"GPU-1a"}]]}
//   {"node":0,"at":1763496001000000000,"first":0,"values":[0.25,null]}            null: not read this time
//   {"node":0,"source":"nvml","silent":"no answer"}                               "": it answers now
//
// Times are those of the node's clock. Series are numbered in the order of naming. The first two kinds of line come
// again from time to time, for readers to whom a piece was lost.

inline constexpr std::size_t kMostLineSeries = 4096;  ///< of one node; further ones are left out
inline constexpr std::int64_t kMostLineNodes = 10'000;

struct LineNode {
  std::int64_t number = 0;
  std::int64_t of = 1;
  std::string host;
  WallTime began;  ///< its part of the job
};

/// One node's side. Not thread-safe.
class ReadingLineWriter {
 public:
  explicit ReadingLineWriter(LineNode node) : node_(std::move(node)) {}

  /// Who speaks, and every series that was named.
  void introduce(std::string& lines) const;
  void add(std::string& lines, WallTime time, const std::vector<Sample>& samples);
  /// A source gives nothing, and why; empty: it does now.
  void tell_silence(std::string& lines, std::string_view source, std::string_view why) const;

 private:
  void name_series(std::string& lines, std::size_t first) const;

  LineNode node_;
  std::map<SeriesKey, std::size_t> places_;
  struct Named {
    const SeriesKey* key;
    std::string unit;
  };
  std::vector<Named> named_;
  std::vector<std::optional<double>> values_;  ///< of the reading that is written
};

/// What one line said.
struct LineNews {
  const LineNode* node = nullptr;  ///< whose; never null
  /// The line has to be known to whoever goes on from behind it, under this name; a later one of that name replaces it.
  /// Empty: it need not.
  std::string keep_as;
  WallTime time;                ///< of the samples
  std::vector<Sample> samples;  ///< with more than one node labelled with theirs
  std::string source;           ///< it is silent, or no longer
  std::string silent;           ///< why; empty: no longer
};

/// The other side, for all nodes of one job. Lines may come from anywhere. Not thread-safe.
class ReadingLineReader {
 public:
  /// Nothing for a line that says nothing: it is damaged, or speaks of what was not named.
  std::optional<LineNews> take(std::string_view line);

  std::size_t nodes() const { return nodes_.size(); }  ///< that have said who they are

 private:
  struct Speaker {
    LineNode node;
    std::string label;
    std::map<std::size_t, Sample> series;
  };
  std::optional<LineNews> take_node(std::int64_t number, JsonFields& fields);
  std::optional<LineNews> take_series(Speaker& speaker, JsonFields& fields);
  std::optional<LineNews> take_values(const Speaker& speaker, JsonFields& fields) const;

  std::map<std::int64_t, Speaker> nodes_;
};

}  // namespace assay
