#pragma once

// What every Store must do, the contract test. A test program of an implementation includes this once and says
//
//   INSTANTIATE_TEST_SUITE_P(Local, StoreContract, testing::Values(StoreFactory{…}), store_factory_name);
//   INSTANTIATE_TEST_SUITE_P(Local, ListedStoreContract, testing::Values(StoreFactory{…}), store_factory_name);

#include "store/store_contract_changes.h"  // IWYU pragma: export
#include "store/store_contract_lists.h"    // IWYU pragma: export
#include "store/store_contract_runs.h"     // IWYU pragma: export
