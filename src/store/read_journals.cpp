#include "store/read_journals.h"

#include <span>

#include "store/journal/forwarding_visitor.h"
#include "store/journal/journal_reader.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/run_store.h"

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

}  // namespace assay
