#include "store/memory/run_memory.h"

#include "store/run_contract.h"

namespace assay {
namespace {

class MemoryPlace final : public RunStorePlace {
 public:
  std::unique_ptr<RunStore> open() override { return open_run_memory(memory_, clock_); }
  void pass(Nanos time) override { clock_.advance(time); }

 private:
  ManualClock clock_;
  std::shared_ptr<RunMemory> memory_ = make_run_memory();
};

const auto kMemory = testing::Values(
    RunStoreFactory{"Memory", [] { return std::unique_ptr<RunStorePlace>(std::make_unique<MemoryPlace>()); }});
INSTANTIATE_TEST_SUITE_P(InMemory, RunStoreContract, kMemory, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(InMemory, OutlivedRunStoreContract, kMemory, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(InMemory, ListedRunStoreContract, kMemory, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(InMemory, LeaseContract, kMemory, run_store_factory_name);

}  // namespace
}  // namespace assay
