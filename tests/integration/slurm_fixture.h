#pragma once

#include <memory>
#include <string>

#include "launch/launcher.h"
#include "launch/slurm/slurm_launcher.h"
#include "support/assay_cli.h"
#include "support/slurm_cluster.h"

namespace assay {

/// The Slurm of this test program, of two nodes; it is started when it is first needed. The error says why there is
/// none here.
Result<SlurmCluster*> shared_slurm();

/// A launcher on it, with a folder of its own, whose jobs are hosted by `assay_place_program`. What it left behind is
/// cancelled at the end.
class SlurmPlaceFixture {
 public:
  /// `settings`: what people write behind `slurm:`.
  explicit SlurmPlaceFixture(std::string_view settings = "", Nanos start_patience = std::chrono::seconds(60));
  ~SlurmPlaceFixture();

  Launcher& launcher() { return *launcher_; }
  /// As if whoever asked had been restarted: a new launcher on the same folder.
  void restart_owner();
  /// A further one on the same folder.
  std::unique_ptr<Launcher> another_launcher() const;

 private:
  TemporaryFolder folder_;
  std::string settings_;
  Nanos start_patience_;
  std::unique_ptr<Launcher> launcher_;
};

}  // namespace assay
