// A library with NVML's interface that answers from a script, for tests and demonstrations without a GPU. The script
// is the file that ASSAY_FAKE_NVML names; it is read again when it has changed, so that a test moves time itself.
//
//   driver = 570.124.06
//   gpu0.uuid = GPU-…            the GPUs are gpu0, gpu1, … as long as there is a uuid
//   gpu0.temperature = 45        what is not in the script is not supported
//   gpu0.power = error 999       a call that fails
//   gpu0.lost = 1                it has fallen off the bus
//   gpu0.mig1.uuid = MIG-…       an instance; its other values likewise
//   gpu0.process.1 = 4711 1048576
//   gpu0.p2p.gpu1 = 0            it has NVLink to gpu1; another number: why it has not
//   gpu0.gpm = 1                 has GPM; gpu0.gpm.5 = 42 is metric 5
//   xid.1 = 0 79                 GPU 0 reports XID 79, once for each name
//   init = error 9               nvmlInit fails
//   hang.nvmlDeviceGetTemperature = 30     seconds
//   crash.nvmlDeviceGetTemperature = 1
//   @5 gpu0.temperature = 90     from the fifth second on
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "telemetry/nvml/nvml_abi.h"

namespace {

using namespace assay::nvml;

/// What a device handle points to.
struct Node {
  std::string prefix;  ///< "gpu0", "gpu0.mig1"
  std::string gpu;     ///< "gpu0"
};

struct Timed {
  double from = 0;
  std::string value;
};

class Script {
 public:
  /// The value that is in force now; nothing if the script has none.
  std::optional<std::string> find(const std::string& key) {
    refresh();
    const auto lines = values_.find(key);
    if (lines == values_.end()) return std::nullopt;
    std::optional<std::string> value;
    const double now = seconds();
    for (const auto& line : lines->second) {
      if (line.from <= now) value = line.value;
    }
    return value;
  }
  std::vector<std::string> keys_below(const std::string& prefix) {
    refresh();
    std::vector<std::string> keys;
    for (auto it = values_.lower_bound(prefix); it != values_.end() && it->first.rfind(prefix, 0) == 0; ++it) {
      if (find(it->first)) keys.push_back(it->first);
    }
    return keys;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  void refresh() {
    const char* path = std::getenv("ASSAY_FAKE_NVML");
    struct stat status{};
    if (path == nullptr || ::stat(path, &status) != 0) return;
    if (status.st_ino == inode_ && status.st_mtim.tv_nsec == changed_ns_ && status.st_size == size_) return;
    inode_ = status.st_ino;
    changed_ns_ = status.st_mtim.tv_nsec;
    size_ = status.st_size;
    values_.clear();
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) read_line(line);
  }
  void read_line(std::string line) {
    if (line.empty() || line[0] == '#') return;
    Timed timed;
    if (line[0] == '@') {
      std::size_t used = 0;
      timed.from = std::stod(line.substr(1), &used);
      line.erase(0, used + 2);
    }
    const auto equals = line.find(" = ");
    if (equals == std::string::npos) return;
    timed.value = line.substr(equals + 3);
    values_[line.substr(0, equals)].push_back(std::move(timed));
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ino_t inode_ = 0;
  long changed_ns_ = -1;
  off_t size_ = -1;
  std::map<std::string, std::vector<Timed>> values_;
};

Script& script() {
  static Script instance;
  return instance;
}

std::map<std::string, Node>& nodes() {
  static std::map<std::string, Node> instance;
  return instance;
}

bool initialised = false;

Device handle_of(const std::string& prefix, const std::string& gpu) {
  return reinterpret_cast<Device>(&nodes().try_emplace(prefix, Node{prefix, gpu}).first->second);
}

/// Hangs, crashes or fails as the script wants.
Code enter(const char* function, Device device) {
  const std::string name = function;
  if (const auto hang = script().find("hang." + name)) ::usleep(static_cast<useconds_t>(std::stod(*hang) * 1e6));
  if (script().find("crash." + name)) std::abort();
  if (!initialised) return kUninitialized;
  if (device != nullptr && script().find(reinterpret_cast<Node*>(device)->gpu + ".lost").value_or("0") == "1") {
    return kGpuIsLost;
  }
  return kSuccess;
}

Code text_of(const char* function, Device device, const char* key, std::string& text) {
  if (const Code code = enter(function, device); code != kSuccess) return code;
  const auto value = script().find((device != nullptr ? reinterpret_cast<Node*>(device)->prefix + "." : "") + key);
  if (!value) return kNotSupported;
  if (value->rfind("error ", 0) == 0) return std::stoi(value->substr(6));
  text = *value;
  return kSuccess;
}

Code write_text(const char* function, Device device, const char* key, char* out, unsigned size) {
  std::string text;
  if (const Code code = text_of(function, device, key, text); code != kSuccess) return code;
  if (text.size() + 1 > size) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

template <typename Number>
Code write_number(const char* function, Device device, const char* key, Number* out) {
  std::string text;
  if (const Code code = text_of(function, device, key, text); code != kSuccess) return code;
  *out = static_cast<Number>(std::stod(text));
  return kSuccess;
}

struct FakeSample {
  Device device = nullptr;
  bool filled = false;
};

}  // namespace

extern "C" {

Code nvmlInit_v2() {
  if (const auto hang = script().find("hang.nvmlInit_v2")) ::usleep(static_cast<useconds_t>(std::stod(*hang) * 1e6));
  const auto problem = script().find("init");
  const Code code = problem ? std::stoi(problem->substr(6)) : kSuccess;
  initialised = code == kSuccess;
  return code;
}
Code nvmlShutdown() {
  initialised = false;
  return kSuccess;
}
const char* nvmlErrorString(Code code) { return code == kUnknown ? "Unknown Error" : "Some Error"; }
Code nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return write_text("nvmlSystemGetDriverVersion", nullptr, "driver", out, size);
}

Code nvmlDeviceGetCount_v2(unsigned* count) {
  if (const Code code = enter("nvmlDeviceGetCount_v2", nullptr); code != kSuccess) return code;
  *count = 0;
  while (script().find("gpu" + std::to_string(*count) + ".uuid")) ++*count;
  return kSuccess;
}
Code nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  const std::string prefix = "gpu" + std::to_string(index);
  if (!script().find(prefix + ".uuid")) return kInvalidArgument;
  *device = handle_of(prefix, prefix);
  return enter("nvmlDeviceGetHandleByIndex_v2", *device);
}

#define TEXT(function, key) \
  Code function(Device device, char* out, unsigned size) { return write_text(#function, device, key, out, size); }
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")

#define NUMBER(function, type, key) \
  Code function(Device device, type* out) { return write_number(#function, device, key, out); }
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "max_pcie_generation")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "max_pcie_width")
NUMBER(nvmlDeviceGetPersistenceMode, int, "persistence")
NUMBER(nvmlDeviceGetComputeMode, int, "compute_mode")
NUMBER(nvmlDeviceGetPowerUsage, unsigned, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power_limit")
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "reasons")
NUMBER(nvmlDeviceGetFanSpeed, unsigned, "fan")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_generation")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width")
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replays")
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy")
NUMBER(nvmlDeviceGetGpuInstanceId, unsigned, "gpu_instance")

Code nvmlDeviceGetTemperature(Device device, int, unsigned* out) {
  return write_number("nvmlDeviceGetTemperature", device, "temperature", out);
}
Code nvmlDeviceGetClockInfo(Device device, Clock clock, unsigned* out) {
  return write_number("nvmlDeviceGetClockInfo", device, clock == kClockSm ? "sm_clock" : "memory_clock", out);
}
Code nvmlDeviceGetMaxClockInfo(Device device, Clock clock, unsigned* out) {
  return write_number("nvmlDeviceGetMaxClockInfo", device, clock == kClockSm ? "max_sm_clock" : "max_memory_clock",
                      out);
}
Code nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  std::memset(out, 0, sizeof *out);
  return write_text("nvmlDeviceGetPciInfo_v3", device, "bus_id", out->bus_id, sizeof out->bus_id);
}
Code nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  const Code code = write_number("nvmlDeviceGetUtilizationRates", device, "util", &out->gpu);
  return code != kSuccess ? code : write_number("nvmlDeviceGetUtilizationRates", device, "memory_util", &out->memory);
}
Code nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  const Code code = write_number("nvmlDeviceGetMemoryInfo", device, "memory_used", &out->used);
  return code != kSuccess ? code : write_number("nvmlDeviceGetMemoryInfo", device, "memory_total", &out->total);
}
Code nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  if (out->version != kMemoryV2Version) return kArgumentVersionMismatch;
  const char* function = "nvmlDeviceGetMemoryInfo_v2";
  Code code = write_number(function, device, "memory_reserved", &out->reserved);
  if (code == kSuccess) code = write_number(function, device, "memory_used", &out->used);
  return code != kSuccess ? code : write_number(function, device, "memory_total", &out->total);
}
Code nvmlDeviceGetTotalEccErrors(Device device, MemoryError kind, EccCounter, unsigned long long* out) {
  return write_number("nvmlDeviceGetTotalEccErrors", device, kind == kCorrected ? "ecc_corrected" : "ecc_uncorrected",
                      out);
}
Code nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                               unsigned* failed) {
  std::string text;
  if (const Code code = text_of("nvmlDeviceGetRemappedRows", device, "remapped_rows", text); code != kSuccess) {
    return code;
  }
  std::istringstream(text) >> *corrected >> *uncorrected >> *pending >> *failed;
  return kSuccess;
}
Code nvmlDeviceGetRetiredPages(Device device, RetirementCause, unsigned* count, unsigned long long*) {
  const Code code = write_number("nvmlDeviceGetRetiredPages", device, "retired_pages", count);
  return code == kSuccess && *count > 0 ? kInsufficientSize : code;
}
Code nvmlDeviceGetPcieThroughput(Device device, PcieCounter counter, unsigned* out) {
  return write_number("nvmlDeviceGetPcieThroughput", device, counter == kPcieReceive ? "pcie_receive" : "pcie_transmit",
                      out);
}
Code nvmlDeviceGetNvLinkState(Device device, unsigned link, int* active) {
  return write_number("nvmlDeviceGetNvLinkState", device, ("link." + std::to_string(link)).c_str(), active);
}
Code nvmlDeviceGetP2PStatus(Device device, Device other, P2pKind, int* status) {
  const std::string& peer = reinterpret_cast<Node*>(other)->prefix;
  return write_number("nvmlDeviceGetP2PStatus", device, ("p2p." + peer).c_str(), status);
}
Code nvmlDeviceGetViolationStatus(Device device, PerfPolicy policy, ViolationTime* out) {
  return write_number("nvmlDeviceGetViolationStatus", device,
                      policy == kPolicyPower ? "power_violation" : "thermal_violation", &out->violation_ns);
}
Code nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  if (const Code code = enter("nvmlDeviceGetFieldValues", device); code != kSuccess) return code;
  for (int i = 0; i < count; ++i) {
    values[i].type = kUnsignedLongLong;
    values[i].code =
        write_number("nvmlDeviceGetFieldValues", device, ("field." + std::to_string(values[i].field)).c_str(),
                     &values[i].value.as_unsigned_long_long);
  }
  return kSuccess;
}
Code nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* infos) {
  if (const Code code = enter("nvmlDeviceGetComputeRunningProcesses_v3", device); code != kSuccess) return code;
  const auto keys = script().keys_below(reinterpret_cast<Node*>(device)->prefix + ".process.");
  const unsigned room = *count;
  *count = static_cast<unsigned>(keys.size());
  if (keys.size() > room) return kInsufficientSize;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::istringstream(*script().find(keys[i])) >> infos[i].pid >> infos[i].used_memory;
  }
  return kSuccess;
}

