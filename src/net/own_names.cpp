#include "net/own_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

namespace assay {
namespace {

void add_once(std::vector<std::string>& names, std::string name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

std::string full_name_of(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  return found->ai_canonname ? found->ai_canonname : "";
}

/// Empty for what is no address, or one that others cannot use.
std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address && address->sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return ::inet_ntop(AF_INET, &four, text.data(), text.size()) ? text.data() : "";
  }
  if (address && address->sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&six)) return "";
    return ::inet_ntop(AF_INET6, &six, text.data(), text.size()) ? text.data() : "";
  }
  return "";
}

}  // namespace

std::vector<std::string> names_of_this_machine() {
  std::vector<std::string> names;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) {
    add_once(names, host.data());
    add_once(names, full_name_of(host.data()));
  }
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return names;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(found, &::freeifaddrs);
  for (const ifaddrs* one = found; one; one = one->ifa_next) add_once(names, text_of(one->ifa_addr));
  return names;
}

}  // namespace assay
