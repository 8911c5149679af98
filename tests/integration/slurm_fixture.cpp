#include "slurm_fixture.h"

#include <gtest/gtest.h>

#include "support/source_tree.h"

namespace assay {
namespace {

std::unique_ptr<SlurmCluster>& cluster_of_program() {
  static std::unique_ptr<SlurmCluster> cluster;
  return cluster;
}

/// Ends the cluster before the program's other statics go.
class SlurmAtExit final : public testing::Environment {
 public:
  void TearDown() override { cluster_of_program().reset(); }
};
const auto* const kAtExit = testing::AddGlobalTestEnvironment(new SlurmAtExit);

}  // namespace

Result<SlurmCluster*> shared_slurm() {
  auto& cluster = cluster_of_program();
  if (!cluster) {
    ASSAY_TRY(cluster, SlurmCluster::start(2));
  }
  return cluster.get();
}

SlurmPlaceFixture::SlurmPlaceFixture(std::string_view settings, Nanos start_patience)
    : settings_(settings), start_patience_(start_patience) {
  restart_owner();
}

SlurmPlaceFixture::~SlurmPlaceFixture() {
  launcher_.reset();
  shared_slurm().value()->cancel_all();
}

void SlurmPlaceFixture::restart_owner() {
  launcher_.reset();
  launcher_ = another_launcher();
}

std::unique_ptr<Launcher> SlurmPlaceFixture::another_launcher() const {
  return make_slurm_launcher({.place = slurm_place_from(parse_place("slurm:" + settings_).value()).value(),
                              .folder = folder_.path() / "jobs with a blank",
                              .assay = test::beside_program("assay_place_program"),
                              .environment = shared_slurm().value()->environment(),
                              .start_patience = start_patience_})
      .value();
}

}  // namespace assay
