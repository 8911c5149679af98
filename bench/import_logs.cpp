// How fast Slurm output is imported, on one thread: the logs of a training job as users have them, mostly states of
// progress bars. The limit beside it: the same bytes, looked through for line ends and nothing else.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/assert.h"
#include "base/clock.h"
#include "importers/slurm/slurm_log.h"

namespace {

using namespace assay;

constexpr int kRounds = 5;
constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr double kGoal = 200e6;

/// Progress bars that redraw within a line, as Lightning's do under Slurm.
std::string bars() {
  std::string log = "Job ID: 1\nTotal GPUs: 8\nBatch size per GPU: 32\n";
  for (int epoch = 0; log.size() < kBytes; ++epoch) {
    for (int percent = 0; percent <= 100; percent += 2) {
      fmt::format_to(std::back_inserter(log),
                     "Epoch {}: {:3}%|█████▋    | {}/313 [00:{:02}<00:03, 43.18it/s, v_num=0, train_loss={:.3f}, "
                     "val_loss=0.{:03}, val_acc=0.{:03}]\r",
                     epoch, percent, 313 * percent / 100, percent / 14, 2.0 / (epoch + 1), 119 + epoch % 400,
                     953 - epoch % 400);
    }
    log += '\n';
  }
  return log + "Total training time: 362.45 seconds\n";
}

/// Lines of several ranks with labels, tables of nvidia-smi between them.
std::string labelled_lines() {
  std::string log = "Job ID: 2\nTotal GPUs: 8\n";
  for (int step = 0; log.size() < kBytes; ++step) {
    for (int rank = 0; rank < 8; ++rank) {
      fmt::format_to(std::back_inserter(log),
                     "{}: 2025-11-11 09:14:{:02},123 INFO trainer.py:88 epoch {} step {}: loss={:.4f} lr=1.0e-03 "
                     "grad_norm=0.71 data_time=0.003 mem=5120MB\n",
                     rank, step % 60, step / 100, step, 1.0 / (step + 1));
    }
    if (step % 100 != 0) continue;
    log += "index, name, utilization.gpu [%], memory.used [MiB]\n";
    for (int gpu = 0; gpu < 8; ++gpu) {
      fmt::format_to(std::back_inserter(log), "{}, NVIDIA A100-SXM4-40GB, 97 %, 5120 MiB\n", gpu);
    }
  }
  return log + "0: Total training time: 57.14 seconds\n";
}

/// Bytes per second, the median over the rounds.
double rate_of(const std::string& log, const std::function<void()>& work) {
  const SystemClock clock;
  std::vector<double> rates;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = clock.now();
    work();
    rates.push_back(static_cast<double>(log.size()) / seconds_of(clock.now() - start));
  }
  std::sort(rates.begin(), rates.end());
  return rates[kRounds / 2];
}

void count_lines(const std::string& log) {
  std::size_t lines = 0;
  const char* at = log.data();
  const char* const end = at + log.size();
  while (const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
    at = static_cast<const char*>(newline) + 1;
    ++lines;
  }
  ASSAY_ASSERT(lines > 0);
}

double measure(std::string_view what, const std::string& log) {
  const double imported = rate_of(log, [&] {
    const NamedText file{"slurm-1.out", log};
    const auto import = import_slurm(std::span(&file, 1));
    ASSAY_ASSERT(import.ok() && import->jobs.size() == 1 && finished(import->jobs.front()));
  });
  const double scanned = rate_of(log, [&] { count_lines(log); });
  fmt::print("{}, {} MB, median of {} rounds\n", what, log.size() / 1'000'000, kRounds);
  fmt::print("  imported              {:>8.0f} MB/s\n", imported / 1e6);
  fmt::print("  lines found (limit)   {:>8.0f} MB/s   ratio {:.3f}\n", scanned / 1e6, imported / scanned);
  fmt::print("  goal                  {:>8.0f} MB/s   {:.1f} × the goal\n", kGoal / 1e6, imported / kGoal);
  return imported;
}

}  // namespace

int main() {
  const double of_bars = measure("progress bars", bars());
  const double of_lines = measure("lines of eight ranks", labelled_lines());
  return std::min(of_bars, of_lines) >= kGoal ? 0 : 1;
}
