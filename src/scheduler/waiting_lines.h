#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/places.h"

namespace assay {

/// Tier 2: who is next. Jobs with equal needs stand in one line, each user's in a lane of it, ordered by their keys; a
/// user's delay moves all of their lanes at once. Where the first of a line finds no place, none of the line does: the
/// line is blocked until something changes for it, so that a million waiting jobs cost nothing.
class WaitingLines {
 public:
  struct Entry {
    double key = 0;
    std::uint64_t sequence = 0;  ///< unique: settles ties
    JobNumber job = 0;
    auto operator<=>(const Entry&) const = default;
  };
  struct Lane {
    std::set<Entry> jobs;
    bool parked = false;          ///< its user has as much as is allowed
    std::optional<Entry> listed;  ///< as it stands in the line's heads
  };
  struct Head {
    Entry entry;
    std::size_t user = 0;
    bool operator<(const Head& other) const { return entry < other.entry; }
  };
  struct Line {
    std::uint64_t number = 0;
    JobNeeds needs;
    std::vector<KindFit> fits;
    std::map<std::size_t, Lane> lanes;  ///< by user
    std::set<Head> heads;
    std::size_t jobs = 0;
    bool blocked = false;
    std::uint64_t planless = 0;   ///< round of plans in which no nodes could be set aside for its first job; 0: none
    std::optional<Entry> listed;  ///< as it stands among the lines
  };

  explicit WaitingLines(const Places& places) : places_(places) {}

  Line& add(const JobNeeds& needs, std::size_t user, const Entry& entry);
  /// `entry` as it was added. The line is gone with its last job.
  void remove(const JobNeeds& needs, std::size_t user, const Entry& entry);
  void clear();
  /// What nodes there are has changed: every line looks again.
  void look_again();

  /// The first job of the lines that are not blocked; null: none.
  Line* next() const;
  /// The first `count` jobs of a line, in their order by lanes.
  std::vector<Head> first(const Line& line, std::size_t count) const;
  void block(Line& line);
  void park(Line& line, std::size_t user);
  void unpark(std::size_t user);
  void set_delay(std::size_t user, double seconds);
  double delay_of(std::size_t user) const { return user < delays_.size() ? delays_[user] : 0; }

  /// Room has come about on a node: lines for which `helps` says so are no longer blocked.
  void room_on(NodeNumber node, const std::function<bool(const Line&)>& helps);

  /// Blocked lines by their first job, at most `count`.
  std::vector<Line*> blocked(std::size_t count) const;
  const Line* find(const JobNeeds& needs) const;
  void for_each(const std::function<void(const Line&)>& visit) const;

 private:
  struct ListedLine {
    Entry entry;
    Line* line = nullptr;
    bool operator<(const ListedLine& other) const { return entry < other.entry; }
  };

  void refresh(Line& line, std::size_t user, Lane& lane);
  void relist(Line& line);
  void unlist(Line& line);
  void watch(Line& line, bool on);

  const Places& places_;
  std::uint64_t next_number_ = 0;
  std::map<JobNeeds, std::unique_ptr<Line>> lines_;
  std::set<ListedLine> ready_;
  std::set<ListedLine> blocked_;
  std::vector<double> delays_;                                 ///< by user
  std::vector<bool> parked_;                                   ///< by user: whether a lane of theirs may be parked
  std::vector<std::map<std::uint64_t, Line*>> lines_of_user_;  ///< by user: those with a lane of theirs
  std::vector<std::map<std::uint64_t, Line*>> watching_kind_;  ///< blocked lines, by kind of node
  std::unordered_map<std::string, std::map<std::uint64_t, Line*>> watching_node_;  ///< blocked lines that name it
};

}  // namespace assay
