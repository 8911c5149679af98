#pragma once

#include "store/journal/journal.h"

namespace assay {

/// Shows somebody else all that it is shown: for those who change or count one kind of thing on its way.
class ForwardingVisitor : public JournalVisitor {
 public:
  /// `inner` must outlive it.
  explicit ForwardingVisitor(JournalVisitor& inner) : inner_(inner) {}
  void on_event(WallTime time, std::string_view event) override { inner_.on_event(time, event); }
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    inner_.on_points(key, unit, points);
  }
  void on_output(OutputStream stream, WallTime time, std::string_view bytes) override {
    inner_.on_output(stream, time, bytes);
  }
  void on_mark(std::string_view mark) override { inner_.on_mark(mark); }
  void on_damage(std::string_view what) override { inner_.on_damage(what); }

 private:
  JournalVisitor& inner_;
};

}  // namespace assay
