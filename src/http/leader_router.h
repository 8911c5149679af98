#pragma once

#include <memory>
#include <span>

#include "dashboard/embedded_files.h"

namespace assay {

class ApiTable;
class Gatekeeper;
class Leader;
class Router;
class TokenBook;
struct LeaderProgram;

/// The API alone. Leader and book must outlive it.
ApiTable make_leader_api(Leader& leader, TokenBook& book, const LeaderProgram& program);

/// Lets in whom the book knows and whom the leader has accounts for, and has the leader keep who changed what. Both
/// must outlive it.
std::unique_ptr<Gatekeeper> make_gatekeeper(Leader& leader, TokenBook& book);

/// Everything that a leader answers. Leader, gatekeeper and the files of the dashboard must outlive the router.
Router make_leader_router(Leader& leader, Gatekeeper& gatekeeper, const LeaderProgram& program,
                          std::span<const DashboardFile> dashboard = {});

}  // namespace assay
