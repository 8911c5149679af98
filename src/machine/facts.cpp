#include "machine/facts.h"

#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <charconv>

#include "base/text.h"

namespace assay {
namespace {

/// Calls `take(key, value)` for each "key<separator>value" line, both trimmed, until it returns false.
template <typename Take>
void for_each_pair(std::string_view text, char separator, Take take) {
  for (const auto line : split(text, '\n')) {
    const auto at = line.find(separator);
    if (at == std::string_view::npos) continue;
    if (!take(trim(line.substr(0, at)), trim(line.substr(at + 1)))) return;
  }
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

std::optional<unsigned> hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  unsigned number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string arm_model(std::string_view implementer_text, std::string_view part_text) {
  struct Part {
    unsigned implementer;
    unsigned part;
    const char* name;
  };
  // The processors that hold GPUs in servers; others are shown by their numbers.
  static constexpr std::array kParts = {
      Part{0x41, 0xd0c, "ARM Neoverse-N1"},   Part{0x41, 0xd40, "ARM Neoverse-V1"},
      Part{0x41, 0xd49, "ARM Neoverse-N2"},   Part{0x41, 0xd4f, "ARM Neoverse-V2"},
      Part{0x41, 0xd83, "ARM Neoverse-V3AE"}, Part{0x41, 0xd84, "ARM Neoverse-V3"},
      Part{0x41, 0xd42, "ARM Cortex-A78AE"},  Part{0xc0, 0xac3, "Ampere-1"},
      Part{0xc0, 0xac4, "Ampere-1a"},         Part{0x48, 0xd01, "HiSilicon TSV110"},
      Part{0x46, 0x001, "Fujitsu A64FX"},
  };
  const auto implementer = hexadecimal(implementer_text);
  const auto part = hexadecimal(part_text);
  if (!implementer || !part) return {};
  for (const auto& known : kParts) {
    if (known.implementer == *implementer && known.part == *part) return known.name;
  }
  return fmt::format("ARM implementer {:#x} part {:#x}", *implementer, *part);
}

}  // namespace

std::string os_name_from(std::string_view os_release) {
  std::string pretty, name, version;
  for_each_pair(os_release, '=', [&](std::string_view key, std::string_view value) {
    if (key == "PRETTY_NAME") pretty = unquoted(value);
    if (key == "NAME") name = unquoted(value);
    if (key == "VERSION_ID") version = unquoted(value);
    return true;
  });
  if (!pretty.empty() || name.empty()) return pretty;
  return version.empty() ? name : name + " " + version;
}

std::string cpu_model_from(std::string_view cpuinfo) {
  std::string name, implementer, part;
  for_each_pair(cpuinfo, ':', [&](std::string_view key, std::string_view value) {
    // "Model" is what Raspberry-like boards and "cpu" what POWER print instead.
    if (key == "model name" || (key == "cpu" && name.empty()) || (key == "Model" && name.empty())) name = value;
    if (key == "CPU implementer") implementer = value;
    if (key == "CPU part") part = value;
    return key != "model name";
  });
  return name.empty() ? arm_model(implementer, part) : name;
}

MemoryFacts memory_from(std::string_view meminfo) {
  MemoryFacts facts;
  for_each_pair(meminfo, ':', [&](std::string_view key, std::string_view value) {
    if (!value.ends_with("kB")) return true;
    auto bytes = whole_number(trim(value.substr(0, value.size() - 2)));
    if (bytes) *bytes *= 1024;
    if (key == "MemTotal") facts.total = bytes;
    if (key == "MemAvailable") facts.available = bytes;
    if (key == "SwapTotal") facts.swap_total = bytes;
    if (key == "SwapFree") facts.swap_free = bytes;
    return true;
  });
  return facts;
}

std::optional<int> count_of_list(std::string_view list) {
  std::int64_t count = 0;
  for (const auto range : split(trim(list), ',')) {
    const auto dash = range.find('-');
    const auto first = whole_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1'000'000) return std::nullopt;
    count += *last - *first + 1;
  }
  if (count > 1'000'000) return std::nullopt;
  return static_cast<int>(count);
}

std::string_view status_value(std::string_view status, std::string_view key) {
  std::string_view found;
  for_each_pair(status, ':', [&](std::string_view name, std::string_view value) {
    if (name == key) found = value;
    return name != key;
  });
  return found;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int usable_cores(const MachineView& view) {
  if (const auto count = count_of_list(status_value(view.text("/proc/self/status"), "Cpus_allowed_list"))) {
    return *count;
  }
  // Sandboxes such as gVisor leave the line out.
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) return 0;
  return CPU_COUNT(&cores);
}

std::vector<std::string> governors(const MachineView& view) {
  std::vector<std::string> found;
  const auto cores = count_of_list(view.line("/sys/devices/system/cpu/possible")).value_or(0);
  for (int core = 0; core < cores; ++core) {
    auto governor = view.line(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", core));
    if (!governor.empty()) found.push_back(std::move(governor));
  }
  return found;
}

PythonFacts python_facts(const MachineView& view) {
  // The package's metadata, since importing torch takes seconds.
  static const std::string kScript =
      "import platform\n"
      "print('python', platform.python_version(), flush=True)\n"
      "from importlib.metadata import version\n"
      "print('torch', version('torch'))\n";
  const auto answer = view.run({"python3", "-c", kScript}, CommandOptions{.deadline = std::chrono::seconds(5)});
  PythonFacts facts;
  if (!answer) return facts;
  for (const auto line : split(answer->out, '\n')) {
    if (line.starts_with("python ")) facts.version = trim(line.substr(7));
    if (line.starts_with("torch ")) facts.torch = trim(line.substr(6));
  }
  return facts;
}

}  // namespace assay
