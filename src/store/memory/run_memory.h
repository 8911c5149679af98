#pragma once

#include <memory>

namespace assay {

class Clock;
class RunStore;

/// What several opened stores share. Called by tests alone, as all of this is.
struct RunMemory;
std::shared_ptr<RunMemory> make_run_memory();

/// A RunStore in memory. Leases run by `clock`, which must outlive it.
std::unique_ptr<RunStore> open_run_memory(std::shared_ptr<RunMemory> memory, const Clock& clock);

}  // namespace assay
