#include <algorithm>
#include <bit>

#include "scheduler/places.h"

namespace assay {
namespace {

/// How many nodes with the job's data, or to choose the best racks or the soonest drained of, are looked at.
constexpr std::size_t kLooks = 64;
/// How many nodes that others wait for.
constexpr std::size_t kGapLooks = 128;
/// Of a job that is late: at least so long.
constexpr Nanos kShortestRest = std::chrono::minutes(1);

}  // namespace

std::vector<NodeNumber> Places::find(const JobNeeds& needs, std::span<const KindFit> fits,
                                     const PlaceWish& wish) const {
  if (!needs.on.empty()) return find_pinned(needs, fits, wish);
  if (needs.nodes > 1) return find_gang(needs, fits, wish);
  const auto node = find_one(needs, fits, wish);
  return node ? std::vector<NodeNumber>{*node} : std::vector<NodeNumber>{};
}

std::optional<NodeNumber> Places::find_one(const JobNeeds& needs, std::span<const KindFit> fits,
                                           const PlaceWish& wish) const {
  if (const auto holders = holders_.find(wish.data); !wish.data.empty() && holders != holders_.end()) {
    std::size_t looks = 0;
    for (const NodeNumber number : holders->second) {
      if (++looks > kLooks) break;
      if (fits_on(number, needs, fits) && open_for(number, needs, wish)) return number;
    }
  }
  for (const KindFit& fit : fits) {
    const Kind& kind = kinds_[fit.kind];
    if (needs.alone()) {
      if (!kind.idle.empty()) return *kind.idle.begin();
      continue;
    }
    if (needs.cpus) {
      if (!kind.cpus_free.empty()) return *kind.cpus_free.begin();
      continue;
    }
    // The fullest node that will do: whole nodes are left to those who need them.
    for (auto free = static_cast<std::size_t>(needs.gpus); free < kind.by_free.size(); ++free) {
      for (const NodeNumber number : kind.by_free[free]) {
        if (fit.all || has_room(nodes_[number], needs, fit)) return number;
      }
    }
  }
  for (const KindFit& fit : fits) {
    std::size_t looks = 0;
    const auto& restricted = kinds_[fit.kind].restricted;
    // The shortest gap that will do.
    for (auto place = first_gap(fit.kind, needs, wish); place != restricted.end(); ++place) {
      if (++looks > kGapLooks) break;
      const NodeNumber number = place->second;
      if (has_room(nodes_[number], needs, fit) && open_for(number, needs, wish)) return number;
    }
  }
  return std::nullopt;
}

std::set<std::pair<WallTime, NodeNumber>>::const_iterator Places::first_gap(std::uint32_t kind, const JobNeeds& needs,
                                                                            const PlaceWish& wish) const {
  const auto& restricted = kinds_[kind].restricted;
  // Those who use CPUs alone are kept from few of them.
  if (needs.cpus) return restricted.begin();
  const auto length = static_cast<std::int64_t>(static_cast<double>(wish.at_most.count()) / kinds_[kind].speed);
  return restricted.lower_bound({wish.now + Nanos(length), 0});
}

Nanos Places::longest_gap(const JobNeeds& needs, std::span<const KindFit> fits, WallTime now) const {
  Nanos longest{};
  for (const KindFit& fit : fits) {
    std::size_t looks = 0;
    const auto& restricted = kinds_[fit.kind].restricted;
    for (auto place = restricted.rbegin(); place != restricted.rend(); ++place) {
      if (++looks > kGapLooks) break;
      const Node& node = nodes_[place->second];
      if (!has_room(node, needs, fit)) continue;
      WallTime until = reserved_from(node, needs).value_or(WallTime::max());
      if (node.offer.maintenance) until = std::min(until, node.offer.maintenance->first);
      const double gap = static_cast<double>((until - now).count()) * node.offer.speed;
      longest = std::max(longest, Nanos(static_cast<std::int64_t>(std::min(gap, 9e18))));
      if (!needs.cpus) break;  // the others are shorter
    }
  }
  return longest;
}

std::optional<NodeNumber> Places::kept_by_maintenance(const JobNeeds& needs, std::span<const KindFit> fits,
                                                      const PlaceWish& wish) const {
  const auto keeps = [&](NodeNumber number) {
    return fits_on(number, needs, fits) && !ends_in_time(number, wish.now, wish.at_most);
  };
  for (const std::string& name : needs.on) {
    if (const auto number = number_of(name); number && keeps(*number)) return number;
  }
  if (!needs.on.empty() || needs.nodes > 1) return std::nullopt;
  for (const KindFit& fit : fits) {
    std::size_t looks = 0;
    for (const NodeNumber number : kinds_[fit.kind].maintained) {
      if (++looks > kGapLooks) break;
      if (keeps(number)) return number;
    }
  }
  return std::nullopt;
}

std::vector<NodeNumber> Places::find_pinned(const JobNeeds& needs, std::span<const KindFit> fits,
                                            const PlaceWish& wish) const {
  const auto count = static_cast<std::size_t>(needs.nodes);
  std::vector<NodeNumber> found;
  for (const std::string& name : needs.on) {
    if (count == 1 && !found.empty()) break;
    const auto number = number_of(name);
    if (number && fits_on(*number, needs, fits) && open_for(*number, needs, wish)) found.push_back(*number);
  }
  if (found.size() < count) return {};
  return count == 1 ? found : together(found, count);
}

std::vector<NodeNumber> Places::find_gang(const JobNeeds& needs, std::span<const KindFit> fits,
                                          const PlaceWish& wish) const {
  const auto count = static_cast<std::size_t>(needs.nodes);
  for (const KindFit& fit : fits) {  // a gang of unequal nodes would wait for its slowest
    const Kind& kind = kinds_[fit.kind];
    std::vector<NodeNumber> candidates;
    const auto consider = [&](const std::set<NodeNumber>& nodes) {
      for (const NodeNumber number : nodes) {
        if (candidates.size() >= count + kLooks * 4) return;
        if (has_room(nodes_[number], needs, fit)) candidates.push_back(number);
      }
    };
    std::size_t listed = kind.restricted.size();
    for (auto free = static_cast<std::size_t>(needs.gpus); free < kind.by_free.size(); ++free) {
      listed += kind.by_free[free].size();
    }
    if (listed < count) continue;
    if (needs.alone()) {
      consider(kind.idle);
    } else {
      for (auto free = static_cast<std::size_t>(needs.gpus); free < kind.by_free.size(); ++free) {
        consider(kind.by_free[free]);
      }
    }
    for (auto place = first_gap(fit.kind, needs, wish); place != kind.restricted.end(); ++place) {
      if (candidates.size() >= count) break;
      const NodeNumber number = place->second;
      if (has_room(nodes_[number], needs, fit) && open_for(number, needs, wish)) candidates.push_back(number);
    }
    if (candidates.size() >= count) return together(candidates, count);
  }
  return {};
}

/// Of one rack if possible, the smallest that will do; else of as few as possible.
std::vector<NodeNumber> Places::together(const std::vector<NodeNumber>& candidates, std::size_t count) const {
  std::map<std::string, std::vector<NodeNumber>> racks;
  for (const NodeNumber number : candidates) racks[nodes_[number].offer.rack].push_back(number);
  std::vector<const std::vector<NodeNumber>*> order;
  order.reserve(racks.size());
  for (const auto& [rack, members] : racks) order.push_back(&members);
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    const bool enough_a = a->size() >= count;
    const bool enough_b = b->size() >= count;
    if (enough_a != enough_b) return enough_a;
    return enough_a ? a->size() < b->size() : a->size() > b->size();
  });
  std::vector<NodeNumber> chosen;
  for (const auto* members : order) {
    for (const NodeNumber number : *members) {
      if (chosen.size() == count) return chosen;
      chosen.push_back(number);
    }
  }
  return chosen;
}

