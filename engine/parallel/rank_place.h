#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace assay::engine {

/// This process among those that train together.
struct RankPlace {
  /// Who said so. `alone`: nobody, so a specification may ask for ranks on this node (`run_local_ranks`).
  enum class Origin { alone, environment, open_mpi, slurm, local };

  Origin origin = Origin::alone;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< on this node: which GPU, which cores
  int local_size = 1;
  std::string master_address = "127.0.0.1";  ///< where rank 0 listens
  int master_port = 0;
  /// Equal on all ranks of one run; whoever does not know it is refused. Random where the ranks are started here or
  /// ASSAY_RUN_TOKEN is set, otherwise made of the job's name: that keeps runs apart, but is no secret.
  std::string token;
};

/// Reads a variable; empty: not set.
using Environment = std::function<std::string(const char*)>;

/// The first of these that is set:
/// 1. RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and LOCAL_RANK, LOCAL_WORLD_SIZE (both absent: one rank per node).
/// 2. OMPI_COMM_WORLD_*, before Slurm since mpirun inside a Slurm job shows its ranks the variables of both.
///    Several nodes need MASTER_ADDR.
/// 3. SLURM_* of a step (`srun`); a batch script itself is rank 0 of 1. Rank 0 is at the first host of
///    SLURM_STEP_NODELIST, SLURM_JOB_NODELIST or SLURM_NODELIST, else at SLURM_LAUNCH_NODE_IPADDR.
/// Otherwise rank 0 of 1. With Open MPI and Slurm, MASTER_ADDR and MASTER_PORT win where they are set, the address of
/// a one-node job is 127.0.0.1, and the port is `derived_port` of OMPI's or Slurm's job and step.
/// Throws Failure `bad_spec` on contradictions.
RankPlace rank_place_from(const Environment& lookup);

/// 20000 … 31999, below the ports that Linux hands out by itself; the same for the same text everywhere.
int derived_port(std::string_view job);

/// The first host of a list as Slurm writes it: `rack[1-2]node[007-009,12],login` gives `rack1node007`.
std::string first_host(std::string_view list);

}  // namespace assay::engine
