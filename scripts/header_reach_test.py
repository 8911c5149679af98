"""No header outside base and model is compiled into more than 60 files, but for those that are listed here with what they may.

A file is an object of the preset `dev`, where each is compiled alone: of what is counted here, that build leaves out the
fuzzers and compiles a few files of apps/ and tests/ twice, so that `rebuild_cost.py` and this differ by a few objects.
The list only ever gets shorter: a header that reaches more than it may fails, and so does an entry that is no longer needed.
The values of model/ are free: whoever works with a run names `Run`. What to do about a header: declare a type instead of
including it (`class X;` for whatever is only passed on, `enum class X : int;`), move values away from the interface that
hands them over, move a body from a header to its .cpp. `scripts/rebuild_cost.py` says what each costs in seconds.
"""

import unittest

import includes

MOST = 60
SPARE = 10  # so that a few new tests of somebody else's do not stop a branch
FREE = ("src/base/", "src/model/")  # small, seldom changed, and what everything is made of
MAY_REACH = {
    # What servers and clients of HTTP hand to each other.
    "src/net/headers.h": 160,
    "src/net/http_message.h": 110,
    "src/net/route_options.h": 90,
    "src/net/url.h": 90,
    # Where runs and series are kept.
    "src/store/lease.h": 80,
    "src/store/run_store.h": 95,
    "src/store/series_info.h": 90,
    # What sources read and agents send.
    "src/telemetry/devices.h": 120,
    "src/telemetry/sample.h": 90,
    "src/telemetry/telemetry_event.h": 120,
    # What reports and tables are made of.
    "src/analysis/interval.h": 80,
    "src/report/chart/chart.h": 80,
    "src/report/text/align.h": 90,
    # Who somebody is.
    "src/access/role.h": 90,
}


class HeaderReach(unittest.TestCase):
    def test_no_header_reaches_more_files_than_it_may(self):
        reach = {header: len(users) for header, users in includes.reached().items() if not header.startswith(FREE)}
        self.assertGreater(len(reach), 300)
        beyond = {header: count for header, count in reach.items() if count > MAY_REACH.get(header, MOST + SPARE)}
        self.assertEqual(beyond, {}, "files that include it, directly or not")

    def test_what_may_reach_more_does(self):
        reach = includes.reached()
        needless = [header for header in MAY_REACH if len(reach.get(header, ())) <= MOST]
        self.assertEqual(needless, [], "take it off the list")


if __name__ == "__main__":
    unittest.main()
