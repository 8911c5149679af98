#include "store/memory/series_memory.h"

#include "store/series_contract.h"

namespace assay {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, SeriesContract,
                         testing::Values(SeriesStoreFactory{"memory",
                                                            [](const Clock& clock, const SeriesLimits& limits) {
                                                              return std::make_unique<SeriesMemory>(clock, limits);
                                                            }}));

}  // namespace
}  // namespace assay
