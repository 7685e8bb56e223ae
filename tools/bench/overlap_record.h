/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects that tell what `ictus overlap` measured. */
#ifndef ICTUS_TOOLS_OVERLAP_RECORD_H
#define ICTUS_TOOLS_OVERLAP_RECORD_H

#include <ictus/overlap.h>
#include <ictus/result.h>

#include <jansson.h>
#include <stddef.h>

/* Definitions of overlap; their names, as --formula takes them, up to NULL, and their texts. */
enum overlap_formula { OVERLAP_FORMULA_H08, OVERLAP_FORMULA_OSU, OVERLAP_FORMULA_IMB };
extern const char *const overlap_record_formulas[];
extern const char *const overlap_record_formula_texts[];

extern const struct ictus_column overlap_record_columns[];

/*
 * The object of one measurement, its overlap by a formula; a new reference, NULL when out of
 * memory. Its note says why one should doubt it: time passed that no timer saw ("preempted?"), or
 * the computation had not the length that was asked for ("work off"); else "-".
 */
json_t *overlap_record_create(const struct ictus_overlap_plan *plan, int processes,
                              enum overlap_formula formula, const struct ictus_overlap_result *r);

/*
 * Mark the one with the least overhead among measurements that differ in the interval of the tests;
 * NULL stands for one that failed. A single interval is not marked. What there is to doubt is still
 * said.
 */
void overlap_record_mark_best(json_t *const *objects, size_t count);

#endif
