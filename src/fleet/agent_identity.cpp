#include "fleet/agent_identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/secrets.h"

namespace assay {

std::string simulated_node_name(std::string_view prefix, std::size_t node, std::size_t nodes) {
  const std::size_t digits = std::max<std::size_t>(3, fmt::formatted_size("{}", nodes));
  return fmt::format("{}{:0{}}", prefix, node + 1, digits);
}

std::string simulated_node_key(std::string_view join_secret, std::string_view node) {
  return sha256_hex(fmt::format("assay fleet-sim\n{}\n{}", join_secret, node));
}

}  // namespace assay
