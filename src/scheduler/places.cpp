#include "scheduler/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace assay {
namespace {

std::uint64_t all_gpus(std::size_t count) { return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; }

std::uint64_t bit(std::size_t index) { return std::uint64_t{1} << index; }

std::uint64_t mask_of(const NodeOffer& offer, const std::vector<std::string>& uuids) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < offer.gpus.size(); ++i) {
    if (std::find(uuids.begin(), uuids.end(), offer.gpus[i].uuid) != uuids.end()) mask |= bit(i);
  }
  return mask;
}

std::vector<std::string> uuids_of(const NodeOffer& offer, std::uint64_t mask) {
  std::vector<std::string> uuids;
  for (std::size_t i = 0; i < offer.gpus.size(); ++i) {
    if (mask & bit(i)) uuids.push_back(offer.gpus[i].uuid);
  }
  return uuids;
}

}  // namespace

std::uint32_t Places::kind_of(const NodeOffer& offer) {
  std::vector<GpuOffer> gpus = offer.gpus;
  for (GpuOffer& gpu : gpus) gpu.uuid.clear();
  const auto [place, is_new] =
      kind_numbers_.try_emplace({offer.speed, gpus}, static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) {
    kinds_.push_back({.gpus = gpus, .speed = offer.speed});
    kinds_.back().by_free.resize(gpus.size() + 1);
  }
  return place->second;
}

NodeNumber Places::put(const NodeOffer& offer) {
  ASSAY_ASSERT(offer.gpus.size() <= kMostGpusOfNode);
  const auto [place, is_new] = numbers_.try_emplace(offer.name, static_cast<NodeNumber>(nodes_.size()));
  const NodeNumber number = place->second;
  if (is_new) nodes_.emplace_back();
  Node& node = nodes_[number];
  if (node.up) {
    unlist(number);
    --kinds_[node.kind].up;
    gpus_up_ -= node.offer.gpus.size();
    for (const std::string& data : node.offer.holds) holders_[data].erase(number);
  }
  for (Tenant& tenant : node.tenants) {
    tenant.gpus = tenant.alone ? all_gpus(offer.gpus.size()) : mask_of(offer, uuids_of(node.offer, tenant.gpus));
  }
  node.offer = offer;
  node.kind = kind_of(offer);
  node.up = true;
  node.free = all_gpus(offer.gpus.size());
  for (const Tenant& tenant : node.tenants) node.free &= ~tenant.gpus;
  ++kinds_[node.kind].up;
  gpus_up_ += offer.gpus.size();
  for (const std::string& data : offer.holds) holders_[data].insert(number);
  list(number);
  return number;
}

std::vector<JobNumber> Places::take_down(NodeNumber number) {
  Node& node = nodes_[number];
  std::vector<JobNumber> jobs;
  if (!node.up) return jobs;
  unlist(number);
  node.up = false;
  --kinds_[node.kind].up;
  gpus_up_ -= node.offer.gpus.size();
  for (const std::string& data : node.offer.holds) holders_[data].erase(number);
  for (const Tenant& tenant : node.tenants) jobs.push_back(tenant.job);
  node.tenants.clear();
  node.free = 0;
  node.reserved.reset();
  return jobs;
}

std::optional<NodeNumber> Places::number_of(const std::string& name) const {
  const auto place = numbers_.find(name);
  if (place == numbers_.end()) return std::nullopt;
  return place->second;
}

void Places::list(NodeNumber number) {
  const Node& node = nodes_[number];
  if (!node.up) return;
  Kind& kind = kinds_[node.kind];
  if (node.reserved || node.offer.maintenance) {
    kind.restricted.insert(number);
    return;
  }
  kind.by_free[static_cast<std::size_t>(std::popcount(node.free))].insert(number);
  if (node.tenants.empty()) kind.idle.insert(number);
}

