#pragma once

#include <functional>
#include <memory>

#include "base/byte_stream.h"
#include "http/api_table.h"

namespace assay {

class Leader;
class RunStore;
class TokenBook;

// The parts of the API below /api/v1. The leader must outlive the table.

void add_node_endpoints(ApiTable& table, Leader& leader);
void add_series_endpoints(ApiTable& table, Leader& leader);
void add_alert_endpoints(ApiTable& table, Leader& leader);

/// Runs and studies: finding, changing, recording. The store and the clock must outlive the table.
void add_run_endpoints(ApiTable& table, RunStore& runs, const Clock& clock);

/// The studies alone; part of the above.
void add_study_endpoints(ApiTable& table, RunStore& runs);

/// Asking the cluster for runs, within catalog and quota, and stopping them.
void add_run_request_endpoints(ApiTable& table, Leader& leader);

/// What the cluster has to do: looking at it, what would come of an order, holding, releasing, priorities.
void add_queue_endpoints(ApiTable& table, Leader& leader);

/// Jobs of a Slurm cluster that gives out the same machines.
void add_slurm_endpoints(ApiTable& table, Leader& leader);

/// Signing in and out; who is asking; one's own password.
void add_session_endpoints(ApiTable& table, Leader& leader);
/// Accounts, tokens of people, links to share.
void add_account_endpoints(ApiTable& table, Leader& leader);
/// Charts that people put together and save.
void add_panel_endpoints(ApiTable& table, Leader& leader);
/// What users may start and use, whose runs are, who changed what.
void add_offer_endpoints(ApiTable& table, Leader& leader);

/// What GPU hours and power cost where a specification does not say.
void add_price_endpoints(ApiTable& table, Leader& leader);

/// For who looks: known metrics, how specifications are written, reports, what workloads printed.
void add_look_endpoints(ApiTable& table, Leader& leader);

/// An archive of everything that the leader keeps, made while it is read.
using BeginBackup = std::function<Result<std::shared_ptr<ByteSource>>()>;

/// What the program around a leader can do and knows. Both are called on any thread and may wait for the disk.
struct LeaderProgram {
  BeginBackup backup = {};
  std::function<std::string()> fingerprint = {};  ///< of the leader's certificate; empty or none: agents need not know
};

/// Machines that join: tokens for them, their keys. The book must outlive the table, too.
void add_join_endpoints(ApiTable& table, Leader& leader, TokenBook& book, LeaderProgram program);

void add_leader_endpoints(ApiTable& table, Leader& leader, BeginBackup backup);

}  // namespace assay
