/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities, nearest names, specification lists and options. */
#include "core/spec.h"

#include <ictus/error.h>
#include <ictus/text.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "../check.h"

static void quantities(void)
{
    double x = 0.0;
    uint64_t n = 0;
    int64_t i = 0;
    CHECK(!ictus_parse_seconds("1.5us", &x));
    CHECK_NEAR(x, 1.5e-6, 1e-18);
    CHECK(!ictus_parse_seconds("-3.2s", &x));
    CHECK_NEAR(x, -3.2, 1e-12);
    CHECK(!ictus_parse_ratio("12.5ppm", &x));
    CHECK_NEAR(x, 12.5e-6, 1e-15);
    /* A limit in another unit is the same limit, not a value next to it. */
    static const struct {
        const char *text;
        double seconds;
    } exact[] = {{"100us", 1e-4}, {"3ns", 3e-9}, {"30ms", 0.03}, {"7us", 7e-6}, {"2h", 7200}};
    for (size_t k = 0; k < sizeof(exact) / sizeof(exact[0]); k++) {
        CHECK(!ictus_parse_seconds(exact[k].text, &x));
        CHECK_NEAR(x, exact[k].seconds, 0);
    }
    CHECK(!ictus_parse_ratio("7%", &x));
    CHECK_NEAR(x, 0.07, 0);
    CHECK(!ictus_parse_bytes("64KiB", &n) && n == 65536);
    CHECK(!ictus_parse_bytes("4M", &n) && n == 4194304);
    CHECK(!ictus_parse_bytes("0", &n) && n == 0);
    CHECK(!ictus_parse_bytes("3k", &n) && n == UINT64_C(3) << 10);
    CHECK(!ictus_parse_bytes("7GB", &n) && n == UINT64_C(7) << 30);
    CHECK(!ictus_parse_bytes("16777215T", &n) && n == UINT64_C(16777215) << 40);
    CHECK(ictus_parse_bytes("16777216T", &n) == ICTUS_ERR_SPEC); /* 2^64 */
    CHECK(!ictus_parse_int("-7", &i) && i == -7);
    static const char *const bad[] = {"", " 1", "1 s", "nan", "inf", "1e999", "x", "1sx"};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        CHECK(ictus_parse_seconds(bad[k], &x) == ICTUS_ERR_SPEC);
        CHECK(ictus_parse_bytes(bad[k], &n) == ICTUS_ERR_SPEC);
        CHECK(ictus_parse_int(bad[k], &i) == ICTUS_ERR_SPEC);
    }
    CHECK(ictus_parse_bytes("99999999999999999999", &n) == ICTUS_ERR_SPEC);
    CHECK(ictus_parse_bytes("18446744073709551615K", &n) == ICTUS_ERR_SPEC);
    CHECK(ictus_parse_bytes("-1", &n) == ICTUS_ERR_SPEC);
}

