/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's loop: what is opened and closed in which order, when what is done, and what is said.
 */
#define CHECK_OWN_INPUT
#include "run_scene.h"

#include <signal.h>
#include <unistd.h>

/* A source has been asked: the clock is as the test wants it. */
static void lock_clock(struct keeper *k, int source)
{
    (void)source;
    k->published = true;
    k->clock = scene_clock;
}

/* Everything is opened before privileges are dropped; only the thread of the metrics comes after.
 */
static void parts_are_opened_in_order(void)
{
    static const char whole[] = "steer page drift clockbound keys reference(r) keyed(a) keyed(b) "
                                "pool(p) pool(p) pool(p) pool(p) metrics drop thread | ; -thread "
                                "-steer -drift -clockbound -r -a -b -p -p -p -p -page -keys ";
    static const char *const parts[] = {"steer", "page",    "drift", "clockbound",
                                        "keys",  "metrics", "drop",  "thread"};
    struct ictus_why why = {""};
    for (size_t i = 0; i <= sizeof(parts) / sizeof(parts[0]); i++) {
        struct ictus_lock_options o = scene_begin("a,b");
        o.reference = "r";
        o.pool = "p";
        o.keys = "/keys";
        o.key = 5;
        o.drift = "/drift";
        o.clockbound = "/segment";
        o.metrics = "9123";
        o.steer = true;
        scene.fails = i < sizeof(parts) / sizeof(parts[0]) ? parts[i] : NULL;
        CHECK(ictus_lock_run(&o, &why) == (scene.fails ? ICTUS_ERR_PERMISSION : ICTUS_OK));
        if (!scene.fails) {
            CHECK_STR(scene.journal, whole);
            CHECK(scene.keep_time);
            continue;
        }
        /* Nothing after the part that failed; and all is closed that there is. */
        const char *end = strchr(scene.journal, ';');
        REQUIRE(end && !strchr(scene.journal, '|'));
        const size_t opened = (size_t)(end - scene.journal);
        const size_t last = strlen(parts[i]);
        CHECK(strncmp(scene.journal, whole, opened) == 0 && scene.steps == 0);
        CHECK(strncmp(scene.journal + opened - 1 - last, parts[i], last) == 0);
        CHECK(strstr(end, "; -thread -steer -drift -clockbound ") && strstr(end, "-page -keys "));
    }
    struct ictus_lock_options o = scene_begin("a");
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && !scene.keep_time);
    CHECK_STR(scene.journal, "page server(a) drop | ; -thread -steer -drift -clockbound -a -page "
                             "-keys ");
}

/* The metrics are those of the page, or of none; each time it is opened anew. */
static void metrics_are_the_pages(void)
{
    struct ictus_lock_options o = scene_begin("a");
    o.metrics = "9123";
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    REQUIRE(scene.metrics_text);
    for (int there = 0; there < 2; there++) {
        static struct ictus_lock_status status;
        static char text[16384], wanted[16384];
        struct ictus_lock_options page = {.name = "run", .directory = "/nowhere"};
        scene.journal[0] = '\0';
        scene.page_is_there = there;
        status.stratum = there ? 7 : 0;
        (void)ictusi_lock_metrics_text(&status, wanted, sizeof(wanted));
        CHECK(scene.metrics_text(&page, text, sizeof(text)) == strlen(wanted));
        CHECK_STR(text, wanted);
        CHECK_STR(scene.journal, there ? "read -read " : "read ");
    }
}

/* No descriptor stays open. */
static void descriptors_are_closed(void)
{
    const int before = dup(STDIN_FILENO);
    (void)close(before);
    struct ictus_lock_options o = scene_begin("a");
    o.metrics = "9123";
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    const int after = dup(STDIN_FILENO);
    (void)close(after);
    CHECK(before == after);
}

