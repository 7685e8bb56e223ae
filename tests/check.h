/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The test framework: CHECK records a failure and goes on (so that no rank leaves a collective),
 * REQUIRE stops. A test is a plain program; check_result() is what main returns. 77 means skipped.
 */
#ifndef ICTUS_TESTS_CHECK_H
#define ICTUS_TESTS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CHECK_ABORT
#define CHECK_ABORT() exit(1)
#endif

enum { CHECK_SKIP = 77 };

/*
 * Whether a sanitizer watches. It looks at the code, not at distributions: a test of many random
 * trials needs few of them then, and leaves its statistics to the build without.
 */
#if defined(__SANITIZE_ADDRESS__)
#define CHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_SANITIZED 1
#endif
#endif
#ifndef CHECK_SANITIZED
#define CHECK_SANITIZED 0
#endif

/* How many random trials there are, and what holds only of all of them. */
#define CHECK_TRIALS(count) (CHECK_SANITIZED ? ((count) + 9) / 10 : (count))
#define CHECK_OF_TRIALS(condition) CHECK(CHECK_SANITIZED || (condition))

static int check_failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_failures++;                                                                      \
            (void)fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition);    \
        }                                                                                          \
    } while (0)

#define CHECK_NEAR(value, wanted, tolerance)                                                       \
    do {                                                                                           \
        const double check_v = (double)(value);                                                    \
        const double check_w = (double)(wanted);                                                   \
        if (!(fabs(check_v - check_w) <= (double)(tolerance))) {                                   \
            check_failures++;                                                                      \
            (void)fprintf(stderr, "%s:%d: %s = %.17g, wanted %.17g +- %g\n", __FILE__, __LINE__,   \
                          #value, check_v, check_w, (double)(tolerance));                          \
        }                                                                                          \
    } while (0)

#define CHECK_STR(value, wanted)                                                                   \
    do {                                                                                           \
        if (strcmp((value), (wanted)) != 0) {                                                      \
            check_failures++;                                                                      \
            (void)fprintf(stderr, "%s:%d: %s = \"%s\", wanted \"%s\"\n", __FILE__, __LINE__,       \
                          #value, (value), (wanted));                                              \
        }                                                                                          \
    } while (0)

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: REQUIRE(%s) failed\n", __FILE__, __LINE__, #condition);  \
            CHECK_ABORT();                                                                         \
        }                                                                                          \
    } while (0)

enum { CHECK_PATH = 96 };

/*
 * Unit tests begin without standard input, as daemons may: the first file that is opened has
 * descriptor 0 then, which is as good as any other. A test that closes it itself defines
 * CHECK_OWN_INPUT.
 */
#if defined(CHECK_CLOSED_INPUT) && !defined(CHECK_OWN_INPUT)
__attribute__((constructor)) static void check_close_input(void)
{
    (void)close(STDIN_FILENO);
}
#endif

/* A name for mkdtemp() or mkstemp() where a test may write: in TMPDIR, whose owner clears what a
 * test that is ended leaves there. */
static inline char *check_scratch(char path[CHECK_PATH], const char *name)
{
    const char *base = getenv("TMPDIR");
    const int length = snprintf(path, CHECK_PATH, "%s/ictus-%s-XXXXXX", base ? base : "/tmp", name);
    REQUIRE(length > 0 && length < CHECK_PATH);
    return path;
}

static inline int check_result(void)
{
    return check_failures ? 1 : 0;
}

#endif
