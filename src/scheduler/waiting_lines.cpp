#include "scheduler/waiting_lines.h"

#include <utility>

#include "base/assert.h"

namespace assay {

WaitingLines::Line& WaitingLines::add(const JobNeeds& needs, std::size_t user, const Entry& entry) {
  std::unique_ptr<Line>& place = lines_[needs];
  if (!place) {
    place = std::make_unique<Line>();
    place->number = next_number_++;
    place->needs = needs;
    place->fits = places_.fits_of(needs);
  }
  Line& line = *place;
  if (lines_of_user_.size() <= user) {
    lines_of_user_.resize(user + 1);
    delays_.resize(user + 1, 0);
    parked_.resize(user + 1, false);
  }
  Lane& lane = line.lanes[user];
  lines_of_user_[user][line.number] = &line;
  lane.jobs.insert(entry);
  ++line.jobs;
  if (*lane.jobs.begin() == entry) refresh(line, user, lane);
  return line;
}

void WaitingLines::remove(const JobNeeds& needs, std::size_t user, const Entry& entry) {
  const auto place = lines_.find(needs);
  ASSAY_ASSERT(place != lines_.end());
  Line& line = *place->second;
  Lane& lane = line.lanes.at(user);
  const bool was_first = *lane.jobs.begin() == entry;
  const std::size_t removed = lane.jobs.erase(entry);
  ASSAY_ASSERT(removed == 1);
  --line.jobs;
  if (was_first) refresh(line, user, lane);
  if (lane.jobs.empty()) {
    line.lanes.erase(user);
    lines_of_user_[user].erase(line.number);
  }
  if (line.jobs > 0) return;
  unlist(line);
  if (line.blocked) watch(line, false);
  lines_.erase(place);
}

void WaitingLines::clear() {
  lines_.clear();
  ready_.clear();
  blocked_.clear();
  for (auto& lines : lines_of_user_) lines.clear();
  watching_kind_.clear();
  watching_node_.clear();
}

void WaitingLines::look_again() {
  for (auto& [needs, line] : lines_) {
    unlist(*line);
    if (std::exchange(line->blocked, false)) watch(*line, false);
    line->planless = 0;
    line->fits = places_.fits_of(needs);
    relist(*line);
  }
}

WaitingLines::Line* WaitingLines::next() const { return ready_.empty() ? nullptr : ready_.begin()->line; }

std::vector<WaitingLines::Head> WaitingLines::first(const Line& line, std::size_t count) const {
  std::vector<Head> jobs;
  for (const Head& head : line.heads) {
    for (const Entry& entry : line.lanes.at(head.user).jobs) {
      if (jobs.size() >= count) return jobs;
      jobs.push_back({.entry = entry, .user = head.user});
    }
  }
  return jobs;
}

void WaitingLines::block(Line& line) {
  unlist(line);
  line.blocked = true;
  watch(line, true);
  relist(line);
}

void WaitingLines::park(Line& line, std::size_t user) {
  Lane& lane = line.lanes.at(user);
  lane.parked = true;
  parked_[user] = true;
  refresh(line, user, lane);
}

void WaitingLines::unpark(std::size_t user) {
  if (user >= parked_.size() || !parked_[user]) return;
  parked_[user] = false;
  for (auto& [number, line] : lines_of_user_[user]) {
    Lane& lane = line->lanes.at(user);
    if (std::exchange(lane.parked, false)) refresh(*line, user, lane);
  }
}

void WaitingLines::set_delay(std::size_t user, double seconds) {
  if (user >= delays_.size() || delays_[user] == seconds) return;
  delays_[user] = seconds;
  for (auto& [number, line] : lines_of_user_[user]) refresh(*line, user, line->lanes.at(user));
}

void WaitingLines::room_on(NodeNumber node, const std::function<bool(const Line&)>& helps) {
  std::vector<Line*> helped;
  const auto ask = [&](const std::map<std::uint64_t, Line*>& watching) {
    for (const auto& [number, line] : watching) {
      if (helps(*line)) helped.push_back(line);
    }
  };
  const Places::Node& place = places_.node(node);
  if (place.kind < watching_kind_.size()) ask(watching_kind_[place.kind]);
  if (const auto named = watching_node_.find(place.offer.name); named != watching_node_.end()) ask(named->second);
  for (Line* line : helped) {
    unlist(*line);
    watch(*line, false);
    line->blocked = false;
    relist(*line);
  }
}

std::vector<WaitingLines::Line*> WaitingLines::blocked(std::size_t count) const {
  std::vector<Line*> lines;
  for (const ListedLine& listed : blocked_) {
    if (lines.size() == count) break;
    lines.push_back(listed.line);
  }
  return lines;
}

const WaitingLines::Line* WaitingLines::find(const JobNeeds& needs) const {
  const auto place = lines_.find(needs);
  return place == lines_.end() ? nullptr : place->second.get();
}

void WaitingLines::for_each(const std::function<void(const Line&)>& visit) const {
  for (const auto& [needs, line] : lines_) visit(*line);
}

void WaitingLines::refresh(Line& line, std::size_t user, Lane& lane) {
  if (lane.listed) line.heads.erase({.entry = *lane.listed, .user = user});
  lane.listed.reset();
  if (!lane.parked && !lane.jobs.empty()) {
    Entry head = *lane.jobs.begin();
    head.key += delays_[user];
    lane.listed = head;
    line.heads.insert({.entry = head, .user = user});
  }
  const bool same = line.listed && !line.heads.empty() && line.heads.begin()->entry == *line.listed;
  if (same) return;
  unlist(line);
  relist(line);
}

void WaitingLines::relist(Line& line) {
  if (line.heads.empty()) return;
  line.listed = line.heads.begin()->entry;
  (line.blocked ? blocked_ : ready_).insert({.entry = *line.listed, .line = &line});
}

void WaitingLines::unlist(Line& line) {
  if (!line.listed) return;
  (line.blocked ? blocked_ : ready_).erase({.entry = *line.listed, .line = &line});
  line.listed.reset();
}

void WaitingLines::watch(Line& line, bool on) {
  const auto note = [&](std::map<std::uint64_t, Line*>& watching) {
    if (on) {
      watching[line.number] = &line;
    } else {
      watching.erase(line.number);
    }
  };
  if (!line.needs.on.empty()) {
    for (const std::string& node : line.needs.on) {
      note(watching_node_[node]);
      if (watching_node_[node].empty()) watching_node_.erase(node);
    }
    return;
  }
  if (watching_kind_.size() < places_.kinds()) watching_kind_.resize(places_.kinds());
  for (const KindFit& fit : line.fits) note(watching_kind_[fit.kind]);
}

}  // namespace assay