static void options_are_checked(void)
{
    static const struct {
        const char *servers, *pool, *wrong;
        int sources, min;
    } lists[] = {
        {"a", NULL, NULL, 1, 1},
        {"a,b,c", NULL, NULL, 3, 3},
        {"a,b,c", NULL, "only 3 sources", 3, 4},
        {"a,", NULL, NULL, 1, 0},
        {",a", NULL, "empty or too long", 0, 0},
        {"a,,b", NULL, "empty or too long", 1, 0},
        {"a,!b,c", NULL, "no such source", 1, 0},
        {NULL, NULL, "no source was given", 0, 0},
        {"", NULL, NULL, 0, 0},
        {"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", NULL, NULL, 16, 0},
        {"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL, "at most 16", 16, 0},
        {"1,2,3,4,5,6,7,8,9,10,11,12", "p", NULL, 16, 16},
        {"1,2,3,4,5,6,7,8,9,10,11,12,13", "p", "a pool counts as 4", 16, 0},
        {NULL, "p,q", NULL, 8, 8},
    };
    struct ictus_why why;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct ictus_lock_options o = scene_begin(lists[i].servers);
        o.pool = lists[i].pool;
        o.min_sources = lists[i].min;
        why.text[0] = '\0';
        const int err = ictus_lock_run(&o, &why);
        if (lists[i].wrong) {
            CHECK(err == ICTUS_ERR_SPEC && strstr(why.text, lists[i].wrong));
        } else {
            CHECK(err == (lists[i].sources ? ICTUS_OK : ICTUS_ERR_TIMEOUT));
        }
        int closed = 0;
        const char *end = strchr(scene.journal, ';');
        for (const char *at = end ? strstr(end, "-clockbound ") + 12 : "-page";
             strncmp(at, "-page", 5) != 0; at += strcspn(at, " ") + 1) {
            closed++;
        }
        CHECK(closed == lists[i].sources);
    }
    char longest[322];
    memset(longest, 'x', sizeof(longest));
    longest[320] = '\0';
    struct ictus_lock_options o = scene_begin(longest);
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_SPEC && strstr(why.text, "too long"));
    o = scene_begin(longest + 1);
    CHECK(ictus_lock_run(&o, &why) == ICTUS_OK);
    o = scene_begin("a");
    o.key = 6;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_SPEC && strstr(why.text, "--key=6"));
    o = scene_begin("?a");
    CHECK(ictus_lock_run(&o, &why) == ICTUS_OK);
    CHECK_STR(scene.said, "0 ?a: no hardware stamps\n");
}

static void numbers_are_checked(void)
{
    struct ictus_lock_options o = scene_begin("a");
    struct ictus_why why = {""};
    CHECK(ictus_lock_run(NULL, &why) == ICTUS_ERR_ARG);
    o.size--;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_ARG);
    static const int64_t exchanges[] = {0, 1, GROUP_MAX / 2, GROUP_MAX / 2 + 1};
    for (int i = 0; i < 4; i++) {
        o = scene_begin("a");
        o.exchanges = exchanges[i];
        CHECK((ictus_lock_run(&o, &why) == ICTUS_OK) == (i == 1 || i == 2));
    }
    o = scene_begin("a");
    o.tmax_s = 0.99;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_SPEC && strstr(why.text, "--tmin"));
    CHECK_STR(scene.journal, ""); /* before anything is opened */
}

/*
 * Sources begin 7 ms after each other, each is asked when it is due and not before, and the loop
 * ends at its time.
 */
static void sources_take_turns(void)
{
    struct ictus_lock_options o = scene_begin("a,b,c");
    scene.every[0] = 3 * second;
    scene.every[1] = second;
    scene.every[2] = second / 4;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(scene.first_step[i] == i * 7 * ms);
    }
    CHECK(scene.steps == 4 + 10 + 40 && scene.now == scene.began + 10 * second);
    CHECK(scene.updates == scene.steps && scene.polls == scene.steps);
    CHECK(scene.reports == scene.steps + 1 && scene.publishes == 0);
    /* A poll that would begin at the end does not begin. */
    o = scene_begin("a");
    scene.every[0] = 5 * second;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.steps == 2);
    o = scene_begin("a");
    o.duration_s = 0.75;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.steps == 2);
    CHECK(scene.now == scene.began + 750 * ms);
    o.duration_s = 10;
    o.on_poll = NULL;
    o.on_message = NULL;
    scene = (struct scene){.now = 3, .began = 3};
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.steps == 20);
}

