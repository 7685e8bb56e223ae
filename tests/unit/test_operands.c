/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes, operators and places of collectives: as one number, and in patterns. */
#include "arrival/pattern.h"
#include "core/operands.h"

#include "../check.h"

#include <ictus/arrivals.h>
#include <jansson.h>
#include <stdio.h>

static void parts_are_named(void)
{
    const uint32_t sum = operands_make(OPERANDS_DOUBLE, OPERANDS_SUM, OPERANDS_APART);
    CHECK_STR(ictusi_operands_datatype(sum), "double");
    CHECK_STR(ictusi_operands_reduction(sum), "sum");
    CHECK(operands_place(sum) == OPERANDS_APART);
    CHECK(!ictusi_operands_datatype(0) && !ictusi_operands_reduction(0));
    CHECK(operands_place(0) == OPERANDS_PLACE_UNKNOWN);
    CHECK(operands_place(operands_make(0, 0, OPERANDS_IN_PLACE)) == OPERANDS_IN_PLACE);
}

/* An archive of a later version may have more of them. */
static void unknown_numbers_have_no_name(void)
{
    CHECK(!ictusi_operands_datatype(OPERANDS_TYPES) && !ictusi_operands_datatype(0xff));
    CHECK(!ictusi_operands_reduction(OPERANDS_REDUCTIONS << 8) &&
          !ictusi_operands_reduction(0xff00));
    CHECK_STR(ictusi_operands_datatype(UINT32_C(0xfff00000) | (OPERANDS_TYPES - 1)), "double_int");
    CHECK_STR(ictusi_operands_reduction((OPERANDS_REDUCTIONS - 1) << 8), "maxloc");
}

static void each_name_leads_back(void)
{
    for (uint32_t i = 1; i < OPERANDS_TYPES; i++) {
        REQUIRE(ictusi_operands_datatype(i));
        CHECK(ictusi_operands_named(ictusi_operands_datatype(i), NULL) == i);
    }
    for (uint32_t i = 1; i < OPERANDS_REDUCTIONS; i++) {
        REQUIRE(ictusi_operands_reduction(i << 8));
        CHECK(ictusi_operands_named("no such type", ictusi_operands_reduction(i << 8)) == i << 8);
    }
    CHECK(ictusi_operands_named(NULL, NULL) == 0 && ictusi_operands_named("", "user_first") == 0);
}

static void only_what_is_common_stays(void)
{
    const uint32_t a = operands_make(OPERANDS_INT, OPERANDS_MAX, OPERANDS_APART);
    CHECK(ictusi_operands_common(a, a) == a);
    CHECK(ictusi_operands_common(a, operands_make(OPERANDS_INT32, OPERANDS_MAX, OPERANDS_APART)) ==
          operands_make(0, OPERANDS_MAX, OPERANDS_APART));
    CHECK(ictusi_operands_common(a, operands_make(OPERANDS_INT, OPERANDS_MIN, OPERANDS_APART)) ==
          operands_make(OPERANDS_INT, 0, OPERANDS_APART));
    CHECK(ictusi_operands_common(a, operands_make(OPERANDS_INT, OPERANDS_MAX, OPERANDS_IN_PLACE)) ==
          operands_make(OPERANDS_INT, OPERANDS_MAX, 0));
    CHECK(ictusi_operands_common(a, 0) == 0 && ictusi_operands_common(0, a) == 0);
}

/* The root of a gather hands in nothing, and the others do. */
static void a_call_is_in_place_if_a_member_is(void)
{
    const uint32_t apart = operands_make(OPERANDS_INT, OPERANDS_MAX, OPERANDS_APART);
    const uint32_t in_place = operands_make(OPERANDS_INT, OPERANDS_MAX, OPERANDS_IN_PLACE);
    CHECK(ictusi_operands_join(apart, in_place) == in_place);
    CHECK(ictusi_operands_join(in_place, apart) == in_place);
    CHECK(ictusi_operands_join(apart, apart) == apart);
    CHECK(ictusi_operands_join(apart, 0) == operands_make(0, 0, OPERANDS_APART));
}

/* Names that a benchmark does not have say nothing, as do those of an older file. */
static void unknown_operands_are_unknown(void)
{
    static const char *const texts[] = {"", ",\"datatype\":null,\"op\":null,\"in_place\":null",
                                        ",\"datatype\":\"int; rm\",\"op\":7,\"in_place\":\"yes\""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[256];
        struct ictus_arrivals a;
        (void)snprintf(text, sizeof text,
                       "{\"type\":\"arrivals\",\"site\":\"a.c:1\",\"ranks\":1,\"bytes\":8,"
                       "\"mean_ns\":[0],\"sd_ns\":[0]%s}",
                       texts[i]);
        json_t *object = json_loads(text, 0, NULL);
        REQUIRE(object && !ictus_arrivals_parse(object, &a, NULL));
        CHECK(!a.datatype && !a.op && a.in_place == -1);
        json_decref(object);
        object = ictus_arrivals_json(&a);
        CHECK(json_is_null(json_object_get(object, "datatype")) &&
              json_is_null(json_object_get(object, "op")) &&
              json_is_null(json_object_get(object, "in_place")));
        json_decref(object);
        ictus_arrivals_free(&a);
    }
}

static void patterns_keep_them(void)
{
    struct ictus_arrivals a;
    struct ictus_arrivals b;
    REQUIRE(!ictus_arrivals_init(&a, 1, 1));
    CHECK(!a.datatype && !a.op && a.in_place == -1);
    (void)snprintf(a.site, sizeof a.site, "solver.c:120");
    ictusi_pattern_operands(&a, operands_make(OPERANDS_INT64, OPERANDS_MAX, OPERANDS_IN_PLACE));
    json_t *object = ictus_arrivals_json(&a);
    REQUIRE(object && !ictus_arrivals_parse(object, &b, NULL));
    CHECK_STR(b.datatype, "int64");
    CHECK_STR(b.op, "max");
    CHECK(b.in_place == 1);
    ictus_arrivals_free(&b);
    (void)json_object_set_new(object, "in_place", json_false());
    REQUIRE(!ictus_arrivals_parse(object, &b, NULL));
    CHECK(b.in_place == 0);
    ictus_arrivals_free(&b);
    ictus_arrivals_free(&a);
    json_decref(object);
}

int main(void)
{
    parts_are_named();
    unknown_numbers_have_no_name();
    each_name_leads_back();
    only_what_is_common_stays();
    a_call_is_in_place_if_a_member_is();
    unknown_operands_are_unknown();
    patterns_keep_them();
    return check_result();
}
