#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loadgen/dispatcher.h"
#include "net/url.h"

namespace assay {

/// Which of several clients this process is, and where the first one listens.
struct ClientSeat {
  LoadShare share;
  std::string coordinator;  ///< host
  std::uint16_t port = 0;   ///< 0: of the coordinator itself, which takes any
};

/// What a variable of the environment says.
using VariableReader = std::function<std::optional<std::string>(const std::string& name)>;

/// By RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as whoever started the clients set them. Errors: `usage`, one of
/// them is missing or wrong; `bad_spec`, there are not as many as the settings say.
Result<ClientSeat> seat_of_environment(std::uint32_t clients, const VariableReader& variable);

/// The processes of the further clients where nobody else starts them: this program once more for each, on this
/// machine. They end with this object, and with this process.
class LocalClients {
 public:
  LocalClients() = default;
  LocalClients(const LocalClients&) = delete;
  LocalClients& operator=(const LocalClients&) = delete;
  ~LocalClients();

  /// Starts clients 1 … count − 1 with `arguments`, to join the coordinator at `port` of this machine.
  Result<void> start(const std::vector<std::string>& arguments, std::uint32_t count, std::uint16_t port);
  /// Error `crash`: one of them has ended.
  Result<void> all_there();

 private:
  std::vector<int> processes_;
};

}  // namespace assay
