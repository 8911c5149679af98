#include "serving/serve_follow.h"

namespace assay {

Result<void> follow_loads(const ServeSettings& settings, const LoadCarrier& carrier, LoadFollower& follower,
                          const std::stop_token& stopping) {
  const LoadWatch watch{.moment =
                            [&](const LiveMoment& moment, Nanos, Nanos) {
                              follower.report(moment);
                              return true;
                            },
                        .go_on = [&] { return !follower.told_to_stop(); }};
  for (;;) {
    ASSAY_TRY(const auto order, follower.next_load(stopping));
    if (!order) return {};
    bool called_off = false;
    const auto agree_start = [&] {
      auto start = follower.agree_start(stopping);
      called_off = !start;
      return start;
    };
    auto load = carry_load(settings_of_load(settings, *order), carrier, *order, agree_start, watch, stopping);
    if (called_off) return load.error().kind == ErrorKind::interrupted ? Result<void>() : load.error();
    if (!load) {
      ASSAY_CHECK(follower.give_up(load.error()));
      continue;
    }
    ASSAY_CHECK(follower.hand_in(part_of(*load->recorder, load->ending, load->target->facts())));
  }
}

}  // namespace assay