static void nearest_names(void)
{
    static const char *const names[] = {"hca3", "hca2", "mesh", "propagate", NULL};
    CHECK_STR(ictus_nearest("mehs", names), "mesh");
    CHECK_STR(ictus_nearest("propagat", names), "propagate");
    CHECK(!ictus_nearest("xyzzy", names));
    static const char *const words[] = {"root", "lor", "bool", "max", NULL};
    CHECK(!ictus_nearest("foo", words));
    CHECK_STR(ictus_nearest("mx", words), "max");
    CHECK_STR(ictus_nearest("mxa", words), "max"); /* two exchanged letters are one mistake */
    char endless[5000];
    memset(endless, 'm', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    CHECK(!ictus_nearest(endless, names));
    struct ictus_why why;
    CHECK(ictus_unknown(&why, "algorithm", "hcb3", names) == ICTUS_ERR_UNKNOWN);
    CHECK_STR(why.text, "unknown algorithm 'hcb3'; did you mean 'hca3'?");
}

static void lists(void)
{
    const char *list = "hca3:fitpoints=500,exchanges=10,hierarchy(hca3:a=1,propagate):x=2,"
                       "sim:offsets=0,1.5s,-3s,mesh";
    static const char *const wanted[] = {"hca3:fitpoints=500,exchanges=10",
                                         "hierarchy(hca3:a=1,propagate):x=2",
                                         "sim:offsets=0,1.5s,-3s", "mesh"};
    char piece[128];
    for (int i = 0; i < 4; i++) {
        REQUIRE(!ictus_next_spec(&list, piece, sizeof(piece)));
        CHECK_STR(piece, wanted[i]);
    }
    CHECK(ictus_next_spec(&list, piece, sizeof(piece)) == ICTUS_ERR_SAMPLES);
}

struct options {
    int64_t count;
    double window;
    bool flag;
    int kind;
    struct spec_text list;
};

static const char *const kinds[] = {"plain", "fancy", NULL};
static const struct spec_param params[] = {
    {"count", SPEC_INT, offsetof(struct options, count), "10", 1, 100, NULL, ""},
    {"window", SPEC_SECONDS, offsetof(struct options, window), "1ms", 0, 10, NULL, ""},
    {"flag", SPEC_BOOL, offsetof(struct options, flag), "0", 0, 0, NULL, ""},
    {"kind", SPEC_CHOICE, offsetof(struct options, kind), "plain", 0, 0, kinds, ""},
    {"list", SPEC_TEXT, offsetof(struct options, list), "", 0, 0, NULL, ""},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

static int read_options(const char *text, struct options *options, struct ictus_why *why)
{
    struct spec spec;
    int err = ictusi_spec_split(text, &spec, why);
    return err ? err : ictusi_spec_read(&spec, params, options, why);
}

static void options_are_read(void)
{
    struct options o;
    struct ictus_why why;
    CHECK(!read_options("x:count=7,list=1,2,-3,flag=yes,kind=fancy", &o, &why));
    CHECK(o.count == 7 && o.flag && o.kind == 1);
    CHECK_STR(o.list.text, "1,2,-3");
    CHECK_NEAR(o.window, 1e-3, 1e-15);
    CHECK(read_options("x:count=0", &o, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "count=0: must be an integer between 1 and 100");
    CHECK(!read_options("x:count=1,window=0", &o, &why) && o.count == 1 && o.window == 0.0);
    CHECK(!read_options("x:count=100,window=10s", &o, &why) && o.count == 100);
    CHECK(read_options("x:count=101", &o, &why) == ICTUS_ERR_SPEC);
    CHECK(read_options("x:window=10.1s", &o, &why) == ICTUS_ERR_SPEC);
    CHECK(read_options("x:window=-1ns", &o, &why) == ICTUS_ERR_SPEC);
    CHECK(read_options("x:cuont=1", &o, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "unknown option of x 'cuont'; did you mean 'count'?");
    static const char *const bad[] = {"",        ":",    "x:",       "x(",  "x(a",        "x(a)b",
                                      "x:count", "x:=1", "x:count=", "x()", "x:count=1e3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(read_options(bad[i], &o, &why) == ICTUS_ERR_SPEC);
    }
}

/* A name or options of a size that just fits are kept whole; a byte more is refused, not cut. */
static void sizes_are_limited(void)
{
    struct spec spec;
    struct ictus_why why;
    char text[1200];
    for (size_t more = 0; more < 2; more++) {
        memset(text, 'n', sizeof(spec.name) - 1 + more);
        text[sizeof(spec.name) - 1 + more] = '\0';
        CHECK(ictusi_spec_split(text, &spec, &why) == (more ? ICTUS_ERR_SPEC : ICTUS_OK));
        CHECK(more || strcmp(spec.name, text) == 0);
        memset(text, 'o', sizeof(spec.options) + 1 + more);
        memcpy(text, "x:", 2);
        text[sizeof(spec.options) + 1 + more] = '\0';
        CHECK(ictusi_spec_split(text, &spec, &why) == (more ? ICTUS_ERR_SPEC : ICTUS_OK));
        CHECK(more || strcmp(spec.options, text + 2) == 0);
        const size_t child = sizeof(spec.children[0].text) - 1 + more;
        memset(text, 'c', child + 4);
        memcpy(text, "x(", 2);
        memcpy(text + 2 + child, ",d)", 4);
        CHECK(ictusi_spec_split(text, &spec, &why) == (more ? ICTUS_ERR_SPEC : ICTUS_OK));
        CHECK(more || (strlen(spec.children[0].text) == child && spec.child_count == 2));
        memcpy(text, "x(a", 4);
        for (size_t i = 1; i < SPEC_CHILDREN_MAX + more; i++) {
            (void)strcat(text, ",b");
        }
        (void)strcat(text, ")");
        CHECK(ictusi_spec_split(text, &spec, &why) == (more ? ICTUS_ERR_SPEC : ICTUS_OK));
        CHECK(more || spec.child_count == SPEC_CHILDREN_MAX);
    }
}

static void lines_break_at_blanks(void)
{
    CHECK(ictus_text_fit("", 10) == 0);
    CHECK(ictus_text_fit("one two three", 7) == 7);
    CHECK(ictus_text_fit("one two three", 6) == 3);
    CHECK(ictus_text_fit("one two three", 13) == 13);
    CHECK(ictus_text_fit("indivisible word", 4) == 11);
    CHECK(ictus_text_fit("N×N ±1", 6) == 8); /* six characters, eight bytes */
    CHECK(ictus_text_fit("end  ", 80) == 3);
}

/* Each code has a text of its own; other numbers are reported as unknown, on either side. */
static void errors_have_names(void)
{
    const int last = ICTUS_ERR_CORRUPT;
    CHECK_STR(ictus_strerror(ICTUS_OK), "success");
    CHECK_STR(ictus_strerror(ICTUS_ERR_ARG), "invalid argument");
    CHECK_STR(ictus_strerror(last), "the data is inconsistent");
    CHECK_STR(ictus_strerror(1), "unknown error");
    CHECK_STR(ictus_strerror(last - 1), "unknown error");
    for (int a = 0; a >= last; a--) {
        REQUIRE(ictus_strerror(a));
        for (int b = 0; b > a; b--) {
            CHECK(strcmp(ictus_strerror(a), ictus_strerror(b)) != 0);
        }
    }
}

/* Variables in their order, each once, and none that others set for other reasons. */
static void variables_are_known(void)
{
    struct ictus_why why = {""};
    REQUIRE(clearenv() == 0 && setenv("ICTUS_PROGRESS", "0", 1) == 0);
    CHECK(ictus_variable_unknown(0, &why) == 0 && !why.text[0]);
    REQUIRE(setenv("ICTUS_ROOT", "/opt/ictus", 1) == 0 && setenv("ICTUS_TRACE_QUIET", "", 1) == 0);
    REQUIRE(setenv("ICTUS_SIMULATE_SHAPE", "cauchy", 1) == 0 && setenv("ICTUS", "ictus", 1) == 0);
    CHECK(ictus_variable_unknown(0, &why) == 0);
    REQUIRE(setenv("ICTUS_SYCN", "hca3", 1) == 0);
    const size_t first = ictus_variable_unknown(0, &why);
    CHECK(first > 0);
    CHECK_STR(why.text, "the variable ICTUS_SYCN has no effect; did you mean ICTUS_SYNC?");
    CHECK(ictus_variable_unknown(0, NULL) == first);
    CHECK(ictus_variable_unknown(first, &why) == 0);
    REQUIRE(unsetenv("ICTUS_SYCN") == 0 && setenv("ICTUS_FOO", "1", 1) == 0);
    CHECK(ictus_variable_unknown(0, &why) > 0);
    CHECK_STR(why.text, "the variable ICTUS_FOO has no effect; see ictus-environment(7)");
    REQUIRE(unsetenv("ICTUS_FOO") == 0);
    REQUIRE(setenv("ICTUS_TRACE_STATISTIC", "1", 1) == 0 && setenv("ICTUS_X_Y", "1", 1) == 0);
    size_t count = 0;
    for (size_t at = ictus_variable_unknown(0, &why); at > 0;
         at = ictus_variable_unknown(at, &why)) {
        count++;
    }
    CHECK(count == 2);
}

int main(void)
{
    errors_have_names();
    lines_break_at_blanks();
    quantities();
    nearest_names();
    lists();
    options_are_read();
    sizes_are_limited();
    variables_are_known();
    return check_result();
}
