#include "loadgen/client_account.h"

#include <algorithm>
#include <vector>

namespace assay {

ClientAccount account_of(std::span<const QueryRecord> records, Nanos warmup) {
  ClientAccount account;
  std::vector<std::int64_t> lateness;
  std::int64_t last_scheduled = 0;
  std::int64_t last_sent = 0;
  for (const QueryRecord& record : records) {
    if (!record.ended() || record.scheduled_ns < warmup.count()) continue;
    ++account.requests;
    account.ok += record.ok() ? 1 : 0;
    account.lost += record.outcome() == RequestOutcome::lost ? 1 : 0;
    last_scheduled = std::max(last_scheduled, record.scheduled_ns);
    last_sent = std::max(last_sent, record.sent_ns);
    lateness.push_back(record.lateness_ns());
  }
  account.lateness = summarise_latencies(lateness);
  const auto rate_until = [&](std::int64_t ns) {
    const double seconds = seconds_of(Nanos(ns) - warmup);
    return seconds > 0 ? static_cast<double>(account.requests) / seconds : 0;
  };
  account.scheduled_per_second = rate_until(last_scheduled);
  account.delivered_per_second = rate_until(last_sent);
  return account;
}

}  // namespace assay
