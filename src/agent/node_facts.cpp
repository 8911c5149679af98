#include "agent/node_facts.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "machine/facts.h"

namespace assay {

std::map<std::string, std::string> node_facts(const MachineView& view) {
  std::map<std::string, std::string> facts;
  const auto put = [&facts](const char* name, std::string value) {
    if (!value.empty()) facts[name] = std::move(value);
  };
  put("host", short_host_name());
  put("os", os_name_from(view.text("/etc/os-release")));
  put("kernel", view.line("/proc/sys/kernel/osrelease"));
  put("cpu", cpu_model_from(view.text("/proc/cpuinfo")));
  if (const auto cpus = count_of_list(view.line("/sys/devices/system/cpu/online"))) put("cpus", std::to_string(*cpus));
  if (const auto memory = memory_from(view.text("/proc/meminfo")).total) put("memory_bytes", std::to_string(*memory));
  return facts;
}

std::string address_towards(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    // Connecting such a socket sends nothing: it chooses a way.
    const FileDescriptor socket(::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* const plain = reinterpret_cast<sockaddr*>(&own);
    std::array<char, NI_MAXHOST> text{};
    if (!socket || ::connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
    if (::getsockname(socket.get(), plain, &size) != 0) continue;
    if (::getnameinfo(plain, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) return text.data();
  }
  return {};
}

std::string short_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return std::string(split(name.data(), '.').front());
}

}  // namespace assay
