#include "train/train.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "core/blas.h"
#include "core/cuda.h"
#include "core/torch_compat.h"
#include "formats/events.h"
#include "formats/failure.h"
#include "parallel/cores.h"
#include "parallel/local_ranks.h"
#include "parallel/peer_failure.h"
#include "parallel/rank_place.h"
#include "probe/probe.h"
#include "train/batch_estimate.h"
#include "train/host_memory.h"
#include "train/trainer.h"

namespace assay::engine {
namespace {

using namespace std::string_view_literals;

struct Options {
  std::string spec;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> profile;
  std::string trace;
  std::string gradients;  // where to write those of the first step, instead of training
};

std::int64_t number_of(std::string_view text, std::string_view option, std::int64_t least) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < least) {
    throw Failure("usage", std::string(option) + " '" + std::string(text) + "' is not a whole number of at least " +
                               std::to_string(least));
  }
  return number;
}

Options parse(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string_view option = arguments[i];
    const bool known = option == "--spec"sv || option == "--ranks"sv || option == "--profile"sv ||
                       option == "--trace"sv || option == "--gradients"sv;
    if (!known) throw Failure("usage", "unknown argument '" + std::string(option) + "'");
    if (i + 1 == arguments.size()) throw Failure("usage", std::string(option) + " needs a value");
    const std::string_view value = arguments[i + 1];
    if (option == "--spec"sv) options.spec = value;
    if (option == "--ranks"sv) options.ranks = number_of(value, option, 1);
    if (option == "--profile"sv) options.profile = number_of(value, option, 1);
    if (option == "--trace"sv) options.trace = value;
    if (option == "--gradients"sv) options.gradients = value;
  }
  if (options.spec.empty()) throw Failure("usage", "train needs --spec FILE");
  return options;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string trace_path(const Options& options) {
  if (!options.trace.empty()) return options.trace;
  const std::string folder = variable("ASSAY_ARTIFACTS");
  return folder.empty() ? "trace.json" : folder + "/trace.json";
}

at::Device choose_device(const TrainSpec& spec, const RankPlace& place) {
  const int gpus = spec.device == "cpu" ? 0 : usable_gpus();
  if (spec.device == "cuda" && gpus == 0) {
    throw Failure("no_device", "the specification asks for a GPU, and this machine has none that CUDA can use",
                  "`assay doctor` says what is missing; `device: cpu` trains without.");
  }
  if (gpus == 0) return at::kCPU;
  if (place.local_rank >= gpus) {
    throw Failure(
        "unsupported",
        std::to_string(place.local_size) + " ranks need as many GPUs, and this node has " + std::to_string(gpus),
        "Use fewer ranks, or `device: cpu`.");
  }
  return {at::kCUDA, static_cast<at::DeviceIndex>(place.local_rank)};
}

/// LibTorch's message is a page; what was asked for is in its first two sentences.
std::string first_sentences(const std::string& message) {
  const auto first = message.find(". ");
  const auto second = first == std::string::npos ? first : message.find(". ", first + 2);
  return message.substr(0, std::min(second == std::string::npos ? second : second + 1, message.find('\n')));
}

/// The error event and the message for people; returns the exit code.
int report(const Failure& failure, bool emits) {
  if (emits) {
    boost::json::object event{{"kind", failure.kind()}, {"message", failure.what()}};
    if (!failure.hint().empty()) event["hint"] = failure.hint();
    emit_event("error", event);
  }
  std::cerr << "assay-engine: " << failure.what() << (failure.hint().empty() ? "" : "\n  ") << failure.hint() << '\n';
  return exit_code_for(failure.kind());
}

/// One rank, from its place to the result.
class RankRun {
 public:
  RankRun(const TrainSpec& spec, const Options& options, const RankPlace& place, int listening_fd)
      : spec_(spec), options_(options), place_(place), listening_fd_(listening_fd) {}

