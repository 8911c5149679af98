#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounts/kept.h"
#include "base/clock.h"
#include "store/account_tables.h"

namespace assay {

/// Charts that people put together: each is its author's, and for everybody where they say so. Any thread.
class SavedPanels {
 public:
  SavedPanels(AccountTables& tables, const Clock& clock) : clock_(clock), panels_(tables.panels(), &PanelRecord::id) {}
  Result<void> load() { return panels_.load(); }

  /// `usage`: without a name or metrics, with values that no chart could be drawn from, longer than the limits below,
  /// too many panels.
  Result<PanelRecord> create(std::string_view user, PanelContent content);
  /// The same for one that is there, whose it stays. `not_found`.
  Result<PanelRecord> change(std::string_view id, PanelContent content);
  std::optional<PanelRecord> find(std::string_view id) const { return panels_.find(id); }
  /// Their own and all that are shared, by name; `user` empty: those that are shared.
  std::vector<PanelRecord> seen_by(std::string_view user) const;
  /// One that does not exist is no error.
  Result<void> remove(std::string_view id);
  Result<void> remove_all_of(std::string_view user);

  static constexpr std::size_t kMostOfUser = 100;
  static constexpr std::size_t kMostShared = 500;  ///< of all users: every list of panels has them
  static constexpr std::size_t kMostMetrics = 24;
  static constexpr std::size_t kMostRuns = 24;
  static constexpr std::size_t kLongestName = 800;     ///< in bytes; of metrics as well
  static constexpr std::size_t kLongestFilter = 2000;  ///< the same

 private:
  Result<void> check_room(std::string_view user, std::string_view id, const PanelContent& content) const;

  const Clock& clock_;
  std::mutex saving_;  ///< held between counting and saving
  Kept<PanelRecord> panels_;
};

/// Whether charts could be drawn of it; `now`: what ages in its filter count from. `usage` with what is wrong.
Result<void> check_panel(const PanelContent& content, WallTime now);

}  // namespace assay
