#pragma once

// What every RunStore must do, the contract test. A test program of an implementation includes this once and says
//
//   INSTANTIATE_TEST_SUITE_P(Local, RunStoreContract, testing::Values(RunStoreFactory{…}), run_store_factory_name);
//   INSTANTIATE_TEST_SUITE_P(Local, ListedRunStoreContract, testing::Values(RunStoreFactory{…}),
//   run_store_factory_name);

#include "store/run_contract_changes.h"  // IWYU pragma: export
#include "store/run_contract_curves.h"   // IWYU pragma: export
#include "store/run_contract_leases.h"   // IWYU pragma: export
#include "store/run_contract_lists.h"    // IWYU pragma: export
#include "store/run_contract_runs.h"     // IWYU pragma: export
