#include "sharing/merged_load.h"

#include <algorithm>

namespace assay {
namespace {

/// Counts add up, also inside of objects and of lists of the same things; words are those of the first.
void add_facts(const json::value& from, json::value& into) {
  if (into.is_object() && from.is_object()) {
    for (const auto& [key, value] : from.get_object()) {
      auto [at, is_new] = into.get_object().emplace(key, value);
      if (!is_new) add_facts(value, at->value());
    }
  } else if (into.is_array() && from.is_array() && into.get_array().size() == from.get_array().size()) {
    for (std::size_t i = 0; i < into.get_array().size(); ++i) add_facts(from.get_array()[i], into.get_array()[i]);
  } else if (into.is_number() && from.is_number()) {
    if (into.is_double() || from.is_double()) {
      into = into.to_number<double>() + from.to_number<double>();
    } else {
      into = into.to_number<std::int64_t>() + from.to_number<std::int64_t>();
    }
  }
}

ClientAccount account_of_part(const LoadPlan& plan, const ClientPart& part) {
  ClientAccount account = account_of(part.records, plan.warmup);
  account.name = name_of_client(part.index, part.host);
  account.usage = part.ending.client;
  account.began_late = part.ending.began_late;
  account.clock_offset = part.clock.offset;
  account.clock_bound = part.clock.bound;
  account.lost_reason = part.lost;
  return account;
}

void add_ending(const ClientPart& part, LoadEnding& sum) {
  sum.issuing = std::max(sum.issuing, part.ending.issuing);
  sum.duration = std::max(sum.duration, part.ending.duration);
  sum.queries += part.records.size();
  sum.interrupted |= part.ending.interrupted;
  sum.out_of_memory |= part.ending.out_of_memory;
  sum.client.wall = std::max(sum.client.wall, part.ending.client.wall);
  sum.client.cpu += part.ending.client.cpu;
  sum.client.waited_share = std::max(sum.client.waited_share, part.ending.client.waited_share);
  sum.client.stolen_share = std::max(sum.client.stolen_share, part.ending.client.stolen_share);
  sum.client.busy_share = std::max(sum.client.busy_share, part.ending.client.busy_share);
  sum.client.involuntary_switches += part.ending.client.involuntary_switches;
  sum.client.known &= part.ending.client.known;
}

/// Takes the first request of each, then the second of each: request j of client k is number j·n + k of the schedule.
std::vector<std::vector<std::uint64_t>> adopt_records(const std::vector<ClientPart>& parts, MergedLoad& merged) {
  std::vector<std::vector<std::uint64_t>> ids(parts.size());
  std::size_t most = 0;
  for (const auto& part : parts) most = std::max(most, part.records.size());
  for (std::size_t j = 0; j < most; ++j) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (j >= parts[k].records.size()) continue;
      ids[k].push_back(merged.recorder->issued());
      if (!merged.recorder->adopt(parts[k].records[j])) {
        merged.ending.out_of_memory = true;
        return ids;
      }
    }
  }
  return ids;
}

}  // namespace

MergedLoad merge_parts(const LoadPlan& plan, std::vector<ClientPart> parts, const LostRequests& lost_requests) {
  MergedLoad merged;
  std::uint64_t expected = 0;
  for (auto& part : parts) {
    if (!part.lost.empty()) part.records = lost_requests({part.index, static_cast<std::uint32_t>(parts.size())});
    expected += part.records.size();
  }
  merged.recorder = std::make_unique<QueryRecorder>(QueryRecorderOptions{.expected = expected});
  merged.ending.start = parts.front().ending.start;
  merged.ending.client.known = true;
  json::value facts = parts.front().facts;
  for (const auto& part : parts) {
    merged.ending.clients.push_back(account_of_part(plan, part));
    add_ending(part, merged.ending);
    if (&part != &parts.front()) add_facts(part.facts, facts);
    merged.recorder->adopt_faults(part.faults);
  }
  merged.facts = std::move(facts.as_object());
  const auto ids = adopt_records(parts, merged);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    for (const auto& tokens : parts[k].tokens) {
      if (tokens.id < ids[k].size()) merged.recorder->adopt_tokens(ids[k][tokens.id], tokens.gaps);
    }
    for (auto& [id, text] : parts[k].texts) {
      if (id < ids[k].size()) merged.recorder->adopt_text(ids[k][id], std::move(text));
    }
  }
  merged.ending.lost = merged.recorder->close();
  for (const auto& client : merged.ending.clients) merged.ending.lost += client.lost;
  return merged;
}

}  // namespace assay
