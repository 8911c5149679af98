#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

// What clients of one load tell each other beside records and figures. Pure.

/// What must be the same in all clients: otherwise they would not send one load.
struct LoadIdentity {
  std::string version;   ///< of assay and its sources
  std::string settings;  ///< a hash of them
  std::string files;     ///< a hash of the contents of those that the settings name
  bool operator==(const LoadIdentity&) const = default;
};

/// Who wants to join.
struct ClientHello {
  std::uint32_t index = 0;
  std::uint32_t count = 0;
  std::string host;
  LoadIdentity identity;
  bool operator==(const ClientHello&) const = default;
};

/// One load of a run: which one, and at which rate where a search decides it.
struct LoadOrder {
  enum class Purpose : std::uint8_t {
    settings,  ///< as the settings have it
    capacity,  ///< what the server completes when it always has enough to do
    probe,     ///< at `rate`
  };
  std::uint32_t number = 0;  ///< its random numbers and prompts are its own
  Purpose purpose = Purpose::settings;
  double rate = 0;
  bool operator==(const LoadOrder&) const = default;
};

json::object to_json(const ClientHello& hello);
json::object to_json(const LoadOrder& order);
json::object error_json(const Error& error);
// Errors of reading are of kind `bad_file`.
Result<ClientHello> client_hello_from(std::string_view text);
Result<LoadOrder> load_order_from(std::string_view text);
/// The other client's error, or one that says that it cannot be read.
Error error_from(std::string_view text);

/// A point of a monotonic clock as eight bytes.
std::string time_payload(SteadyTime time);
Result<SteadyTime> time_from(std::string_view payload);

}  // namespace assay
