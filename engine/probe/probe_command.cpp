#include "probe/probe_command.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <optional>

#include "core/blas.h"
#include "core/cuda.h"
#include "formats/failure.h"
#include "parallel/cores.h"
#include "parallel/group.h"
#include "parallel/local_ranks.h"
#include "probe/probe.h"

namespace assay::engine {
namespace {

using namespace std::string_view_literals;

struct Options {
  bool json = false;
  std::string device = "auto";
  int ranks = 1;
};

Options parse(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    if (option == "--json"sv) {
      options.json = true;
      continue;
    }
    if (option != "--device"sv && option != "--ranks"sv) {
      throw Failure("usage", "unknown argument '" + std::string(option) + "'");
    }
    if (++i == arguments.size()) throw Failure("usage", std::string(option) + " needs a value");
    const std::string_view value = arguments[i];
    if (option == "--device"sv) {
      if (value != "auto"sv && value != "cpu"sv && value != "cuda"sv) {
        throw Failure("usage", "--device '" + std::string(value) + "' is not one of auto, cpu, cuda");
      }
      options.device = value;
    } else {
      const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), options.ranks);
      if (code != std::errc() || end != value.data() + value.size() || options.ranks < 1) {
        throw Failure("usage", "--ranks '" + std::string(value) + "' is not a whole number of at least 1");
      }
    }
  }
  return options;
}

at::Device device_for(const Options& options, int local_rank) {
  const int gpus = options.device == "cpu" ? 0 : usable_gpus();
  if (gpus == 0) {
    if (options.device == "cuda") throw Failure("no_device", "this machine has no GPU that CUDA can use");
    return at::kCPU;
  }
  if (local_rank >= gpus) {
    throw Failure("unsupported",
                  std::to_string(local_rank + 1) + " ranks need as many GPUs, and there are " + std::to_string(gpus));
  }
  return {at::kCUDA, static_cast<at::DeviceIndex>(local_rank)};
}

void take_cores(int local_rank, int local_size) {
  const CoreShare share = cores_for(allowed_cores(), read_core_topology(), local_rank, local_size);
  if (local_size > 1) pin_to(share.cores);
  at::set_num_threads(static_cast<int>(share.cores.size()));
  set_blas_threads(static_cast<int>(share.cores.size()));
}

/// Bytes of a large gradient that all ranks add up in a second. The ranks are processes of their own; rank 0 tells the
/// result through a pipe.
double all_reduce_rate(const Options& options) {
  int ends[2];
  if (::pipe(ends) != 0) throw Failure("io", "no pipe for the result of the all-reduce");
  const int code = run_local_ranks(options.ranks, [&](const RankPlace& place, int listening_fd) {
    const at::Device device = device_for(options, place.local_rank);
    take_cores(place.local_rank, place.local_size);
    ControlOptions control;
    control.listening_fd = listening_fd;
    const auto group = join_group(place, device, std::move(control));
    const DeviceScope scope(device);
    const double rate = all_reduce_bytes_per_second(*group, device);
    if (place.rank == 0 && ::write(ends[1], &rate, sizeof(rate)) != sizeof(rate)) return 1;
    group->leave();
    return 0;
  });
  double rate = 0;
  const bool told = code == 0 && ::read(ends[0], &rate, sizeof(rate)) == sizeof(rate);
  ::close(ends[0]);
  ::close(ends[1]);
  if (!told) throw Failure("crash", "the ranks of the all-reduce failed; their messages are above");
  return rate;
}

int run(const Options& options) {
  // First, since ranks must be started before this process uses LibTorch.
  std::optional<double> all_reduce;
  if (options.ranks > 1) all_reduce = all_reduce_rate(options);
  take_cores(0, 1);
  const at::Device device = device_for(options, 0);
  const DeviceScope scope(device);
  const Ceilings ceilings = measure_ceilings(device);
  if (options.json) {
    boost::json::object result = to_json(ceilings);
    if (all_reduce) {
      result["all_reduce_bytes_per_second"] = *all_reduce;
      result["all_reduce_ranks"] = options.ranks;
    }
    std::cout << boost::json::serialize(boost::json::object{{"assay", ASSAY_ENGINE_VERSION},
                                                            {"schema", 1},
                                                            {"command", "probe"},
                                                            {"ok", true},
                                                            {"result", std::move(result)}})
              << '\n';
    return 0;
  }
  std::cout << to_text(ceilings);
  if (all_reduce) {
    std::printf("all-reduce      %.4g GB/s over %d ranks\n", *all_reduce * 1e-9, options.ranks);
  } else {
    std::cout << "all-reduce      not measured: give --ranks N\n";
  }
  return 0;
}

}  // namespace

int probe_command(const std::vector<std::string_view>& arguments) {
  try {
    return run(parse(arguments));
  } catch (const Failure& failure) {
    std::cerr << "assay-engine: " << failure.what() << (failure.hint().empty() ? "" : "\n  ") << failure.hint() << '\n';
    return exit_code_for(failure.kind());
  }
}

}  // namespace assay::engine
