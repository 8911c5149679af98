#pragma once

#include <string>
#include <vector>

namespace assay {

/// What machines may call this one: its host name, that name in full as the resolver has it, and the addresses of its
/// interfaces but those that mean something on one link alone. May wait for the resolver.
std::vector<std::string> names_of_this_machine();

}  // namespace assay
