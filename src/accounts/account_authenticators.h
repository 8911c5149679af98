#pragma once

#include <memory>
#include <vector>

#include "access/authenticator.h"
#include "accounts/accounts.h"

namespace assay {

/// The ways to show that one has an account, a token of one's own or a link, and, where that is allowed, nothing at
/// all. For `Gatekeeper`, beside those of the token book. Accounts must outlive them.
std::vector<std::unique_ptr<Authenticator>> account_authenticators(Accounts& accounts, StudyOfRun study_of);

}  // namespace assay
