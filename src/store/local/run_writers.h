#pragma once

#include <memory>
#include <string>

#include "store/local/journal_writer.h"
#include "store/local/run_catalogue.h"
#include "store/store.h"

namespace assay {

/// What both writers have in common: the journal.
class JournalRunWriter : public RunWriter {
 public:
  JournalRunWriter(std::string id, JournalWriter journal) : id_(std::move(id)), journal_(std::move(journal)) {}

  const std::string& run_id() const override { return id_; }
  Result<void> append_event(WallTime time, std::string_view event) override {
    return journal_.append_event(time, event);
  }
  SeriesHandle open_series(const SeriesKey& key, std::string_view unit) override {
    return journal_.open_series(key, unit);
  }
  Result<void> append_points(SeriesHandle series, std::span<const SeriesPoint> points) override {
    return journal_.append_points(series, points);
  }
  Result<void> append_output(OutputStream stream, WallTime time, std::string_view bytes) override {
    return journal_.append_output(stream, time, bytes);
  }
  Result<void> flush() override { return journal_.flush(); }
  std::vector<SeriesSummary> summaries() const override { return journal_.summaries(); }

 protected:
  std::string id_;
  JournalWriter journal_;
};

/// The writer of the process that owns the run.
class OwnerRunWriter final : public JournalRunWriter {
 public:
  OwnerRunWriter(std::shared_ptr<RunCatalogue> catalogue, Run run, JournalWriter journal, FileLock owner);
  ~OwnerRunWriter() override;

  Result<void> update(const Run& run) override;
  Result<void> finish(const Run& run) override;

 private:
  Result<void> store(Run run);

  std::shared_ptr<RunCatalogue> catalogue_;
  Run stored_;  ///< as this writer stored it last
  std::optional<FileLock> owner_;
};

/// The writer of a further rank: its own journal, nothing else.
class RankRunWriter final : public JournalRunWriter {
 public:
  using JournalRunWriter::JournalRunWriter;
  ~RankRunWriter() override;

  Result<void> update(const Run&) override { return {}; }
  Result<void> finish(const Run&) override;
};

}  // namespace assay
