/* SPDX-License-Identifier: BSD-3-Clause */
/* A program's marks without a tracer: nothing is recorded, and nothing claims to be. */
#include <ictus/trace.h>

#include "../check.h"

int main(void)
{
    const int event = ictus_event_define("progress");
    const int region = ictus_region_define("solve");
    const int metric = ictus_metric_define("residual", "1");
    CHECK(event == 0 && region == 0 && metric == 0);
    CHECK(!ictus_trace_is_on());
    ictus_trace_switch(1);
    CHECK(!ictus_trace_is_on());
    ictus_region_enter(region);
    ictus_event(event, 1);
    ictus_metric(metric, 0.5);
    ictus_region_leave(region);
    return check_result();
}