WallTime Places::ready_at(const Node& node, const JobNeeds& needs, const KindFit& fit, WallTime now) const {
  std::vector<Tenant> tenants = node.tenants;
  for (Tenant& tenant : tenants) {
    if (tenant.expected_end > now) continue;
    tenant.expected_end = now + std::max<Nanos>(now - tenant.expected_end, kShortestRest);
  }
  std::sort(tenants.begin(), tenants.end(),
            [](const Tenant& a, const Tenant& b) { return a.expected_end < b.expected_end; });
  Room room{.free = node.free, .idle = tenants.empty(), .cpus_free = node.cpus_free()};
  std::size_t left = tenants.size();
  WallTime ready = now;
  for (const Tenant& tenant : tenants) {
    if (would_have_room(node, room, needs, fit)) break;
    room.free |= tenant.gpus;
    room.idle = --left == 0;
    room.cpus_free = room.cpus_free || tenant.cpus || tenant.alone;
    ready = std::max(ready, tenant.expected_end);
  }
  return ready;
}

Places::DrainPlan Places::plan_drain(const JobNeeds& needs, std::span<const KindFit> fits, const PlaceWish& wish,
                                     const std::set<NodeNumber>& without) const {
  const auto count = static_cast<std::size_t>(needs.nodes);
  DrainPlan best;
  const auto choose = [&](const std::vector<NodeNumber>& candidates, const KindFit* one_fit) {
    std::vector<std::pair<WallTime, NodeNumber>> ready;
    for (const NodeNumber number : candidates) {
      const KindFit* fit = one_fit != nullptr ? one_fit : fit_for(number, fits);
      if (fit == nullptr) continue;
      const WallTime start = ready_at(nodes_[number], needs, *fit, wish.now);
      if (ends_in_time(number, start, wish.at_most)) ready.emplace_back(start, number);
    }
    if (ready.size() < count) return;
    std::sort(ready.begin(), ready.end());
    if (!best.nodes.empty() && best.ready <= ready[count - 1].first) return;
    best = {.nodes = {}, .ready = ready[count - 1].first};
    for (std::size_t i = 0; i < count; ++i) best.nodes.push_back(ready[i].second);
  };
  const auto is_open = [&](NodeNumber number) {
    const Node& node = nodes_[number];
    return node.takes_jobs() && !node.reserved && !without.contains(number);
  };
  std::vector<NodeNumber> candidates;
  for (const std::string& name : needs.on) {
    if (const auto number = number_of(name); number && is_open(*number)) candidates.push_back(*number);
  }
  if (!needs.on.empty()) {
    choose(candidates, nullptr);
    return best;
  }
  for (const KindFit& fit : fits) {
    candidates.clear();
    const auto& by_free = kinds_[fit.kind].by_free;
    for (auto free = by_free.size(); free-- > 0;) {
      for (const NodeNumber number : by_free[free]) {
        if (candidates.size() >= count + kLooks) break;
        if (!without.contains(number)) candidates.push_back(number);
      }
    }
    std::size_t looks = 0;
    for (const NodeNumber number : kinds_[fit.kind].maintained) {
      if (++looks > kGapLooks) break;
      if (is_open(number)) candidates.push_back(number);
    }
    choose(candidates, &fit);
  }
  return best;
}

}  // namespace assay