static void source_dies(struct keeper *k, int source)
{
    k->sources[source].dead = scene.steps > 5;
}

/* Without a duration, the loop ends when no source is left to ask. */
static void runs_end_with_their_sources(void)
{
    struct ictus_lock_options o = scene_begin("a,b");
    o.duration_s = 0;
    o.polls = 3;
    scene.every[0] = 7 * second;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    CHECK(scene.steps == 6 && scene.now == scene.began + 14 * second);
    o = scene_begin("a,b");
    o.duration_s = 0;
    scene.on_step = source_dies;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.steps == 7);
}

static int wanted_signal;

static void signal_comes(void)
{
    if (scene.now >= scene.began + 5 * second / 2) {
        CHECK(raise(wanted_signal) == 0);
    }
}

/* A signal ends the loop at once, and is not left pending; the old mask is restored. */
static void signals_end_runs(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct ictus_lock_options o = scene_begin("a");
        sigset_t mask, pending;
        wanted_signal = signals[i];
        o.duration_s = 0;
        scene.every[0] = second;
        scene.event = UPSTREAM_LOST; /* no answer is no failure if one was told to stop */
        scene.on_wait = signal_comes;
        CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
        CHECK(scene.steps == 3 && scene.last_step == scene.began + 2 * second);
        CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, signals[i]));
        CHECK(sigpending(&pending) == 0 && !sigismember(&pending, signals[i]));
    }
}

/* A run in which nobody answered failed, for the reason that is known best. */
static void silence_is_a_failure(void)
{
    static const struct {
        enum upstream_event event;
        int err;
        const char *text;
    } cases[] = {{UPSTREAM_FIRST, ICTUS_OK, NULL},
                 {UPSTREAM_STEPPED, ICTUS_OK, NULL},
                 {UPSTREAM_GLITCH, ICTUS_OK, NULL},
                 {UPSTREAM_LOST, ICTUS_ERR_TIMEOUT, "a: no answer"},
                 {UPSTREAM_CLOCK, ICTUS_ERR_TIMEOUT, "a: no answer"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_lock_options o = scene_begin("a");
        struct ictus_why why = {""};
        scene.event = cases[i].event;
        CHECK(ictus_lock_run(&o, &why) == cases[i].err);
        CHECK_STR(why.text, cases[i].text ? cases[i].text : "");
    }
}

static void source_has_trouble(struct keeper *k, int source)
{
    struct upstream *s = &k->sources[source];
    s->missed++;
    if (scene.event == UPSTREAM_REFUSED) {
        s->peer.fault = PACKET_DISTANCE;
    } else if (scene.event == UPSTREAM_KISS) {
        s->peer.reply.reference_id = 0x44454e59; /* DENY */
        s->dead = s->missed == 2;
    } else if (scene.event == UPSTREAM_STEPPED) {
        s->discipline.innovation_ns = -1.5e9;
    } else if (s->missed < 3) {
        (void)snprintf(s->trouble, sizeof(s->trouble), "cannot resolve a");
    } else {
        s->trouble[0] = '\0';
    }
}

/* What happens with a source is said once, not with every poll. */
static void events_are_told(void)
{
    static const struct {
        enum upstream_event event;
        const char *said, *why;
    } cases[] = {
        {UPSTREAM_KISS,
         "1 a: kiss-o'-death DENY: it will be asked less often\n"
         "2 a: kiss-o'-death DENY: it will not be asked again\n",
         "a: no answer"},
        {UPSTREAM_REFUSED, "1 a: reply refused: too distant\n", "a: too distant"},
        {UPSTREAM_LOST, "1 cannot resolve a; trying again\n3 a: no answer\n", "a: no answer"},
        {UPSTREAM_ACCEPTED, "", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_lock_options o = scene_begin("a");
        struct ictus_why why = {""};
        scene.event = cases[i].event;
        scene.on_step = source_has_trouble;
        (void)ictus_lock_run(&o, &why);
        CHECK_STR(scene.said, cases[i].said);
        CHECK_STR(why.text, cases[i].why);
    }
    struct ictus_lock_options o = scene_begin("a");
    struct ictus_why why = {""};
    o.polls = 2;
    scene.event = UPSTREAM_LOST;
    scene.on_step = source_has_trouble;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_IO);
    CHECK_STR(why.text, "cannot resolve a");
    o = scene_begin("a");
    o.polls = 1;
    scene.event = UPSTREAM_STEPPED;
    scene.on_step = source_has_trouble;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_OK);
    CHECK_STR(scene.said, "1 a: stepped by -1.500000000 s\n");
    o = scene_begin("a");
    o.polls = 1;
    scene.event = UPSTREAM_CLOCK;
    (void)ictus_lock_run(&o, &why);
    CHECK_STR(scene.said, "1 CLOCK_REALTIME was set during an exchange with a\n");
}

