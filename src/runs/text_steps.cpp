#include "runs/text_steps.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace assay {
namespace {

/// Ranks whose counts are kept; a program that claims more is not counting ranks.
constexpr std::size_t kMostRanks = 4096;

}  // namespace

/// `batch 32` in every line is the size of a batch, not a place.
bool TextSteps::stands_still(const Count& count, const TextMetrics::Counter& counter) {
  return counter.of == 0 && count.counted && counter.at == count.raw;
}

void TextSteps::see(const TextMetrics::Line& line) {
  if (!line.epoch) return;
  if (counts_.size() >= kMostRanks && !counts_.contains(line.rank.value_or(0))) return;
  Count& count = counts_[line.rank.value_or(0)];
  if (!count.epoch) count.first_epoch = *line.epoch;
  count.new_epoch = count.new_epoch || count.epoch != line.epoch;
  count.epoch = line.epoch;
}

std::int64_t TextSteps::step_of(const TextMetrics::Line& line) {
  const int rank = counts_.size() < kMostRanks || counts_.contains(line.rank.value_or(0)) ? line.rank.value_or(0) : 0;
  Count& count = counts_[rank];
  std::int64_t step = 0;
  if (line.step && !(line.epoch && line.step->of)) {
    step = from_counter(count, *line.step, false);
  } else if (line.validation && count.step && !line.step) {
    step = *count.step;  // batches of a validation have their own count
  } else if (const auto& counter = line.step ? line.step : line.batch; counter && !stands_still(count, *counter)) {
    step = from_counter(count, *counter, true);
  } else {
    step = counted_on(count, line);
  }
  if (count.step != step) count.at_step.clear();
  count.step = step;
  for (const auto& metric : line.metrics) {
    if (std::find(count.at_step.begin(), count.at_step.end(), metric.name) == count.at_step.end())
      count.at_step.push_back(metric.name);
  }
  return step;
}

std::int64_t TextSteps::from_counter(Count& count, const TextMetrics::Counter& counter, bool within_epoch) {
  // A place in an epoch whose length is known needs no memory of the ones before.
  if (within_epoch && counter.of > 0 && count.epoch && *count.epoch >= count.first_epoch) {
    count.counted = true;
    return (*count.epoch - count.first_epoch) * counter.of + counter.at;
  }
  if (counter.at < count.raw && (count.new_epoch || within_epoch)) {
    count.offset = count.step.value_or(0) + (counter.at == 0 ? 1 : 0);
  }
  count.new_epoch = false;
  count.counted = true;
  count.raw = counter.at;
  return count.offset + counter.at;
}

json::object TextSteps::state() const {
  json::object state;
  const auto known = [](const std::optional<std::int64_t>& number) {
    return number ? json::value(*number) : json::value(nullptr);
  };
  for (const auto& [rank, count] : counts_) {
    state[std::to_string(rank)] = {{"step", known(count.step)},
                                   {"offset", count.offset},
                                   {"raw", count.raw},
                                   {"counted", count.counted},
                                   {"new_epoch", count.new_epoch},
                                   {"epoch", known(count.epoch)},
                                   {"first_epoch", count.first_epoch},
                                   {"at_step", json::value_from(count.at_step)}};
  }
  return state;
}

void TextSteps::restore(const json::object& state) {
  for (const auto& member : state) {
    JsonFields fields(member.value(), "text_steps");
    const auto known = [&](std::string_view key) -> std::optional<std::int64_t> {
      const auto* value = fields.find(key);
      return value && !value->is_null() ? std::optional(fields.integer(key)) : std::nullopt;
    };
    Count count{.step = known("step"),
                .offset = fields.integer_or("offset", 0),
                .raw = fields.integer_or("raw", 0),
                .counted = fields.boolean_or("counted", false),
                .new_epoch = fields.boolean_or("new_epoch", false),
                .epoch = known("epoch"),
                .first_epoch = fields.integer_or("first_epoch", 0)};
    for (auto& name : fields.texts_or_empty("at_step")) count.at_step.push_back(*names_.insert(std::move(name)).first);
    const std::string_view key = member.key();
    int rank = 0;
    const bool is_rank = std::from_chars(key.data(), key.data() + key.size(), rank).ec == std::errc{};
    if (is_rank && fields.finish()) counts_[rank] = std::move(count);
  }
}

/// Without a place in the text: a figure that came already begins a new step; others belong to the one before, as a
/// validation does.
std::int64_t TextSteps::counted_on(Count& count, const TextMetrics::Line& line) {
  const bool again = std::any_of(line.metrics.begin(), line.metrics.end(), [&](const auto& metric) {
    return std::find(count.at_step.begin(), count.at_step.end(), metric.name) != count.at_step.end();
  });
  // The epoch may stand in this line or in one of its own before it.
  const bool said = line.epoch || std::exchange(count.new_epoch, false);
  if (said && count.epoch && !count.counted) {
    if (!count.step || *count.epoch > *count.step || (*count.epoch == *count.step && !again)) return *count.epoch;
    count.counted = again;  // several lines an epoch: the epoch is no step
  }
  if (!count.step) return 1;
  return again ? *count.step + 1 : *count.step;
}

}  // namespace assay
