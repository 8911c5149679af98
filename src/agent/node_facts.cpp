#include "agent/node_facts.h"

#include <unistd.h>

#include <array>

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

std::string short_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return std::string(split(name.data(), '.').front());
}

}  // namespace assay
