#include "scheduler/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "model/gpu_name.h"

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

/// What takes so long on a node of speed 1.
Nanos length_on(const Places::Node& node, Nanos at_most) {
  return Nanos(static_cast<std::int64_t>(static_cast<double>(at_most.count()) / node.offer.speed));
}

/// Of a node that is reserved or has a maintenance.
WallTime begin_of_restriction(const Places::Node& node) {
  const WallTime maintenance = node.offer.maintenance ? node.offer.maintenance->first : WallTime::max();
  return std::min(node.reserved.value_or(WallTime::max()), maintenance);
}

std::vector<std::string> uuids_of(const NodeOffer& offer, std::uint64_t mask) {
  std::vector<std::string> uuids;
  for (std::size_t i = 0; i < offer.gpus.size(); ++i) {
    if (mask & bit(i)) uuids.push_back(offer.gpus[i].uuid);
  }
  return uuids;
}

}  // namespace

bool Places::Node::cpus_free() const {
  return std::none_of(tenants.begin(), tenants.end(), [](const Tenant& tenant) { return tenant.cpus || tenant.alone; });
}

void Places::count_node(const Node& node, int by) {
  const auto change = [&](std::size_t& count, std::size_t amount) { count = by > 0 ? count + amount : count - amount; };
  change(kinds_[node.kind].up, 1);
  change(kinds_[node.kind].taking, node.takes_jobs() ? 1 : 0);
  change(gpus_up_, node.offer.gpus.size());
}

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
    count_node(node, -1);
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
  count_node(node, 1);
  for (const std::string& data : offer.holds) holders_[data].insert(number);
  list(number);
  return number;
}

std::vector<JobNumber> Places::take_down(NodeNumber number) {
  Node& node = nodes_[number];
  std::vector<JobNumber> jobs;
  if (!node.up) return jobs;
  unlist(number);
  count_node(node, -1);
  node.up = false;
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
  if (!node.takes_jobs()) return;
  Kind& kind = kinds_[node.kind];
  if (node.reserved || node.offer.maintenance) {
    kind.restricted.emplace(begin_of_restriction(node), number);
    if (!node.reserved) kind.maintained.insert(number);
    return;
  }
  kind.by_free[static_cast<std::size_t>(std::popcount(node.free))].insert(number);
  if (node.tenants.empty()) kind.idle.insert(number);
  if (node.cpus_free()) kind.cpus_free.insert(number);
}

void Places::unlist(NodeNumber number) {
  const Node& node = nodes_[number];
  if (!node.up) return;
  Kind& kind = kinds_[node.kind];
  if (node.reserved || node.offer.maintenance) kind.restricted.erase({begin_of_restriction(node), number});
  kind.maintained.erase(number);
  kind.by_free[static_cast<std::size_t>(std::popcount(node.free))].erase(number);
  kind.idle.erase(number);
  kind.cpus_free.erase(number);
}

