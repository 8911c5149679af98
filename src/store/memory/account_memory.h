#pragma once

#include <memory>

#include "store/account_tables.h"

namespace assay {

/// What is kept of people, in memory: gone with it. Called by tests alone. Keeps the contract of AccountTables.
std::unique_ptr<AccountTables> make_account_memory();

}  // namespace assay