static void clock_is_set(struct keeper *k, int source)
{
    (void)k, (void)source;
    /* The watch that follows the polls sees it, too. */
    scene.watch_events = scene.steps == 2   ? TIMEBASE_STEPPED
                         : scene.steps == 3 ? TIMEBASE_SUSPENDED
                                            : 0;
    scene.last_tick = scene.watches;
}

static void clocks_are_watched(void)
{
    struct ictus_lock_options o = scene_begin("a");
    o.polls = 3;
    scene.on_step = clock_is_set;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    CHECK_STR(scene.said, "2 CLOCK_REALTIME was set; the locked clock continues unchanged\n"
                          "3 the machine was suspended; starting over\n");
    CHECK(scene.watches == 6 && scene.last_tick == 5); /* before the polls, and after them */
}

/* What the selection says after each poll of the first source. */
static const enum agreement agreements[] = {
    AGREEMENT_DISSENT, /* at first the second one was not asked */
    AGREEMENT_DISSENT, AGREEMENT_NONE, AGREEMENT_MAJORITY, AGREEMENT_MAJORITY,
    AGREEMENT_FEW,     AGREEMENT_FEW,  AGREEMENT_MAJORITY,
};

static void sources_agree(struct keeper *k, int source)
{
    k->agreement = agreements[k->sources[0].polls - 1];
    k->consensus = (struct consensus){.voters = 5, .liars = 2, .agreeing = 3};
    k->sources[source].selection = source == 1 ? ICTUS_SOURCE_FALSETICKER : ICTUS_SOURCE_SELECTED;
}

static uint64_t falseticks[2];

static void falseticks_are_kept(const struct ictus_lock_poll *poll, void *context)
{
    (void)poll, (void)context;
    falseticks[0] = scene.keeper->sources[0].falseticks;
    falseticks[1] = scene.keeper->sources[1].falseticks;
}

/* Losing and finding a majority is told once all sources were asked, and when it changes. */
static void agreement_is_told(void)
{
    struct ictus_lock_options o = scene_begin("a,b");
    o.min_sources = 2;
    o.polls = 8;
    o.on_poll = falseticks_are_kept;
    scene.on_step = sources_agree;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    CHECK_STR(scene.said,
              "2 unlocked: there is no majority among 5 sources, of which at most 2 may be wrong\n"
              "7 locked: a majority agrees (3 of 5 sources)\n"
              "11 unlocked: --min-sources=2 must agree, but only 3 do\n"
              "15 locked: a majority agrees (3 of 5 sources)\n");
    CHECK(falseticks[0] == 0 && falseticks[1] == 8);
}