std::vector<KindFit> Places::fits_of(const JobNeeds& needs) const {
  std::vector<KindFit> fits;
  for (std::uint32_t number = 0; number < kinds_.size(); ++number) {
    const Kind& kind = kinds_[number];
    KindFit fit{.kind = number};
    for (std::size_t i = 0; i < kind.gpus.size(); ++i) {
      const GpuOffer& gpu = kind.gpus[i];
      if (!is_gpu_named(gpu.model, needs.gpu_model)) continue;
      if (gpu.memory >= needs.gpu_memory) fit.gpus |= bit(i);
    }
    const bool particular = !needs.gpu_model.empty() || needs.gpu_memory.count > 0;
    if (std::popcount(fit.gpus) < std::max(needs.gpus, particular ? 1 : 0)) continue;
    fit.all = fit.gpus == all_gpus(kind.gpus.size()) && !needs.linked;
    fits.push_back(fit);
  }
  const auto slowness = [&](const KindFit& fit) {
    int most = 0;
    for (const auto& slower : needs.slower) {
      const auto is_slower = [&](const GpuOffer& gpu) { return gpu.model == slower.first; };
      const auto& gpus = kinds_[fit.kind].gpus;
      if (std::any_of(gpus.begin(), gpus.end(), is_slower)) most = std::max(most, slower.second);
    }
    return most;
  };
  // GPUs are left to those who need them.
  const auto idle_gpus = [&](const KindFit& fit) { return needs.cpus ? kinds_[fit.kind].gpus.size() : 0; };
  const auto smallest = [&](const KindFit& fit) {
    Bytes memory{};
    for (const GpuOffer& gpu : kinds_[fit.kind].gpus) memory = std::max(memory, gpu.memory);
    return memory;
  };
  std::stable_sort(fits.begin(), fits.end(), [&](const KindFit& a, const KindFit& b) {
    if (idle_gpus(a) != idle_gpus(b)) return idle_gpus(a) < idle_gpus(b);
    if (slowness(a) != slowness(b)) return slowness(a) < slowness(b);
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
  if (!needs.these.empty()) return mask_of(node.offer, needs.these);
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
  const Room now{.free = node.free, .idle = node.tenants.empty(), .cpus_free = needs.cpus && node.cpus_free()};
  return node.takes_jobs() && would_have_room(node, now, needs, fit);
}

bool Places::would_have_room(const Node& node, const Room& room, const JobNeeds& needs, const KindFit& fit) const {
  if (needs.alone()) return room.idle;
  if (needs.cpus) return room.cpus_free;
  if (!needs.these.empty()) {
    const std::uint64_t wanted = mask_of(node.offer, needs.these);
    return std::popcount(wanted) == needs.gpus && (wanted & ~room.free) == 0;
  }
  if (std::popcount(room.free & fit.gpus) < needs.gpus) return false;
  return !needs.linked || choose_gpus(node, needs, room.free & fit.gpus) != 0;
}

std::optional<WallTime> Places::reserved_from(const Node& node, const JobNeeds& needs) {
  return needs.cpus && !node.cpus_reserved ? std::nullopt : node.reserved;
}

std::uint64_t Places::mask_on(NodeNumber number, const std::vector<std::string>& uuids) const {
  return mask_of(nodes_[number].offer, uuids);
}

bool Places::open_for(NodeNumber number, const JobNeeds& needs, const PlaceWish& wish) const {
  const auto reserved = reserved_from(nodes_[number], needs);
  if (reserved && wish.now + length_on(nodes_[number], wish.at_most) > *reserved) return false;
  return ends_in_time(number, wish.now, wish.at_most);
}

bool Places::ends_in_time(NodeNumber number, WallTime start, Nanos at_most) const {
  const auto& maintenance = nodes_[number].offer.maintenance;
  if (!maintenance || start >= maintenance->second) return true;
  return start + length_on(nodes_[number], at_most) <= maintenance->first;
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
  node.tenants.push_back(
      {.job = job, .gpus = gpus, .alone = needs.alone(), .cpus = needs.cpus, .expected_end = expected_end});
  list(number);
  return {.node = node.offer.name, .gpus = uuids_of(node.offer, gpus)};
}

bool Places::occupy_named(NodeNumber number, JobNumber job, const NodeShare& share, const JobNeeds& needs,
                          WallTime expected_end) {
  Node& node = nodes_[number];
  const bool alone = needs.alone();
  const std::uint64_t gpus = alone ? all_gpus(node.offer.gpus.size()) : mask_of(node.offer, share.gpus);
  const bool known = alone || static_cast<std::size_t>(std::popcount(gpus)) == share.gpus.size();
  if (!node.up || !known || (gpus & ~node.free) != 0 || (alone && !node.tenants.empty())) return false;
  if (needs.cpus && !node.cpus_free()) return false;
  unlist(number);
  node.free &= ~gpus;
  node.tenants.push_back({.job = job, .gpus = gpus, .alone = alone, .cpus = needs.cpus, .expected_end = expected_end});
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

void Places::expect_end(NodeNumber number, JobNumber job, WallTime end) {
  for (Tenant& tenant : nodes_[number].tenants) {
    if (tenant.job == job) tenant.expected_end = end;
  }
}

void Places::reserve(NodeNumber number, WallTime until, bool cpus) {
  unlist(number);
  nodes_[number].reserved = until;
  nodes_[number].cpus_reserved = cpus;
  list(number);
}

void Places::open_again(NodeNumber number) {
  unlist(number);
  nodes_[number].reserved.reset();
  nodes_[number].cpus_reserved = false;
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

namespace {

/// What a job needs of each node, for people: "2 × H200 with 80 GiB".
std::string gpus_in_words(const JobNeeds& needs) {
  if (needs.cpus || needs.gpus == 0) return "free CPUs";
  std::string kind = needs.gpu_model.empty() ? "GPU" : needs.gpu_model;
  if (needs.gpu_memory.count > 0) kind += fmt::format(" with {}", format_bytes(needs.gpu_memory));
  return fmt::format("{} × {}", needs.gpus, kind);
}

}  // namespace

bool Places::could_ever_fit(const JobNeeds& needs, std::span<const KindFit> fits, std::string* reason) const {
  const auto why_not = [&](std::string text) {
    if (reason != nullptr) *reason = std::move(text);
    return false;
  };
  std::size_t enough = 0;
  std::string absent;
  if (needs.on.empty()) {
    for (const KindFit& fit : fits) enough += kinds_[fit.kind].taking;
  }
  for (const std::string& name : needs.on) {
    const auto number = number_of(name);
    if (!number) {
      absent = fmt::format("node '{}' is not known", name);
    } else if (!nodes_[*number].up) {
      absent = fmt::format("node '{}' is down", name);
    } else if (!nodes_[*number].offer.closed.empty()) {
      absent = fmt::format("node '{}' {}", name, nodes_[*number].offer.closed);
    } else if (std::popcount(mask_of(nodes_[*number].offer, needs.these)) < static_cast<int>(needs.these.size())) {
      absent = fmt::format("node '{}' no longer has all of its GPUs", name);
    } else if (fit_for(*number, fits) != nullptr) {
      ++enough;
    }
  }
  if (enough >= static_cast<std::size_t>(needs.nodes)) return true;
  if (!absent.empty()) return why_not(absent);
  const auto takes = [](const Kind& kind) { return kind.taking > 0; };
  if (std::none_of(kinds_.begin(), kinds_.end(), takes)) return why_not("no node takes jobs now");
  const std::string many = needs.nodes == 1 ? "a node" : fmt::format("{} nodes", needs.nodes);
  return why_not(fmt::format("it needs {} with {}, and {} of those that take jobs now {} that", many,
                             gpus_in_words(needs), enough == 0 ? "none" : std::to_string(enough),
                             enough <= 1 ? "has" : "have"));
}

}  // namespace assay
