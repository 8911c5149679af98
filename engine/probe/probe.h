#pragma once

#include <ATen/core/Tensor.h>

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "formats/train_spec.h"
#include "parallel/group.h"

namespace assay::engine {

/// Floating-point operations a second in a large matrix product on random numbers (zeros would run faster than data
/// will): the measured ceiling for MFU and roofline. Takes some tenths of a second.
double matrix_flops_per_second(at::Device device, Precision precision);

struct MatrixRate {
  Precision precision;
  double flops_per_second = 0;
  std::string problem;  ///< why it could not be measured
};

/// What this machine can do at most, in bytes and operations per second. Absent: there is no such thing here.
struct Ceilings {
  std::string device;
  std::vector<MatrixRate> matrix;
  double memory_bytes_per_second = 0;  ///< a large copy, bytes read plus bytes written
  std::optional<double> host_to_device;
  std::optional<double> device_to_host;
};
Ceilings measure_ceilings(at::Device device);

/// Bytes of a 64 MiB vector that the group adds up per second, the slowest rank counting.
double all_reduce_bytes_per_second(Group& group, at::Device device);

boost::json::object to_json(const Ceilings& ceilings);
std::string to_text(const Ceilings& ceilings);

}  // namespace assay::engine