/* Around a leap second nobody is asked, and all begin again after it. */
static void leaps_are_quiet(void)
{
    struct ictus_lock_options o = scene_begin("a,b");
    scene.every[0] = scene.every[1] = second;
    scene.quiet_until = scene.began + 5 * second;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    CHECK(scene.postponed_until == scene.quiet_until && scene.steps == 10);
    CHECK(scene.first_step[0] == 5 * second && scene.first_step[1] == 5 * second);
}

static void change_grows(struct keeper *k, int source)
{
    (void)source;
    scene.changed_too_far = scene.steps == 3;
    k->largest_change_ns = 1.25e9;
}

static void too_large_changes_end_runs(void)
{
    struct ictus_lock_options o = scene_begin("a");
    struct ictus_why why = {""};
    scene.on_step = change_grows;
    CHECK(ictus_lock_run(&o, &why) == ICTUS_ERR_TOLERANCE && scene.steps == 3);
    CHECK(strstr(why.text, "would change by 1.250000 s") != NULL);
}

/* CLOCK_REALTIME is steered once a second, however rarely sources are asked. */
static void steering_is_regular(void)
{
    for (int i = 0; i < 3; i++) {
        struct ictus_lock_options o = scene_begin("a");
        o.steer = i != 1;
        scene.every[0] = 4 * second;
        scene.offset_ns = 1234.5;
        scene.on_step = i == 2 ? NULL : lock_clock; /* nothing to steer by before it is locked */
        CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.steps == 3);
        CHECK(scene.applied == (i == 0 ? 10 : 0) && scene.told == 0);
    }
}

static void steps_are_its_own(void)
{
    if (scene.applied) {
        CHECK(scene.keeper->seen_steps == scene.keeper->base.stepped);
        CHECK(scene.reads > scene.reads_applied);
    }
}

static void own_steps_are_not_reported(void)
{
    struct ictus_lock_options o = scene_begin("a");
    o.steer = true;
    scene.on_step = lock_clock;
    scene.on_wait = steps_are_its_own;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.applied == 10);
}

/*
 * The bound of CLOCK_REALTIME for others: its distance to the clock, what is still to be slewed,
 * and the bound of the clock, which has grown since its anchor; and how fast all of that may grow.
 */
static void bounds_are_told(void)
{
    static const struct {
        int64_t state;
        enum clockbound_status status;
        double offset_ns, slew_ns, slew_rate, slope, rate, left;
    } cases[] = {
        {ICTUS_LOCK_LOCKED, CLOCKBOUND_SYNCHRONIZED, -300, 0, 0, 2e-6, 1e-6, 0},
        {ICTUS_LOCK_HOLDOVER, CLOCKBOUND_FREE_RUNNING, 300, -5000, 1e-6, -2e-6, 5e-6, 2000},
        {ICTUS_LOCK_UNLOCKED, CLOCKBOUND_UNKNOWN, 0, 5000, 1e-6, 2e-6, -5e-6, 2000},
        {ICTUS_LOCK_LOCKED, CLOCKBOUND_SYNCHRONIZED, 0, 2000, 1e-6, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_lock_options o = scene_begin("a");
        o.clockbound = "/segment";
        o.duration_s = 3.5;
        scene.offset_ns = cases[i].offset_ns;
        scene.on_step = lock_clock;
        scene.every[0] = 100 * second;
        scene_clock = (struct page_clock){.anchor = scene.began,
                                          .state = cases[i].state,
                                          .bound_ns = 700,
                                          .bound_rate = 40,
                                          .slope = cases[i].slope,
                                          .slew_ns = cases[i].slew_ns,
                                          .slew_rate = cases[i].slew_rate};
        CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
        /* The last one is 3 s after the anchor; all sources but one are long done. */
        CHECK(scene.told == 4 && scene.told_status == cases[i].status && scene.applied == 0);
        CHECK_NEAR(scene.told_bound, fabs(cases[i].offset_ns) + cases[i].left + 700 + 3 * 40, 1e-6);
        CHECK_NEAR(scene.told_drift, fabs(cases[i].slope) * 1e9 + 40, 1e-6);
    }
}

static void base_drifts(struct keeper *k, int source)
{
    lock_clock(k, source);
    k->base.rate = -5e-6;
}

/* CLOCK_REALTIME may be steered by others: the bound grows by the difference of both rates. */
static void other_rates_count(void)
{
    struct ictus_lock_options o = scene_begin("a");
    o.clockbound = "/segment";
    scene.on_step = base_drifts;
    scene_clock = (struct page_clock){.anchor = scene.began, .slope = 2e-6, .bound_rate = 40};
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
    CHECK_NEAR(scene.told_drift, 3000 + 40, 1e-6);
    o = scene_begin("a");
    o.clockbound = "/segment";
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.told == 0); /* never locked */
}

