#include "store/run_writer.h"

#include <fmt/format.h>

#include "base/log.h"
#include "model/run.h"
#include "store/journal/forwarding_visitor.h"
#include "store/journal/journal_encoder.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/read_journals.h"
#include "store/run_store.h"

namespace assay {
namespace {

/// Large enough to make a call of the store cheap, small enough to lose little when the process is killed.
constexpr std::size_t kWriteAt = std::size_t{256} << 10;

class LeasedWriter : public RunWriter {
 public:
  LeasedWriter(RunStore& store, Lease lease, JournalEncoder encoder = {})
      : store_(store), lease_(std::move(lease)), encoder_(std::move(encoder)) {}
  ~LeasedWriter() override {
    if (ended_) return;
    if (const auto flushed = flush(); !flushed.ok() && !failure_) {
      log_warning("run '{}': {}", lease_.run, flushed.error().text());
    }
    store_.give_up(lease_);
  }

  const std::string& run_id() const override { return lease_.run; }

  Result<void> append_event(WallTime time, std::string_view event) override {
    ASSAY_CHECK(appendable());
    ASSAY_CHECK(encoder_.add_event(time, event));
    return write_if_full();
  }
  SeriesHandle open_series(const SeriesKey& key, std::string_view unit) override {
    return encoder_.open_series(key, unit);
  }
  Result<void> append_points(SeriesHandle series, std::span<const SeriesPoint> points) override {
    ASSAY_CHECK(appendable());
    encoder_.add_points(series, points);
    return write_if_full();
  }
  Result<void> append_output(OutputStream stream, WallTime time, std::string_view bytes) override {
    ASSAY_CHECK(appendable());
    encoder_.add_output(stream, time, bytes);
    return write_if_full();
  }
  Result<void> flush() override {
    ASSAY_CHECK(appendable());
    if (encoder_.in_groups()) return {};
    encoder_.close_chunks();
    return write_frames();
  }
  Result<void> mark(std::string_view mark) override {
    ASSAY_CHECK(appendable());
    if (auto added = encoder_.add_mark(mark); !added) {
      failure_ = std::move(added).error();
      return *failure_;
    }
    return write_frames();
  }
  std::vector<SeriesSummary> summaries() const override { return encoder_.summaries(); }

 protected:
  Result<void> check_going_on() const {
    if (!ended_) return {};
    return Error{.kind = ErrorKind::internal, .message = fmt::format("run '{}' has ended", lease_.run)};
  }
  /// Writes the rest and the end mark.
  Result<void> close_journal() {
    ASSAY_CHECK(appendable());
    encoder_.add_end_mark();
    // Nothing has changed but that this is the end.
    auto written = encoder_.in_groups() ? mark("{}") : write_frames();
    if (!failure_) failure_ = Error{.kind = ErrorKind::internal, .message = "the journal is closed"};
    return written;
  }

  RunStore& store_;
  const Lease lease_;
  bool ended_ = false;

 private:
  Result<void> appendable() const {
    if (failure_) return *failure_;
    return {};
  }
  Result<void> write_if_full() {
    return !encoder_.in_groups() && encoder_.frames().size() >= kWriteAt ? write_frames() : Result<void>();
  }
  Result<void> write_frames() {
    if (encoder_.frames().empty()) return {};
    const auto end = encoder_.offset() + encoder_.frames().size();
    auto size = store_.append_frames(lease_, encoder_.offset(), encoder_.frames());
    if (size.ok() && *size != end) {
      size = Error{.kind = ErrorKind::internal,
                   .message = fmt::format("the journal has {} bytes where it should have {}", *size, end)};
    }
    if (!size.ok()) failure_ = std::move(size).error();
    encoder_.drop_frames();
    return appendable();
  }

  JournalEncoder encoder_;
  std::optional<Error> failure_;
};

/// The writer of whoever owns the run.
class OwnersWriter final : public LeasedWriter {
 public:
  OwnersWriter(RunStore& store, Lease lease, Run run, JournalEncoder encoder)
      : LeasedWriter(store, std::move(lease), std::move(encoder)), stored_(std::move(run)) {}

  Result<void> update(const Run& run) override {
    ASSAY_CHECK(check_going_on());
    return replace(run, run.state);
  }
  Result<void> finish(const Run& run) override {
    ASSAY_CHECK(check_going_on());
    // A journal that could not be written must not keep the verdict from being stored.
    auto closed = close_journal();
    auto stored = replace(run, RunState::ended);
    if (!stored.ok()) store_.give_up(lease_);
    ended_ = true;
    return closed.ok() ? stored : closed;
  }

 private:
  Result<void> replace(const Run& run, RunState state) {
    ASSAY_CHECK(store_.change_owned(lease_, [&](Run& found) -> Result<void> {
      auto next = run;
      next.state = state;
      // Others rename and tag a run while it goes on: what they changed stays unless we changed it too.
      if (run.tags == stored_.tags) next.tags = found.tags;
      if (run.name == stored_.name) next.name = found.name;
      found = std::move(next);
      return {};
    }));
    stored_ = run;
    return {};
  }

  Run stored_;  ///< as this writer stored it last
};

/// The writer of a further rank: its own journal, nothing else.
class RanksWriter final : public LeasedWriter {
 public:
  using LeasedWriter::LeasedWriter;
  Result<void> update(const Run&) override { return {}; }
  Result<void> finish(const Run&) override {
    ASSAY_CHECK(check_going_on());
    auto closed = close_journal();
    store_.give_up(lease_);
    ended_ = true;
    return closed;
  }
};

/// Counts the points that it shows to somebody else.
class CountingVisitor final : public ForwardingVisitor {
 public:
  CountingVisitor(JournalVisitor& inner, JournalEncoder& encoder) : ForwardingVisitor(inner), encoder_(encoder) {}
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    encoder_.count_points(key, unit, points);
    ForwardingVisitor::on_points(key, unit, points);
  }

 private:
  JournalEncoder& encoder_;
};

}  // namespace

Result<std::unique_ptr<RunWriter>> begin_run(RunStore& store, Run& run) {
  ASSAY_TRY(auto lease, store.create_run(run, {}));
  auto encoder = run.placement.place.empty() ? JournalEncoder() : JournalEncoder::of_groups(0);
  return std::unique_ptr<RunWriter>(std::make_unique<OwnersWriter>(store, std::move(lease), run, std::move(encoder)));
}

Result<std::unique_ptr<RunWriter>> continue_run(RunStore& store, Lease lease, Run run, JournalVisitor& visitor) {
  ASSAY_TRY(auto journals, store.journals(lease.run));
  std::erase_if(journals, [](const JournalState& journal) { return journal.name != kOwnersJournal; });
  auto encoder = JournalEncoder::of_groups(journals.empty() ? 0 : journals.front().size);
  const auto read = [&](std::string_view journal, std::uint64_t offset, std::size_t length) {
    return store.read_frames(lease.run, journal, offset, length);
  };
  CountingVisitor counting(visitor, encoder);
  ASSAY_CHECK(read_journals(journals, read, counting).within("reading the journal of run '" + lease.run + "'"));
  return std::unique_ptr<RunWriter>(
      std::make_unique<OwnersWriter>(store, std::move(lease), std::move(run), std::move(encoder)));
}

Result<std::unique_ptr<RunWriter>> join_run(RunStore& store, std::string_view id, std::string_view name) {
  ASSAY_TRY(auto lease, store.join_run(id, name));
  return std::unique_ptr<RunWriter>(std::make_unique<RanksWriter>(store, std::move(lease)));
}

}  // namespace assay
