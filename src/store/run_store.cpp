#include "store/run_store.h"
#include "store/journal_state.h"
#include "store/read_journals.h"

#include <iterator>

#include "base/byte_stream.h"
#include "model/run.h"
#include "store/journal/salvage.h"
#include "store/lease.h"
#include "store/run_query.h"

namespace assay {

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