/* The frequency is kept each hour and at the end, but only that of a locked clock. */
static void frequencies_are_kept(void)
{
    for (int i = 0; i < 4; i++) {
        struct ictus_lock_options o = scene_begin("a");
        o.drift = i == 1 ? NULL : "/drift";
        o.duration_s = 2 * 3600 + 1800;
        scene.every[0] = 100 * second;
        scene.on_step = i == 3 ? NULL : lock_clock;
        scene_clock = (struct page_clock){.state = i == 2 ? ICTUS_LOCK_HOLDOVER : ICTUS_LOCK_LOCKED,
                                          .slope = -3e-6,
                                          .ff_ns2_per_s2 = 49};
        CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
        CHECK(scene.drifts == (i == 0 ? 3 : 0));
        if (i == 0) {
            CHECK_NEAR(scene.drift_frequency, -3000, 1e-9);
            CHECK_NEAR(scene.drift_sd, 7, 1e-9);
        }
    }
    struct ictus_lock_options o = scene_begin("a");
    o.drift = "/drift";
    scene.on_step = lock_clock;
    scene.drift_unwritable = true;
    scene_clock.state = ICTUS_LOCK_LOCKED;
    CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.drifts == 1);
    CHECK(strstr(scene.said, "cannot write the drift file: ") != NULL);
}

/* A source begins with the frequency that was kept, trusted more if it is of this boot. */
static void frequencies_are_taken_over(void)
{
    for (int i = 0; i < 3; i++) {
        struct ictus_lock_options o = scene_begin("a");
        o.drift = "/drift";
        scene.drift_known = i < 2;
        scene.drift_same_boot = i == 0;
        CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK);
        CHECK_NEAR(scene.expected, i < 2 ? 1234 : 0, 0);
        CHECK_NEAR(scene.expected_sd, i == 0 ? 3 * 7 + 100 : i == 1 ? 3 * 7 + 1000 : 0, 1e-9);
    }
}

/* The clock that stays behind is one that is no longer renewed. */
static void clocks_are_left_in_holdover(void)
{
    for (int i = 0; i < 3; i++) {
        struct ictus_lock_options o = scene_begin("a");
        scene.on_step = i == 2 ? NULL : lock_clock;
        scene_clock = (struct page_clock){.state = i == 0 ? ICTUS_LOCK_LOCKED : ICTUS_LOCK_UNLOCKED,
                                          .value = 99};
        CHECK(ictus_lock_run(&o, NULL) == ICTUS_OK && scene.publishes == (i == 0));
        CHECK(i > 0 ||
              (scene.published.state == ICTUS_LOCK_HOLDOVER && scene.published.value == 99));
    }
}

int main(void)
{
    parts_are_opened_in_order();
    metrics_are_the_pages();
    descriptors_are_closed();
    options_are_checked();
    numbers_are_checked();
    sources_take_turns();
    runs_end_with_their_sources();
    signals_end_runs();
    silence_is_a_failure();
    events_are_told();
    clocks_are_watched();
    agreement_is_told();
    leaps_are_quiet();
    too_large_changes_end_runs();
    steering_is_regular();
    own_steps_are_not_reported();
    bounds_are_told();
    other_rates_count();
    frequencies_are_kept();
    frequencies_are_taken_over();
    clocks_are_left_in_holdover();
    return check_result();
}
