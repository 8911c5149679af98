#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// `sim001`: the name of a node, counted from 0 here and from 1 there, with as many digits as the last one has.
std::string simulated_node_name(std::string_view prefix, std::size_t node, std::size_t nodes);

/// The key of a simulated node: the same whenever the same token is used, so that a fleet that is started again may
/// join under the names that it had.
std::string simulated_node_key(std::string_view join_secret, std::string_view node);

}  // namespace assay
