/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions by which a program marks its own events, regions and metrics. These definitions
 * apply if no tracer is loaded, and do nothing.
 */
#include <ictus/trace.h>

int ictus_event_define(const char *name)
{
    (void)name;
    return 0;
}

void ictus_event(int event, uint64_t value)
{
    (void)event;
    (void)value;
}

int ictus_region_define(const char *name)
{
    (void)name;
    return 0;
}

void ictus_region_enter(int region)
{
    (void)region;
}

void ictus_region_leave(int region)
{
    (void)region;
}

int ictus_metric_define(const char *name, const char *unit)
{
    (void)name;
    (void)unit;
    return 0;
}

void ictus_metric(int metric, double value)
{
    (void)metric;
    (void)value;
}

void ictus_trace_switch(int on)
{
    (void)on;
}

int ictus_trace_is_on(void)
{
    return 0;
}
