#include "sharing/client_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace assay {
namespace {

static_assert(std::endian::native == std::endian::little, "records travel as they lie in memory");

constexpr std::size_t kRecordsTogether = kMostPayload / sizeof(QueryRecord);
constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 30;
constexpr std::size_t kMostFacts = std::size_t{16} << 20;
// Beyond ten years either way a difference of two times could overflow.
constexpr std::int64_t kLongest = 315'360'000'000'000'000;

template <typename T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values from the front of bytes that came from outside.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  template <typename T>
  bool take(T& value) {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return true;
  }
  bool take(std::size_t length, std::string& text) {
    if (rest_.size() < length) return false;
    text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }

 private:
  std::string_view rest_;
};

Error nonsense(std::string_view what) {
  return {.kind = ErrorKind::bad_file, .message = fmt::format("it handed in {} that cannot be", what)};
}

bool is_sound(const QueryRecord& record) {
  const auto sane = [](std::int64_t ns) { return ns > -kLongest && ns < kLongest; };
  return record.ended() && record.state < kEndedState + kRequestOutcomes &&
         static_cast<std::size_t>(record.error) < kRequestErrors && record.scheduled_ns >= 0 &&
         sane(record.scheduled_ns) && sane(record.sent_ns) && sane(record.first_token_ns) && sane(record.done_ns);
}

json::object usage_json(const ClientUsage& usage) {
  return {{"wall_ns", usage.wall.count()},
          {"cpu_ns", usage.cpu.count()},
          {"waited_share", finite(usage.waited_share)},
          {"stolen_share", finite(usage.stolen_share)},
          {"busy_share", finite(usage.busy_share)},
          {"involuntary_switches", usage.involuntary_switches},
          {"known", usage.known}};
}

ClientUsage usage_in(JsonFields& fields) {
  return {.wall = Nanos(fields.integer("wall_ns")),
          .cpu = Nanos(fields.integer("cpu_ns")),
          .waited_share = fields.number("waited_share"),
          .stolen_share = fields.number("stolen_share"),
          .busy_share = fields.number("busy_share"),
          .involuntary_switches = static_cast<std::uint64_t>(fields.integer("involuntary_switches")),
          .known = fields.boolean_or("known", false)};
}

json::object ending_json(const ClientPart& part) {
  const LoadEnding& ending = part.ending;
  json::object object = usage_json(ending.client);
  object["records"] = part.records.size();
  object["faults"] = part.faults;
  object["issuing_ns"] = ending.issuing.count();
  object["duration_ns"] = ending.duration.count();
  object["began_late_ns"] = ending.began_late.count();
  object["interrupted"] = ending.interrupted;
  object["out_of_memory"] = ending.out_of_memory;
  return object;
}

using PartSender = std::function<Result<void>(FrameType type, std::string_view payload)>;

/// Gathers small pieces into frames.
class FrameFiller {
 public:
  FrameFiller(FrameType type, const PartSender& send) : type_(type), send_(send) {}
  Result<void> add(const std::string& piece) {
    if (bytes_.size() + piece.size() > kMostPayload) ASSAY_CHECK(flush());
    bytes_ += piece;
    return {};
  }
  Result<void> flush() {
    if (bytes_.empty()) return {};
    auto sent = send_(type_, bytes_);
    bytes_.clear();
    return sent;
  }

 private:
  FrameType type_;
  const PartSender& send_;
  std::string bytes_;
};

Result<void> send_tokens(const ClientPart& part, const PartSender& send) {
  FrameFiller filler(FrameType::tokens, send);
  for (const auto& tokens : part.tokens) {
    std::string piece;
    put(piece, tokens.id);
    put(piece, static_cast<std::uint32_t>(tokens.gaps.size()));
    for (const auto& gap : tokens.gaps) {
      put(piece, gap.ns);
      put(piece, gap.tokens);
    }
    ASSAY_CHECK(filler.add(piece));
  }
  return filler.flush();
}

Result<void> send_texts(const ClientPart& part, const PartSender& send) {
  FrameFiller filler(FrameType::texts, send);
  for (const auto& [id, text] : part.texts) {
    // A long answer comes in pieces, which the other side puts together again.
    for (std::size_t at = 0; at == 0 || at < text.size(); at += kMostPayload / 2) {
      const std::string_view some = std::string_view(text).substr(at, kMostPayload / 2);
      std::string piece;
      put(piece, id);
      put(piece, static_cast<std::uint32_t>(some.size()));
      piece += some;
      ASSAY_CHECK(filler.add(piece));
    }
  }
  return filler.flush();
}

}  // namespace

std::string name_of_client(std::uint32_t index, std::string_view host) {
  return fmt::format("client {} on {}", index, host);
}

