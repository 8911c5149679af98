#pragma once

#include "http/api_table.h"

namespace assay {

class Accounts;
class Leader;
class RunStore;

/// Makes endpoints that change a run or a study refuse whose it is not, and remember whose a new one is. A run of a
/// study is its study's owner's; what nobody owns is for those who manage the cluster, who may change everything. Nodes
/// are held to their own runs elsewhere. The leader must outlive the table.
void hold_to_owners(ApiTable& table, Leader& leader);

/// Whose a run or study is: `user ada`; empty: nobody's. `not_found`.
Result<std::string> owner_of_run(Accounts& accounts, RunStore& runs, std::string_view run);
Result<std::string> owner_of_study(Accounts& accounts, RunStore& runs, std::string_view study);

}  // namespace assay