void Places::unlist(NodeNumber number) {
  const Node& node = nodes_[number];
  if (!node.up) return;
  Kind& kind = kinds_[node.kind];
  kind.restricted.erase(number);
  kind.by_free[static_cast<std::size_t>(std::popcount(node.free))].erase(number);
  kind.idle.erase(number);
}

std::vector<KindFit> Places::fits_of(const JobNeeds& needs) const {
  std::vector<KindFit> fits;
  for (std::uint32_t number = 0; number < kinds_.size(); ++number) {
    const Kind& kind = kinds_[number];
    KindFit fit{.kind = number};
    for (std::size_t i = 0; i < kind.gpus.size(); ++i) {
      const GpuOffer& gpu = kind.gpus[i];
      if (!needs.gpu_model.empty() && gpu.model != needs.gpu_model) continue;
      if (gpu.memory >= needs.gpu_memory) fit.gpus |= bit(i);
    }
    const bool particular = !needs.gpu_model.empty() || needs.gpu_memory.count > 0;
    if (std::popcount(fit.gpus) < std::max(needs.gpus, particular ? 1 : 0)) continue;
    fit.all = fit.gpus == all_gpus(kind.gpus.size()) && !needs.linked;
    fits.push_back(fit);
  }
  const auto smallest = [&](const KindFit& fit) {
    Bytes memory{};
    for (const GpuOffer& gpu : kinds_[fit.kind].gpus) memory = std::max(memory, gpu.memory);
    return memory;
  };
  std::stable_sort(fits.begin(), fits.end(), [&](const KindFit& a, const KindFit& b) {
    const double left = kinds_[a.kind].speed;
    const double right = kinds_[b.kind].speed;
    return left != right ? left > right : smallest(a) < smallest(b);
  });
  return fits;
}

const KindFit* Places::fit_for(NodeNumber number, std::span<const KindFit> fits) const {
  const auto place =
      std::find_if(fits.begin(), fits.end(), [&](const KindFit& fit) { return fit.kind == nodes_[number].kind; });
  return place == fits.end() ? nullptr : &*place;
}

std::uint64_t Places::choose_gpus(const Node& node, const JobNeeds& needs, std::uint64_t among) const {
  std::map<int, std::uint64_t> groups;
  for (std::size_t i = 0; i < node.offer.gpus.size(); ++i) {
    if (among & bit(i)) groups[node.offer.gpus[i].link_group] |= bit(i);
  }
  // The smallest group that will do leaves the larger ones to others.
  const std::uint64_t* best = nullptr;
  for (const auto& [group, gpus] : groups) {
    if (std::popcount(gpus) < needs.gpus) continue;
    if (best == nullptr || std::popcount(gpus) < std::popcount(*best)) best = &gpus;
  }
  if (best == nullptr && (needs.linked || std::popcount(among) < needs.gpus)) return 0;
  std::uint64_t rest = best != nullptr ? *best : among;
  std::uint64_t chosen = 0;
  for (int i = 0; i < needs.gpus; ++i) {
    chosen |= rest & (~rest + 1);
    rest &= rest - 1;
  }
  return chosen;
}

bool Places::has_room(const Node& node, const JobNeeds& needs, const KindFit& fit) const {
  return node.up && would_have_room(node, node.free, node.tenants.empty(), needs, fit);
}

bool Places::would_have_room(const Node& node, std::uint64_t free, bool idle, const JobNeeds& needs,
                             const KindFit& fit) const {
  if (needs.alone()) return idle;
  if (std::popcount(free & fit.gpus) < needs.gpus) return false;
  return !needs.linked || choose_gpus(node, needs, free & fit.gpus) != 0;
}

bool Places::open_for(const Node& node, const PlaceWish& wish) const {
  const auto length = static_cast<std::int64_t>(static_cast<double>(wish.at_most.count()) / node.offer.speed);
  const WallTime end = wish.now + Nanos(length);
  if (node.reserved && end > *node.reserved) return false;
  return !node.offer.maintenance || end <= node.offer.maintenance->first || wish.now >= node.offer.maintenance->second;
}