ClientPart part_of(const QueryRecorder& recorder, const LoadEnding& ending, json::object facts) {
  ClientPart part{.faults = recorder.faults(), .ending = ending, .facts = std::move(facts)};
  part.records.reserve(recorder.issued());
  for (std::uint64_t id = 0; id < recorder.issued(); ++id) part.records.push_back(recorder.record(id));
  recorder.tokens().for_each([&](std::uint64_t id, std::span<const TokenLog::Gap> gaps) {
    part.tokens.push_back({id, {gaps.begin(), gaps.end()}});
  });
  part.texts = recorder.texts();
  return part;
}

Result<void> send_part(const ClientPart& part, const PartSender& send) {
  for (std::size_t at = 0; at < part.records.size(); at += kRecordsTogether) {
    const std::size_t count = std::min(kRecordsTogether, part.records.size() - at);
    ASSAY_CHECK(send(FrameType::records, std::string_view(reinterpret_cast<const char*>(part.records.data() + at),
                                                          count * sizeof(QueryRecord))));
  }
  ASSAY_CHECK(send_tokens(part, send));
  ASSAY_CHECK(send_texts(part, send));
  const std::string facts = json::serialize(part.facts);
  for (std::size_t at = 0; at < facts.size(); at += kMostPayload) {
    ASSAY_CHECK(send(FrameType::facts, std::string_view(facts).substr(at, kMostPayload)));
  }
  return send(FrameType::done, json::serialize(ending_json(part)));
}

Result<void> PartReader::take_records(std::string_view bytes) {
  PayloadReader reader(bytes);
  while (!reader.empty()) {
    QueryRecord record;
    if (!reader.take(record) || !is_sound(record) || part_.records.size() >= kMostRecords) return nonsense("records");
    part_.records.push_back(record);
  }
  return {};
}

Result<void> PartReader::take_tokens(std::string_view bytes) {
  PayloadReader reader(bytes);
  while (!reader.empty()) {
    TokensOfRequest tokens;
    std::uint32_t count = 0;
    if (!reader.take(tokens.id) || !reader.take(count)) return nonsense("times of tokens");
    for (std::uint32_t i = 0; i < count; ++i) {
      TokenLog::Gap gap{};
      if (!reader.take(gap.ns) || !reader.take(gap.tokens) || gap.ns < 0 || gap.ns > kLongest) {
        return nonsense("times of tokens");
      }
      tokens.gaps.push_back(gap);
    }
    part_.tokens.push_back(std::move(tokens));
  }
  return {};
}

Result<void> PartReader::take_texts(std::string_view bytes) {
  PayloadReader reader(bytes);
  while (!reader.empty()) {
    std::uint64_t id = 0;
    std::uint32_t length = 0;
    std::string text;
    if (!reader.take(id) || !reader.take(length) || !reader.take(length, text)) return nonsense("answers");
    if (!part_.texts.empty() && part_.texts.back().first == id) {
      part_.texts.back().second += text;
    } else {
      part_.texts.emplace_back(id, std::move(text));
    }
  }
  return {};
}

Result<void> PartReader::take_done(std::string_view text) {
  json::error_code code;
  const json::value value = json::parse(text, code);
  if (code) return nonsense("an ending");
  JsonFields fields(value, "ending of a client");
  LoadEnding& ending = part_.ending;
  ending.client = usage_in(fields);
  ending.issuing = Nanos(fields.integer("issuing_ns"));
  ending.duration = Nanos(fields.integer("duration_ns"));
  ending.began_late = Nanos(fields.integer("began_late_ns"));
  ending.interrupted = fields.boolean_or("interrupted", false);
  ending.out_of_memory = fields.boolean_or("out_of_memory", false);
  ending.queries = part_.records.size();
  part_.faults = static_cast<std::uint64_t>(fields.integer("faults"));
  if (static_cast<std::uint64_t>(fields.integer("records")) != part_.records.size()) {
    fields.fail("records", "is not how many came");
  }
  ASSAY_CHECK(fields.finish());
  const std::uint64_t count = part_.records.size();
  const bool known =
      std::all_of(part_.tokens.begin(), part_.tokens.end(), [&](const auto& t) { return t.id < count; }) &&
      std::all_of(part_.texts.begin(), part_.texts.end(), [&](const auto& t) { return t.first < count; });
  if (!known) return nonsense("something of requests that it did not send");
  const json::value facts = facts_.empty() ? json::value(json::object()) : json::parse(facts_, code);
  if (code || !facts.is_object()) return nonsense("facts");
  part_.facts = facts.get_object();
  return {};
}

Result<bool> PartReader::take(const LoadFrame& frame) {
  switch (frame.type) {
    case FrameType::records: ASSAY_CHECK(take_records(frame.payload)); return false;
    case FrameType::tokens: ASSAY_CHECK(take_tokens(frame.payload)); return false;
    case FrameType::texts: ASSAY_CHECK(take_texts(frame.payload)); return false;
    case FrameType::facts:
      if (facts_.size() + frame.payload.size() > kMostFacts) return nonsense("facts");
      facts_ += frame.payload;
      return false;
    case FrameType::done: ASSAY_CHECK(take_done(frame.payload)); return true;
    default: return nonsense("a frame");
  }
}

}  // namespace assay
