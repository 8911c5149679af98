#include "store/run_store.h"

#include <iterator>

#include "base/byte_stream.h"
#include "model/run.h"
#include "store/journal/forwarding_visitor.h"
#include "store/journal/journal_reader.h"
#include "store/journal/salvage.h"
#include "store/journal_state.h"
#include "store/run_query.h"

namespace assay {
namespace {

constexpr std::string_view kRankPrefix = "rank-";

class StoredJournal final : public JournalBytes {
 public:
  StoredJournal(const JournalState& state, const ReadFrames& read) : state_(state), read_(read) {}
  Result<std::uint64_t> size() override { return state_.size; }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    return read_(state_.name, offset, length);
  }

 private:
  const JournalState& state_;
  const ReadFrames& read_;
};

/// Adds to every series which rank it came from.
class RankVisitor final : public ForwardingVisitor {
 public:
  RankVisitor(JournalVisitor& inner, std::string_view name) : ForwardingVisitor(inner) {
    if (name.starts_with(kRankPrefix)) name.remove_prefix(kRankPrefix.size());
    rank_ = name;
  }
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    auto labelled = key;
    labelled.labels["rank"] = rank_;
    ForwardingVisitor::on_points(labelled, unit, points);
  }

 private:
  std::string rank_;
};

}  // namespace

Result<JournalPosition> read_journals(const std::vector<JournalState>& journals, const ReadFrames& read,
                                      JournalVisitor& visitor, JournalPosition from) {
  if (journals.empty() || journals.front().name != kOwnersJournal) visitor.on_damage("journal: it is missing");
  for (const auto& journal : journals) {
    RankVisitor labelled(visitor, journal.name);
    const bool is_owners = journal.name == kOwnersJournal;
    StoredJournal bytes(journal, read);
    JournalReader reader(bytes, journal.name);
    auto& offset = from.offsets[journal.name];
    ASSAY_TRY(offset, reader.read(offset, journal.owner, is_owners ? visitor : static_cast<JournalVisitor&>(labelled)));
  }
  return from;
}

Result<JournalPosition> read_journal(RunStore& store, std::string_view id, JournalVisitor& visitor,
                                     JournalPosition from) {
  ASSAY_TRY(const auto journals, store.journals(id));
  const auto read = [&](std::string_view journal, std::uint64_t offset, std::size_t length) {
    return store.read_frames(id, journal, offset, length);
  };
  return read_journals(journals, read, visitor, std::move(from))
      .within("reading the journal of run '" + std::string(id) + "'");
}

Result<RunPage> list_whole(RunStore& store, const RunQuery& query) {
  ASSAY_TRY(auto whole, store.list_runs(query));
  auto rest = query;
  while (!whole.next.empty() && (query.limit < 0 || std::ssize(whole.rows) < query.limit)) {
    rest.after = whole.next;
    if (query.limit >= 0) rest.limit = query.limit - std::ssize(whole.rows);
    ASSAY_TRY(auto page, store.list_runs(rest));
    std::move(page.rows.begin(), page.rows.end(), std::back_inserter(whole.rows));
    whole.next = std::move(page.next);
  }
  return whole;
}

Result<bool> is_without_owner(RunStore& store, const Run& run) {
  if (run.state != RunState::running || run.placement.place.empty()) return false;
  ASSAY_TRY(const auto journals, store.journals(run.id));
  return !journals.empty() && journals.front().owner == JournalOwner::awaited;
}

Result<Run> close_interrupted(RunStore& store, const Lease& lease, std::string_view owner, WallTime last_sign) {
  Salvager salvager;
  ASSAY_CHECK(read_journal(store, lease.run, salvager));
  return store.change_owned(lease, [&](Run& run) -> Result<void> {
    run = salvager.close(std::move(run), last_sign, owner);
    return {};
  });
}

Result<void> attach_text(RunStore& store, std::string_view run, std::string_view name, std::string_view content) {
  const auto source = text_source(std::string(content));
  return store.attach(run, name, *source);
}

Result<std::string> read_artifact(RunStore& store, std::string_view run, std::string_view name, std::size_t limit) {
  ASSAY_TRY(const auto source, store.open_artifact(run, name));
  return read_all(*source, limit);
}

}  // namespace assay