Code nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return write_number("nvmlDeviceGetMigMode", device, "mig", current);
}
Code nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  *count = 7;
  return enter("nvmlDeviceGetMaxMigDeviceCount", device);
}
Code nvmlDeviceGetMigDeviceHandleByIndex(Device parent, unsigned index, Device* device) {
  const auto* gpu = reinterpret_cast<Node*>(parent);
  const std::string prefix = gpu->prefix + ".mig" + std::to_string(index);
  if (!script().find(prefix + ".uuid")) return kNotFound;
  *device = handle_of(prefix, gpu->prefix);
  return kSuccess;
}

Code nvmlEventSetCreate(EventSet* set) {
  *set = reinterpret_cast<EventSet>(new std::set<std::string>());
  return kSuccess;
}
Code nvmlEventSetFree(EventSet set) {
  delete reinterpret_cast<std::set<std::string>*>(set);
  return kSuccess;
}
Code nvmlDeviceRegisterEvents(Device device, unsigned long long, EventSet) {
  return enter("nvmlDeviceRegisterEvents", device);
}
Code nvmlEventSetWait_v2(EventSet, EventData* data, unsigned) {
  // A new set does not bring old XIDs back.
  static std::set<std::string> delivered;
  for (const auto& key : script().keys_below("xid.")) {
    if (!delivered.insert(key).second) continue;
    std::string gpu;
    std::istringstream(*script().find(key)) >> gpu >> data->data;
    data->device = handle_of("gpu" + gpu, "gpu" + gpu);
    data->type = kEventXid;
    data->gpu_instance = kNoInstance;
    data->compute_instance = kNoInstance;
    return kSuccess;
  }
  return kTimeout;
}

