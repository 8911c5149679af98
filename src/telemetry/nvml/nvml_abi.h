#pragma once

#include <cstddef>
#include <cstdint>

// The part of the NVML C interface that the sensor uses, declared here since the library is loaded at run time and
// its header is not packaged. Layouts and numbers are NVIDIA's published interface; the static assertions pin what a
// compiler could get wrong.

namespace assay::nvml {

using Device = struct DeviceTag*;
using EventSet = struct EventSetTag*;
using GpmSample = struct GpmSampleTag*;

/// A plain int: a newer driver may return codes that we do not know.
using Code = int;
inline constexpr Code kSuccess = 0;
inline constexpr Code kUninitialized = 1;
inline constexpr Code kInvalidArgument = 2;
inline constexpr Code kNotSupported = 3;
inline constexpr Code kNoPermission = 4;
inline constexpr Code kNotFound = 6;
inline constexpr Code kInsufficientSize = 7;
inline constexpr Code kDriverNotLoaded = 9;
inline constexpr Code kTimeout = 10;
inline constexpr Code kFunctionNotFound = 13;
inline constexpr Code kGpuIsLost = 15;
inline constexpr Code kResetRequired = 16;
inline constexpr Code kVersionMismatch = 18;
inline constexpr Code kArgumentVersionMismatch = 25;
inline constexpr Code kDeprecated = 26;
inline constexpr Code kGpuNotFound = 28;
inline constexpr Code kUnknown = 999;

inline constexpr unsigned kTextSize = 96;  ///< enough for every name that NVML writes
inline constexpr std::uint64_t kNotAvailable = ~std::uint64_t{0};
inline constexpr unsigned kNoInstance = 0xFFFFFFFF;

enum Clock : int { kClockSm = 1, kClockMemory = 2 };
enum MemoryError : int { kCorrected = 0, kUncorrected = 1 };
enum EccCounter : int { kVolatileEcc = 0 };
enum P2pKind : int { kP2pNvlink = 2 };
enum P2pStatus : int { kP2pOk = 0 };
enum PcieCounter : int { kPcieTransmit = 0, kPcieReceive = 1 };
enum PerfPolicy : int { kPolicyPower = 0, kPolicyThermal = 1 };
enum RetirementCause : int { kRetiredSingleBit = 0, kRetiredDoubleBit = 1 };
inline constexpr int kTemperatureGpu = 0;

// Bits of the clock-event ("throttle") reasons.
inline constexpr std::uint64_t kReasonIdle = 0x1;
inline constexpr std::uint64_t kReasonSetting = 0x2;
inline constexpr std::uint64_t kReasonSwPower = 0x4;
inline constexpr std::uint64_t kReasonHwSlowdown = 0x8;
inline constexpr std::uint64_t kReasonSyncBoost = 0x10;
inline constexpr std::uint64_t kReasonSwThermal = 0x20;
inline constexpr std::uint64_t kReasonHwThermal = 0x40;
inline constexpr std::uint64_t kReasonPowerBrake = 0x80;
inline constexpr std::uint64_t kReasonDisplay = 0x100;

inline constexpr std::uint64_t kEventXid = 0x8;

// Field numbers of nvmlDeviceGetFieldValues.
inline constexpr unsigned kFieldNvlinkCrcFlit = 38;
inline constexpr unsigned kFieldNvlinkCrcData = 45;
inline constexpr unsigned kFieldNvlinkReplay = 52;
inline constexpr unsigned kFieldNvlinkRecovery = 59;
inline constexpr unsigned kFieldMemoryTemperature = 82;

// Numbers of GPM metrics.
inline constexpr unsigned kGpmSmUtil = 2;
inline constexpr unsigned kGpmSmOccupancy = 3;
inline constexpr unsigned kGpmAnyTensor = 5;
inline constexpr unsigned kGpmDram = 10;
inline constexpr unsigned kGpmFp64 = 11;
inline constexpr unsigned kGpmFp32 = 12;
inline constexpr unsigned kGpmFp16 = 13;
inline constexpr unsigned kGpmPcieTransmit = 20;
inline constexpr unsigned kGpmPcieReceive = 21;
inline constexpr unsigned kGpmNvlinkReceive = 60;
inline constexpr unsigned kGpmNvlinkTransmit = 61;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

struct Memory {
  unsigned long long total, free, used;
};

struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40);
inline constexpr unsigned kMemoryV2Version = sizeof(MemoryV2) | (2U << 24);

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct ViolationTime {
  unsigned long long reference_us;
  unsigned long long violation_ns;
};

struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(EventData) == 32);

enum ValueType : int {
  kDouble = 0,
  kUnsignedInt = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3,
  kSignedLongLong = 4,
  kSignedInt = 5,
  kUnsignedShort = 6,
};

union Value {
  double as_double;
  int as_int;
  unsigned as_unsigned;
  unsigned long as_unsigned_long;
  unsigned long long as_unsigned_long_long;
  long long as_long_long;
  unsigned short as_unsigned_short;
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  int type;  ///< ValueType; an int, since the driver may know more of them
  Code code;
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

struct GpmMetric {
  unsigned id;
  Code code;
  double value;
  char* short_name;
  char* long_name;
  char* unit;
};
static_assert(sizeof(GpmMetric) == 40);

/// The driver reads and writes `count` metrics. The array had 98 places in the first driver and 333 in a recent one;
/// we have room for the most, should some driver clear all that it knows.
struct GpmMetricsGet {
  unsigned version;
  unsigned count;
  GpmSample first;
  GpmSample second;
  GpmMetric metrics[333];
};
static_assert(offsetof(GpmMetricsGet, metrics) == 24);
inline constexpr unsigned kGpmMetricsGetVersion = 1;

struct GpmSupport {
  unsigned version;
  unsigned is_supported;
};
inline constexpr unsigned kGpmSupportVersion = 1;

}  // namespace assay::nvml
