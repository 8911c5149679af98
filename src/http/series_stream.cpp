#include "http/series_stream.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/byte_stream.h"
#include "http/series_answer.h"
#include "net/http_message.h"
#include "store/bucket_answer.h"
#include "store/series_rules.h"
#include "store/series_store.h"

namespace assay {
namespace {

// A piece is sent when it has become so long.
constexpr std::size_t kEnoughBytes = std::size_t{128} << 10;
constexpr std::size_t kMostProblems = 100;
// Then others have their turn, also where nothing was found yet.
constexpr int kReadsAtOnce = 64;
// However narrow the buckets: in less there is little to be found.
constexpr std::int64_t kShortestStretch = kHourNs;
// Nothing has this name: what is asked about it is answered with the plan alone.
constexpr const char* kNoMetric = "\x01";

/// A series, and how many buckets it may have at most.
struct Member {
  SeriesInfo series;
  std::size_t buckets = 0;
};

/// Series that are read together: those of the members that fit the selector.
struct SeriesGroup {
  SeriesSelector selector;
  std::vector<SeriesId> members;  ///< in order
  bool at_once = true;            ///< over the whole time
};

std::string_view label_of(const Member& member, const std::string& label) {
  const auto found = member.series.key.labels.find(label);
  return found == member.series.key.labels.end() ? std::string_view() : std::string_view(found->second);
}

/// The label by which most of the members differ; none where all are alike.
std::optional<std::string> telling_label(const std::vector<Member>& members) {
  std::map<std::string, std::set<std::string_view>> values;
  for (const auto& member : members) {
    for (const auto& [label, value] : member.series.key.labels) values[label];
  }
  std::optional<std::string> best;
  std::size_t most = 1;
  for (auto& [label, distinct] : values) {
    for (const auto& member : members) distinct.insert(label_of(member, label));
    if (distinct.size() <= most) continue;
    most = distinct.size();
    best = label;
  }
  return best;
}

/// Splits what fits a selector by labels, until each part has at most `most` buckets or is a single series.
void split(const SeriesSelector& selector, std::vector<Member> members, std::size_t most,
           std::deque<SeriesGroup>& groups) {
  std::size_t buckets = 0;
  for (const auto& member : members) buckets += std::min(member.buckets, most + 1);
  const auto label = buckets > most ? telling_label(members) : std::nullopt;
  if (!label) {
    SeriesGroup group{.selector = selector, .at_once = buckets <= most || members.size() > 1};
    for (const auto& member : members) group.members.push_back(member.series.id);
    std::sort(group.members.begin(), group.members.end());
    groups.push_back(std::move(group));
    return;
  }
  std::map<std::string, std::vector<Member>> by_value;
  for (auto& member : members) {
    const std::string value(label_of(member, *label));
    by_value[value].push_back(std::move(member));
  }
  for (auto& [value, part] : by_value) {
    SeriesSelector narrower = selector;
    narrower.labels.push_back({.label = *label, .test = LabelMatch::Test::equals, .value = value});
    split(narrower, std::move(part), most, groups);
  }
}

std::deque<SeriesGroup> groups_of(const SeriesSelector& selector, std::vector<Member> all, std::size_t most) {
  std::map<std::string, std::vector<Member>> by_name;
  for (auto& member : all) {
    const std::string name = member.series.key.name;
    by_name[name].push_back(std::move(member));
  }
  std::deque<SeriesGroup> groups;
  for (auto& [name, members] : by_name) {
    split({.name = name, .labels = selector.labels}, std::move(members), most, groups);
  }
  return groups;
}

/// An answer that is read group by group, and long series stretch by stretch.
class SeriesAnswerSource final : public ByteSource {
 public:
  /// `plan`: an answer without rows.
  SeriesAnswerSource(const SeriesStore& store, const SeriesAnswer& plan, std::deque<SeriesGroup> groups,
                     std::int64_t stretch_ns)
      : store_(store),
        range_(plan.range),
        width_ns_(plan.width_ns),
        tier_(plan.tier),
        groups_(std::move(groups)),
        stretch_ns_(stretch_ns),
        at_ns_(plan.range.from_ns),
        writer_(plan) {}

  Result<std::optional<std::string>> next() override {
    for (int reads = 0; reads < kReadsAtOnce && writer_.text.size() < kEnoughBytes && !groups_.empty(); ++reads) {
      ASSAY_CHECK(read_some());
    }
    if (groups_.empty()) {
      if (finished_) return std::optional<std::string>();
      finished_ = true;
      writer_.finish({problems_.begin(), problems_.end()});
    }
    return std::optional(std::exchange(writer_.text, {}));
  }