bool Places::fits_on(NodeNumber number, const JobNeeds& needs, std::span<const KindFit> fits) const {
  const KindFit* fit = fit_for(number, fits);
  return fit != nullptr && has_room(nodes_[number], needs, *fit);
}

NodeShare Places::occupy(NodeNumber number, JobNumber job, const JobNeeds& needs, std::span<const KindFit> fits,
                         WallTime expected_end) {
  const KindFit* fit = fit_for(number, fits);
  ASSAY_ASSERT(fit != nullptr && has_room(nodes_[number], needs, *fit));
  unlist(number);
  Node& node = nodes_[number];
  const std::uint64_t gpus =
      needs.alone() ? all_gpus(node.offer.gpus.size()) : choose_gpus(node, needs, node.free & fit->gpus);
  node.free &= ~gpus;
  node.tenants.push_back({.job = job, .gpus = gpus, .alone = needs.alone(), .expected_end = expected_end});
  list(number);
  return {.node = node.offer.name, .gpus = uuids_of(node.offer, gpus)};
}

bool Places::occupy_named(NodeNumber number, JobNumber job, const NodeShare& share, bool alone, WallTime expected_end) {
  Node& node = nodes_[number];
  const std::uint64_t gpus = alone ? all_gpus(node.offer.gpus.size()) : mask_of(node.offer, share.gpus);
  const bool known = alone || static_cast<std::size_t>(std::popcount(gpus)) == share.gpus.size();
  if (!node.up || !known || (gpus & ~node.free) != 0 || (alone && !node.tenants.empty())) return false;
  unlist(number);
  node.free &= ~gpus;
  node.tenants.push_back({.job = job, .gpus = gpus, .alone = alone, .expected_end = expected_end});
  list(number);
  return true;
}

void Places::vacate(NodeNumber number, JobNumber job) {
  Node& node = nodes_[number];
  const auto tenant =
      std::find_if(node.tenants.begin(), node.tenants.end(), [&](const Tenant& one) { return one.job == job; });
  if (tenant == node.tenants.end()) return;
  unlist(number);
  node.free |= tenant->gpus;
  node.tenants.erase(tenant);
  list(number);
}

void Places::reserve(NodeNumber number, std::optional<WallTime> until) {
  unlist(number);
  nodes_[number].reserved = until;
  list(number);
}

bool Places::end_maintenance(NodeNumber number, WallTime now) {
  Node& node = nodes_[number];
  if (!node.offer.maintenance || now < node.offer.maintenance->second) return false;
  unlist(number);
  node.offer.maintenance.reset();
  list(number);
  return true;
}

bool Places::could_ever_fit(const JobNeeds& needs, std::span<const KindFit> fits, std::string* reason) const {
  const auto why_not = [&](std::string text) {
    if (reason != nullptr) *reason = std::move(text);
    return false;
  };
  std::size_t enough = 0;
  std::string absent;
  if (needs.on.empty()) {
    for (const KindFit& fit : fits) enough += kinds_[fit.kind].up;
  }
  for (const std::string& name : needs.on) {
    const auto number = number_of(name);
    if (number && nodes_[*number].up && fit_for(*number, fits) != nullptr) {
      ++enough;
    } else if (!number) {
      absent = fmt::format("node '{}' is not known", name);
    } else if (!nodes_[*number].up) {
      absent = fmt::format("node '{}' is down", name);
    }
  }
  if (enough >= static_cast<std::size_t>(needs.nodes)) return true;
  if (!absent.empty()) return why_not(absent);
  std::string kind = needs.gpu_model.empty() ? "GPU" : needs.gpu_model;
  if (needs.gpu_memory.count > 0) kind += fmt::format(" with {}", format_bytes(needs.gpu_memory));
  return why_not(fmt::format("it needs {} with {} × {}, and {} of those that are up {} that",
                             needs.nodes == 1 ? "a node" : fmt::format("{} nodes", needs.nodes), needs.gpus, kind,
                             enough, enough == 1 ? "has" : "have"));
}

}  // namespace assay
