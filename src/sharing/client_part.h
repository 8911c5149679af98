#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "loadgen/dispatcher.h"
#include "sharing/clock_alignment.h"
#include "sharing/load_frame.h"

namespace assay {

/// The token times of one request.
struct TokensOfRequest {
  std::uint64_t id = 0;  ///< within the client
  std::vector<TokenLog::Gap> gaps;
  bool operator==(const TokensOfRequest&) const = default;
};

/// What one client did of a load: every record, as exact as if there had been no other client.
struct ClientPart {
  std::uint32_t index = 0;
  std::string host;
  std::vector<QueryRecord> records;  ///< by id
  std::vector<TokensOfRequest> tokens;
  std::vector<std::pair<std::uint64_t, std::string>> texts;  ///< by id, in any order
  std::uint64_t faults = 0;
  LoadEnding ending;       ///< start means nothing to others
  json::object facts;      ///< of its target
  ClockAlignment clock;    ///< against the first client's
  std::string lost;        ///< why it did not hand in its part; empty: it did. Then nothing above but index and host
  std::uint64_t sent = 0;  ///< requests that it had said to have sent, before it was lost
};
std::string name_of_client(std::uint32_t index, std::string_view host);  ///< "client 1 on gpu02"

/// What a recorder holds after its load.
ClientPart part_of(const QueryRecorder& recorder, const LoadEnding& ending, json::object facts);

/// Hands a part over as frames of bounded size, `done` the last. Stops at an error of `send` and gives it.
Result<void> send_part(const ClientPart& part,
                       const std::function<Result<void>(FrameType type, std::string_view payload)>& send);

/// Puts a part together from such frames. One at a time, in any order but for `done`.
class PartReader {
 public:
  /// True: that was the last. Errors, of kind `bad_file`: what no client of ours sends.
  Result<bool> take(const LoadFrame& frame);
  ClientPart& part() { return part_; }

 private:
  Result<void> take_records(std::string_view bytes);
  Result<void> take_tokens(std::string_view bytes);
  Result<void> take_texts(std::string_view bytes);
  Result<void> take_done(std::string_view text);

  ClientPart part_;
  std::string facts_;
};

}  // namespace assay