  int run() {
    try {
      workplace_.device = choose_device(spec_, place_);
      take_cores();
      join();
      train();
      group_->leave();
      return 0;
    } catch (const PeerFailure& failure) {
      return report(failure, failure.reports());
    } catch (const Failure& failure) {
      return fail(failure);
    } catch (const std::exception& error) {
      if (is_out_of_memory(error)) return fail(out_of_memory(error));
      return fail(Failure("crash", brief_message(error)));
    }
  }

 private:
  void take_cores() {
    const auto allowed = allowed_cores();
    const CoreShare share = cores_for(allowed, read_core_topology(), place_.local_rank, place_.local_size);
    if (place_.local_size > 1) pin_to(share.cores);
    workplace_.oversubscribed = share.oversubscribed;
    const int threads = static_cast<int>(share.cores.size());
    at::set_num_threads(threads);
    set_blas_threads(threads);
  }

  void join() {
    ControlOptions control;
    control.listening_fd = listening_fd_;
    // The main thread hangs in a collective that cannot be interrupted: end without it.
    control.when_stuck = [](const PeerFailure& failure) { ::_exit(report(failure, failure.reports())); };
    group_ = join_group(place_, workplace_.device, std::move(control));
    workplace_.group = group_.get();
  }

  void train() {
    workplace_.trace_path = trace_path(options_);
    const DeviceScope scope(workplace_.device);
    if (place_.rank == 0) emit_event("phase", {{"name", "probe"}});
    number_formats(spec_.precision, workplace_.device);  // refuses what the device cannot do, before anything is built
    workplace_.peak_flops = matrix_flops_per_second(workplace_.device, spec_.precision);
    release_cached_memory(workplace_.device);
    reset_peak_memory(workplace_.device);
    if (!workplace_.device.is_cuda()) forbid_overcommit();
    if (place_.rank == 0) emit_event("phase", {{"name", "load"}});
    if (!options_.gradients.empty()) {
      write_first_gradients(spec_, workplace_, options_.gradients);
    } else {
      Trainer(spec_, workplace_).run();
    }
  }

  Failure out_of_memory(const std::exception& error) const {
    const std::string where = workplace_.device.is_cuda() ? "on the GPU" : "on the host";
    const DeviceScope scope(workplace_.device);
    return {"oom",
            "out of memory " + where + " with batch_size " + std::to_string(spec_.batch_size) + ": " +
                first_sentences(brief_message(error)),
            largest_batch_hint(spec_, workplace_.device, workplace_.peak_flops)};
  }

  int fail(const Failure& failure) {
    const int code = report(failure, place_.rank == 0 || !group_);
    if (group_) group_->fail(failure);
    return code;
  }

  const TrainSpec& spec_;
  const Options& options_;
  const RankPlace& place_;
  int listening_fd_;
  Workplace workplace_;
  std::unique_ptr<Group> group_;
};

int run(const std::vector<std::string_view>& arguments) {
  const Options options = parse(arguments);
  TrainSpec spec = read_train_spec(options.spec);
  if (options.ranks) spec.ranks = *options.ranks;
  if (options.profile) spec.profile_steps = *options.profile;
  const RankPlace place = rank_place_from(variable);
  const bool alone = place.origin == RankPlace::Origin::alone;
  if (!alone && spec.ranks > 1 && spec.ranks != place.size) {
    throw Failure("bad_spec", "the specification asks for " + std::to_string(spec.ranks) +
                                  " ranks, and the launcher started " + std::to_string(place.size));
  }
  if (alone && spec.ranks > 1) {
    const int code = run_local_ranks(static_cast<int>(spec.ranks), [&](const RankPlace& local, int listening_fd) {
      return RankRun(spec, options, local, listening_fd).run();
    });
    return code > 128 ? 1 : code;  // a rank was killed: the workload failed
  }
  return RankRun(spec, options, place, -1).run();
}

}  // namespace

int train_command(const std::vector<std::string_view>& arguments) {
  try {
    return run(arguments);
  } catch (const Failure& failure) {
    return report(failure, failure.kind() != "usage");
  }
}

}  // namespace assay::engine