 private:
  Result<void> read_some() {
    const SeriesGroup& group = groups_.front();
    const bool to_the_end = group.at_once || range_.to_ns - at_ns_ <= stretch_ns_;
    const TimeRange window{at_ns_, to_the_end ? range_.to_ns : floor_to(at_ns_ + stretch_ns_, width_ns_)};
    ASSAY_TRY(const auto answer, read(group.selector, window));
    for (const auto& row : answer.rows) {
      // Others may have come since the list was made.
      if (std::binary_search(group.members.begin(), group.members.end(), row.series.id)) {
        writer_.add(row.series, row.buckets);
      }
    }
    for (const auto& problem : answer.problems) {
      if (problems_.size() < kMostProblems) problems_.insert(problem);
    }
    at_ns_ = window.to_ns;
    if (to_the_end) {
      groups_.pop_front();
      at_ns_ = range_.from_ns;
    }
    return {};
  }

  /// Buckets as the plan has them, whatever has expired since it was made.
  Result<SeriesAnswer> read(const SeriesSelector& selector, TimeRange window) {
    const std::int64_t step = std::max((window.to_ns - window.from_ns) / 64 / width_ns_, std::int64_t{1}) * width_ns_;
    for (; window.from_ns < window.to_ns; window.from_ns = floor_to(window.from_ns + step, width_ns_)) {
      ASSAY_TRY(auto answer,
                store_.query({.selector = selector, .range = window, .width_ns = width_ns_, .max_points = 0}));
      if (answer.width_ns == width_ns_ && answer.tier == tier_) return answer;
    }
    return SeriesAnswer{};
  }

  const SeriesStore& store_;
  const TimeRange range_;
  const std::int64_t width_ns_;
  const SeriesTier tier_;
  std::deque<SeriesGroup> groups_;
  const std::int64_t stretch_ns_;  ///< of a long series, read at once
  std::int64_t at_ns_;             ///< how far the first group has been read
  SeriesAnswerWriter writer_;
  std::set<std::string> problems_;
  bool finished_ = false;
};

/// Takes those of the series that have points, and no more buckets for each than it has points.
Result<std::vector<Member>> counted(const SeriesStore& store, const SeriesQuery& query, const SeriesAnswer& plan,
                                    std::size_t per_series) {
  const std::int64_t all = std::min(plan.range.to_ns - plan.range.from_ns, kEndOfTime / 4);
  ASSAY_TRY(auto counts,
            store.query({.selector = query.selector, .range = plan.range, .width_ns = all, .max_points = 0}));
  std::vector<Member> members;
  for (auto& row : counts.rows) {
    std::size_t points = 0;
    for (const auto& bucket : row.buckets) points += bucket.count + bucket.nan_count;
    members.push_back({std::move(row.series), std::min(points, per_series)});
  }
  return members;
}

}  // namespace

Result<HttpResponse> answer_query(const SeriesStore& store, const SeriesQuery& query, SeriesStreamLimits limits) {
  ASSAY_TRY(auto series, store.list(query.selector));
  SeriesQuery about_nothing = query;
  about_nothing.selector = {.name = kNoMetric, .labels = {}};
  ASSAY_TRY(const auto plan, store.query(about_nothing));
  const auto per_series = static_cast<std::size_t>((plan.range.to_ns - plan.range.from_ns) / plan.width_ns + 1);
  const auto within = [&](std::size_t most) { return series.empty() || per_series <= most / series.size(); };
  if (within(limits.whole_buckets)) {
    ASSAY_TRY(const auto answer, store.query(query));
    return HttpResponse::json(200, answer_json(answer));
  }
  std::vector<Member> members;
  const std::size_t most = store.limits().max_answer_points;
  if (within(most)) {
    for (auto& one : series) members.push_back({std::move(one), per_series});
  } else {
    ASSAY_TRY(members, counted(store, query, plan, per_series));
    std::size_t buckets = 0;
    for (const auto& member : members) buckets += member.buckets;
    if (buckets > most) return answer_too_large("buckets", most);
  }
  const auto piece = static_cast<std::int64_t>(limits.piece_buckets);
  const std::int64_t stretch = per_series <= limits.piece_buckets
                                   ? kEndOfTime
                                   : std::max(ceil_to(kShortestStretch, plan.width_ns), piece * plan.width_ns);
  return HttpResponse::pulled(
      std::make_shared<SeriesAnswerSource>(
          store, plan, groups_of(query.selector, std::move(members), limits.piece_buckets), stretch),
      "application/json");
}

}  // namespace assay
