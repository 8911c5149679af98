// libFuzzer entry: whatever a server sends, the answer is the same however its bytes were cut; what is read of events
// and of JSON is what the readers of whole messages find.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "net/sse.h"
#include "target/openai/answer_reader.h"

namespace {

using namespace assay;

void demand(bool holds) {
  if (!holds) std::abort();
}

struct Outcome {
  AnswerReader::State state;
  RequestError error;
  std::uint32_t tokens;
  std::string text;
  bool operator==(const Outcome&) const = default;
};

Outcome read_answer(std::string_view bytes, std::size_t piece) {
  AnswerReader reader(true, true);
  reader.begin();
  auto state = AnswerReader::State::more;
  std::int64_t time = 1;
  while (!bytes.empty() && state == AnswerReader::State::more) {
    std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    state = reader.take(part, SteadyTime(Nanos(time++)));
    demand(state != AnswerReader::State::more || part.empty());
  }
  if (state == AnswerReader::State::more) state = reader.finish(SteadyTime(Nanos(time)));
  demand(state != AnswerReader::State::more);
  if (state == AnswerReader::State::failed) return {state, reader.error(), 0, {}};
  std::uint64_t tokens = 0;
  for (const auto& arrival : reader.token_times()) tokens += arrival.tokens;
  demand(reader.output_tokens() > 0 && (tokens == 0 || tokens == reader.output_tokens()));
  return {state, reader.error(), reader.output_tokens(), std::string(reader.text())};
}

std::vector<std::string> data_of_whole_events(std::string_view text) {
  SseParser parser;
  std::vector<std::string> data;
  while (!text.empty()) {
    const auto event = parser.next(text);
    if (event && *event) data.push_back((*event)->data);
  }
  return data;
}

std::vector<std::string> data_of_events(std::string_view text, std::size_t piece) {
  SseReader reader;
  std::vector<std::string> data;
  while (!text.empty()) {
    std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    while (reader.next(part) == SseReader::Event::data) data.emplace_back(reader.data());
  }
  return data;
}

void check_scan(std::string_view text) {
  const auto value = parse_json(text);
  if (!value || !value->is_object()) return;
  const auto part = scan_answer(text);
  demand(part.has_value());
  // A key may be written with escapes, which the scan takes as they are.
  if (text.find("\\u") != std::string_view::npos) return;
  const json::value* choices = value->get_object().if_contains("choices");
  demand(part->has_choices || !choices || !choices->is_array() || choices->get_array().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Outcome whole = read_answer(text, size + 1);
  demand(whole == read_answer(text, 1));
  demand(whole == read_answer(text, 7));
  const auto events = data_of_whole_events(text);
  demand(events == data_of_events(text, size + 1));
  demand(events == data_of_events(text, 1));
  check_scan(text);
  // Most bytes are no head: read them as what comes behind one, too.
  const std::string streamed = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + std::string(text);
  demand(read_answer(streamed, streamed.size()) == read_answer(streamed, 3));
  return 0;
}
