/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the definitions of metrics. */
#include "archive/metric_names.h"

#include <math.h>
#include <stdlib.h>

/*
 * Make room for one more element of an array that doubles. NULL: out of memory; the old array
 * stays.
 */
static void *metric_grow(void *array, uint64_t count, size_t size)
{
    if (count > 0 && (count & (count - 1)) != 0) {
        return array;
    }
    return realloc(array, (count > 0 ? 2 * count : 1) * size);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode metric_member_defined(void *data, OTF2_MetricMemberRef self,
                                               OTF2_StringRef name, OTF2_StringRef description,
                                               OTF2_MetricType type, OTF2_MetricMode mode,
                                               OTF2_Type value_type, OTF2_Base base,
                                               int64_t exponent, OTF2_StringRef unit)
{
    struct trace_metrics *m = &((struct trace *)data)->metrics;
    (void)description;
    (void)type;
    (void)mode;
    (void)value_type;
    if (ictusi_idmap_get(&m->member_index, self, 0) != IDMAP_NONE) {
        return OTF2_CALLBACK_SUCCESS;
    }
    struct trace_metric *members = metric_grow(m->members, m->member_count, sizeof *members);
    if (!members) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    m->members = members;
    const double scale = pow(base == OTF2_BASE_BINARY ? 2.0 : 10.0, (double)exponent);
    members[m->member_count] = (struct trace_metric){name, unit, scale};
    return ictusi_idmap_put(&m->member_index, self, 0, (int64_t)m->member_count++)
               ? OTF2_CALLBACK_INTERRUPT
               : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode metric_class_defined(void *data, OTF2_MetricRef self, uint8_t count,
                                              const OTF2_MetricMemberRef *refs,
                                              OTF2_MetricOccurrence occurrence,
                                              OTF2_RecorderKind recorder)
{
    struct trace_metrics *m = &((struct trace *)data)->metrics;
    (void)occurrence;
    (void)recorder;
    for (uint8_t i = 0; i < count; i++) { /* the key is the class and the position in it */
        if (ictusi_idmap_put(&m->class_members, self, i, refs[i])) {
            return OTF2_CALLBACK_INTERRUPT;
        }
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode metric_instance_defined(void *data, OTF2_MetricRef self,
                                                 OTF2_MetricRef class, OTF2_LocationRef recorder,
                                                 OTF2_MetricScope scope_kind, uint64_t scope)
{
    struct trace_metrics *m = &((struct trace *)data)->metrics;
    (void)recorder;
    (void)scope_kind;
    (void)scope;
    return ictusi_idmap_put(&m->class_of, self, 0, class) ? OTF2_CALLBACK_INTERRUPT
                                                          : OTF2_CALLBACK_SUCCESS;
}

void ictusi_metric_names_register(OTF2_GlobalDefReaderCallbacks *set)
{
    OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(set, metric_member_defined);
    OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(set, metric_class_defined);
    OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback(set, metric_instance_defined);
}

void ictusi_metric_names_fini(struct trace_metrics *metrics)
{
    free(metrics->members);
    ictusi_idmap_fini(&metrics->member_index);
    ictusi_idmap_fini(&metrics->class_members);
    ictusi_idmap_fini(&metrics->class_of);
}

uint32_t ictusi_metric_member(const struct trace *trace, uint32_t metric, uint32_t i)
{
    const struct trace_metrics *m = &trace->metrics;
    const int64_t class = ictusi_idmap_get(&m->class_of, metric, 0);
    const int64_t ref =
        ictusi_idmap_get(&m->class_members, class == IDMAP_NONE ? metric : (uint64_t) class, i);
    const int64_t row =
        ref == IDMAP_NONE ? IDMAP_NONE : ictusi_idmap_get(&m->member_index, (uint64_t)ref, 0);
    return row == IDMAP_NONE ? LAYOUT_NONE : (uint32_t)row;
}

double ictusi_metric_value(const struct trace *trace, uint32_t member, OTF2_Type type,
                           OTF2_MetricValue value)
{
    const double raw = type == OTF2_TYPE_DOUBLE  ? value.floating_point
                       : type == OTF2_TYPE_INT64 ? (double)value.signed_int
                                                 : (double)value.unsigned_int;
    return raw * trace->metrics.members[member].scale;
}
