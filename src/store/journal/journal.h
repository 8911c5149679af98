#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "model/series.h"

namespace assay {

enum class OutputStream : std::uint8_t { out, error };

/// Names a series inside one journal.
using SeriesHandle = std::uint32_t;

/// Receives the content of a journal in the order in which it was written.
class JournalVisitor {
 public:
  virtual ~JournalVisitor() = default;
  virtual void on_event(WallTime /*time*/, std::string_view /*event*/) {}
  virtual void on_points(const SeriesKey& /*key*/, std::string_view /*unit*/, std::span<const SeriesPoint> /*points*/) {
  }
  virtual void on_output(OutputStream /*stream*/, WallTime /*time*/, std::string_view /*bytes*/) {}
  /// Everything shown so far, and nothing else, is what this mark stands for.
  virtual void on_mark(std::string_view /*mark*/) {}
  /// Bytes that could not be read were skipped; what comes after them is read again.
  virtual void on_damage(std::string_view /*what*/) {}
};

}  // namespace assay
