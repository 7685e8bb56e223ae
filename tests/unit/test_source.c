/* SPDX-License-Identifier: BSD-3-Clause */
/* Time sources: every one reads forward; simulated ones know their truth and refuse nonsense. */
#include "clock/source.h"
#include "page/page.h"

#include <stdint.h>
#include <unistd.h>

#include "../check.h"

static struct source *opened(const char *spec, int process, int node)
{
    const struct source_place place = {process, node};
    struct source *source = NULL;
    struct ictus_why why = {""};
    const int err = ictusi_source_open(spec, &place, &source, &why);
    if (err) {
        (void)fprintf(stderr, "%s: %s\n", spec, why.text);
    }
    REQUIRE(!err);
    return source;
}

static void reads_forward(const char *spec)
{
    struct source *source = opened(spec, 0, 0);
    int64_t before = ictusi_source_read(source);
    int backwards = 0;
    for (int i = 0; i < 100000; i++) {
        const int64_t now = ictusi_source_read(source);
        backwards += now < before;
        before = now;
    }
    CHECK(backwards == 0);
    ictusi_source_free(source);
}

static void truth_is_known(const char *spec)
{
    struct source *skewed = opened(spec, 1, 1);
    struct source *real = opened("monotonic", 0, 0);
    for (int i = 0; i < 1000; i++) {
        const int64_t before = ictusi_source_read(real);
        const int64_t local = ictusi_source_read(skewed);
        const int64_t after = ictusi_source_read(real);
        const int64_t truth = skewed->ops->truth(skewed, local);
        CHECK(truth >= before - 1 && truth <= after + 1);
    }
    ictusi_source_free(real);
    ictusi_source_free(skewed);
}

static void nodes_differ_and_seeds_repeat(void)
{
    struct source *a = opened("sim:offset=1s,seed=4", 0, 0);
    struct source *b = opened("sim:offset=1s,seed=4", 0, 1);
    struct source *c = opened("sim:offset=1s,seed=4", 5, 1);
    struct source *d = opened("sim:offset=1s,seed=4,scope=process", 5, 1);
    const int64_t ta = ictusi_source_read(a);
    const int64_t tb = ictusi_source_read(b);
    const int64_t tc = ictusi_source_read(c);
    const int64_t td = ictusi_source_read(d);
    CHECK(llabs(ta - tb) > 1000000);
    CHECK(llabs(tb - tc) < 10000000);
    CHECK(llabs(tc - td) > 1000000);
    char ia[SOURCE_IDENTITY_MAX];
    char ib[SOURCE_IDENTITY_MAX];
    a->ops->identify(a, ia, sizeof(ia));
    b->ops->identify(b, ib, sizeof(ib));
    CHECK(strcmp(ia, ib) != 0);
    ictusi_source_free(a);
    ictusi_source_free(b);
    ictusi_source_free(c);
    ictusi_source_free(d);
}

static void nonsense_is_refused(void)
{
    static const char *const bad[] = {"monotnic",
                                      "sim:offset=x",
                                      "sim:offsets=0,,1",
                                      "sim:drift=2",
                                      "tsc:a=1",
                                      "sim:scope=galaxy",
                                      "sim:base=nothing",
                                      "phc",
                                      "sim:walk=-1",
                                      "",
                                      "sim:base=sim:",
                                      "phc:/dev/null",
                                      "monotonic(a)",
                                      "sim:seed=1.5",
                                      "sim:offsets=1x",
                                      "sim:drifts=0,9",
                                      "phc:/does/not/exist"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct source *source = NULL;
        struct ictus_why why = {""};
        if (ictusi_source_open(bad[i], NULL, &source, &why) == ICTUS_OK) {
            (void)fprintf(stderr, "accepted: %s\n", bad[i]);
        }
        CHECK(source == NULL);
        CHECK(why.text[0] != '\0');
    }
}

/* A locked clock is one for this machine's processes; for all machines' only where that is asked.
 */
static void test_shared_lock(void)
{
    char directory[] = "/tmp/ictus-source-XXXXXX", spec[128], own[256], everywhere[256];
    struct page_writer writer;
    struct ictus_why why;
    REQUIRE(mkdtemp(directory) && ictusi_page_create("s", directory, &writer, &why) == ICTUS_OK);
    const struct page_clock clock = {.anchor = 1, .value = 1, .state = ICTUS_LOCK_LOCKED};
    ictusi_page_publish(&writer, &clock);
    (void)snprintf(spec, sizeof(spec), "lock:name=s,directory=%s", directory);
    struct source *source = opened(spec, 0, 0);
    source->ops->identify(source, own, sizeof(own));
    ictusi_source_free(source);
    (void)snprintf(spec, sizeof(spec), "lock:name=s,directory=%s,shared=yes", directory);
    source = opened(spec, 0, 0);
    source->ops->identify(source, everywhere, sizeof(everywhere));
    ictusi_source_free(source);
    CHECK(strncmp(everywhere, "everywhere/", 11) == 0);
    CHECK(strncmp(own, "everywhere/", 11) != 0);
    ictusi_page_close(&writer);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(spec, sizeof(spec), "%s/ictus-%s.s", directory, i ? "lock" : "guard");
        CHECK(unlink(spec) == 0);
    }
    CHECK(rmdir(directory) == 0);
}

int main(void)
{
    test_shared_lock();
    reads_forward("monotonic");
    reads_forward("monotonic_raw");
    reads_forward("sim:drift=100ppm,walk=1e-6");
    struct source *tsc = NULL;
    if (!ictusi_source_open("tsc", NULL, &tsc, NULL)) {
        ictusi_source_free(tsc);
        reads_forward("tsc");
    }
    truth_is_known("sim:offset=1.5s,drift=50ppm,walk=1e-6,seed=9");
    truth_is_known("sim:offsets=0,-3.2s,drifts=0,-7.3ppm");
    nodes_differ_and_seeds_repeat();
    nonsense_is_refused();
    return check_result();
}
