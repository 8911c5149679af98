#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "data/dataset.h"
#include "data/sample_order.h"

namespace assay::engine {

struct LoaderOptions {
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  std::int64_t rows = 32;          ///< of one batch of this rank
  std::int64_t micro_batches = 1;  ///< batches per step and rank: gradient accumulation
  std::int64_t workers = 1;        ///< threads; 0: `next` prepares the batch itself
  std::int64_t prefetch = 2;       ///< batches ahead of the caller; 0: as with no workers
  std::int64_t held = 2;           ///< most batches that the caller has and has not recycled; at least 1
  std::int64_t first_step = 0;
  bool pinned = false;
};

/// Prepares this rank's batches of every step, without end, ahead of the training and in its order. What a batch holds
/// depends on data, order, rank and step alone, not on threads.
///
/// Large batches are filled by several workers at a time, so all of them are busy even where `prefetch` is small. There
/// are `prefetch` + `held` buffers, allocated once by the constructor.
///
/// `next` and `recycle` are for one thread at a time. The destructor waits for the workers, at most as long as one of
/// them needs for its part of a batch.
class Loader {
 public:
  /// A batch in the loader's memory, which stays as it is until it is recycled.
  struct Loaded {
    Batch batch;
    std::int64_t step = 0;
    std::int64_t micro_batch = 0;  ///< of the step
    std::size_t buffer = 0;        ///< which one `recycle` gives back
  };

  /// `dataset` must outlive the loader; `order` must have ranks · rows · micro_batches rows per global batch.
  Loader(const Dataset& dataset, const SampleOrder& order, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Blocks until the next batch is ready. Throws what the data set threw when it made this batch, and from then on
  /// always. Not to be called with `held` batches that were not recycled.
  Loaded next();

  /// The batch may be overwritten from now on. A caller that copies it to a device asynchronously calls this when the
  /// copy is done (for example when the event recorded after it is), not when it is queued.
  void recycle(const Loaded& loaded);

 private:
  struct Part {  // rows that one worker fills at a time
    Batch rows;
    std::int64_t first_row = 0;
  };
  struct Buffer {
    Batch batch;
    std::vector<Part> parts;
    std::int64_t number = 0;  // which batch of this rank, from first_step on
    std::size_t unfinished_parts = 0;
    std::exception_ptr error;
  };

  Buffer make_buffer() const;
  void fill(std::int64_t number, Part& part) const;
  Loaded deliver(std::size_t buffer);
  Loaded prepare_here();
  bool part_to_do() const;
  void work(const std::stop_token& stop);

  const Dataset& dataset_;
  const SampleOrder order_;
  const LoaderOptions options_;
  std::vector<Buffer> buffers_;

  std::mutex mutex_;  // for everything below
  std::condition_variable_any part_to_do_;
  std::condition_variable part_done_;
  std::vector<std::size_t> free_;
  std::deque<std::size_t> ahead_;  // begun or ready, in the order of delivery
  std::size_t parts_begun_ = 0;    // of the last one of `ahead_`
  std::int64_t next_number_ = 0;
  std::int64_t held_ = 0;
  std::exception_ptr error_;  // already thrown once
  std::vector<std::jthread> workers_;
};

}  // namespace assay::engine