Code nvmlGpmQueryDeviceSupport(Device device, GpmSupport* support) {
  if (support->version != kGpmSupportVersion) return kArgumentVersionMismatch;
  return write_number("nvmlGpmQueryDeviceSupport", device, "gpm", &support->is_supported);
}
Code nvmlGpmSampleAlloc(GpmSample* sample) {
  *sample = reinterpret_cast<GpmSample>(new FakeSample());
  return kSuccess;
}
Code nvmlGpmSampleFree(GpmSample sample) {
  delete reinterpret_cast<FakeSample*>(sample);
  return kSuccess;
}
Code nvmlGpmSampleGet(Device device, GpmSample sample) {
  *reinterpret_cast<FakeSample*>(sample) = {device, true};
  return enter("nvmlGpmSampleGet", device);
}
Code nvmlGpmMigSampleGet(Device device, unsigned, GpmSample sample) { return nvmlGpmSampleGet(device, sample); }
Code nvmlGpmMetricsGet(GpmMetricsGet* request) {
  const auto* first = reinterpret_cast<FakeSample*>(request->first);
  const auto* second = reinterpret_cast<FakeSample*>(request->second);
  if (request->version != kGpmMetricsGetVersion || first == second || !first->filled || !second->filled) {
    return kInvalidArgument;
  }
  for (unsigned i = 0; i < request->count; ++i) {
    auto& metric = request->metrics[i];
    metric.code =
        write_number("nvmlGpmMetricsGet", second->device, ("gpm." + std::to_string(metric.id)).c_str(), &metric.value);
  }
  return kSuccess;
}

}  // extern "C"
