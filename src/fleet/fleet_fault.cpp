#include "fleet/fleet_fault.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

using Kind = FleetFault::Kind;

struct KindName {
  Kind kind;
  std::string_view name;
  bool of_gpu;
};
constexpr std::array kKinds = {
    KindName{Kind::hot, "hot", true},
    KindName{Kind::slow, "slow", true},
    KindName{Kind::dead, "dead", true},
    KindName{Kind::leak, "leak", true},
    KindName{Kind::capped, "capped", true},
    KindName{Kind::idle, "idle", true},
    KindName{Kind::ecc, "ecc", true},
    KindName{Kind::remap, "remap", true},
    KindName{Kind::node_dead, "node-dead", false},
    KindName{Kind::flapping, "flapping", false},
    KindName{Kind::skew, "skew", false},
};

constexpr std::string_view kForm =
    "Write KIND:nodeN[:gpuM][@START[-END]], for example 'hot:node3:gpu0@30s' or 'flapping:node1@10s-2min'.";

const KindName& entry_of(Kind kind) {
  for (const auto& entry : kKinds) {
    if (entry.kind == kind) return entry;
  }
  return kKinds.front();
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  names.reserve(kKinds.size());
  for (const auto& entry : kKinds) names.emplace_back(entry.name);
  return names;
}

std::optional<std::size_t> whole_number(std::string_view digits) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

/// Reads the parts of one fault and collects what is wrong with them.
class FaultReader {
 public:
  FaultReader(std::size_t nodes, std::size_t gpus) : nodes_(nodes), gpus_(gpus) {}

  void read(std::string_view text) {
    const auto at = text.find('@');
    const auto place = split(text.substr(0, at), ':');
    read_kind(place[0]);
    if (place.size() > 3) problem("has too many parts");
    if (place.size() < 2) {
      problem("names no node");
    } else if (const auto node = number_behind("node", place[1], 1, nodes_)) {
      fault_.node = *node - 1;
    }
    if (place.size() > 2) read_gpu(place[2]);
    if (at != std::string_view::npos) read_times(text.substr(at + 1));
  }

  const FleetFault& fault() const { return fault_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void problem(std::string message) { problems_.push_back(std::move(message)); }

  void read_kind(std::string_view word) {
    for (const auto& entry : kKinds) {
      if (entry.name != word) continue;
      fault_.kind = entry.kind;
      kind_known_ = true;
      return;
    }
    const auto names = kind_names();
    std::string message = fmt::format("'{}' is no kind of fault.", word);
    if (const auto meant = nearest(word, names)) message += fmt::format(" Did you mean '{}'?", *meant);
    problem(fmt::format("{} The kinds are {}", message, join(names, ", ")));
  }

  /// `node3`, `gpu0`: the number, if it is one of `count` from `first` on.
  std::optional<std::size_t> number_behind(std::string_view word, std::string_view text, std::size_t first,
                                           std::size_t count) {
    const auto number = text.starts_with(word) ? whole_number(text.substr(word.size())) : std::nullopt;
    if (number && *number >= first && *number - first < count) return number;
    if (number) {
      problem(fmt::format("there is no '{}': they are {}{} to {}{}", text, word, first, word, first + count - 1));
      return std::nullopt;
    }
    std::string message = fmt::format("'{}' is no {}.", text, word);
    const auto digits = text.find_first_of("0123456789");
    const auto meant = digits == std::string_view::npos ? std::nullopt : whole_number(text.substr(digits));
    if (meant && *meant >= first && *meant - first < count) {
      message += fmt::format(" Did you mean '{}{}'?", word, *meant);
    } else {
      message += fmt::format(" Write '{}' and its number: '{}{}'", word, word, first);
    }
    problem(message);
    return std::nullopt;
  }

  void read_gpu(std::string_view text) {
    fault_.gpu = number_behind("gpu", text, 0, gpus_);
    if (kind_known_ && !is_of_gpu(fault_.kind)) {
      problem(fmt::format("'{}' befalls a whole node. Leave out ':{}'", name_of(fault_.kind), text));
    }
  }

  void read_times(std::string_view text) {
    const auto dash = text.find('-');
    if (const auto from = read_time(text.substr(0, dash))) fault_.from = *from;
    if (dash == std::string_view::npos) return;
    fault_.until = read_time(text.substr(dash + 1));
    if (fault_.until && *fault_.until <= fault_.from) {
      problem(fmt::format("'{}' ends before it begins. Write START-END, for example '10s-2min'", text));
    }
  }

  std::optional<Nanos> read_time(std::string_view text) {
    auto time = parse_duration(text);
    if (time) return *time;
    problem(fmt::format("'{}' {}", text, time.error().message));
    return std::nullopt;
  }

  std::size_t nodes_;
  std::size_t gpus_;
  FleetFault fault_;
  bool kind_known_ = false;
  std::vector<std::string> problems_;
};

Error mistakes(std::span<const std::string> problems) {
  return Error{.kind = ErrorKind::usage, .message = join(problems, "\n"), .hint = std::string(kForm)};
}

/// The mistakes of one fault, each as a line of its own.
std::vector<std::string> read_fault(std::string_view text, FaultReader& reader) {
  reader.read(text);
  std::vector<std::string> lines;
  for (const auto& problem : reader.problems())
    lines.push_back(printable(fmt::format("fault '{}': {}", text, problem)));
  return lines;
}

}  // namespace

std::string_view name_of(Kind kind) { return entry_of(kind).name; }
bool is_of_gpu(Kind kind) { return entry_of(kind).of_gpu; }

Result<FleetFault> parse_fleet_fault(std::string_view text, std::size_t nodes, std::size_t gpus) {
  FaultReader reader(nodes, gpus);
  if (const auto lines = read_fault(text, reader); !lines.empty()) return mistakes(lines);
  return reader.fault();
}

Result<std::vector<FleetFault>> parse_fleet_faults(std::span<const std::string> texts, std::size_t nodes,
                                                   std::size_t gpus) {
  std::vector<FleetFault> faults;
  std::vector<std::string> problems;
  for (const auto& text : texts) {
    FaultReader reader(nodes, gpus);
    const auto lines = read_fault(text, reader);
    problems.insert(problems.end(), lines.begin(), lines.end());
    faults.push_back(reader.fault());
  }
  if (!problems.empty()) return mistakes(problems);
  return faults;
}

}  // namespace assay
