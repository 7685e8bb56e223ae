/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members of communicators: from the lists in logs, from communicators that are alike, and,
 * where the log that lists them is lost, from what each process says of itself.
 */
#include "../check.h"

#include "trace/unify_groups.h"
#include "tracer/record.h"

enum { LOGS = 3, KEYS = 8 };

static const char *const head = "H\t1\t2\t%d\t3\t77\nK\t0\t0\t0\t0\nA\t0\t0\nO\thost\nX\tprogram\n"
                                "L\tnone\nI\t1\nS\t0\t0\t0\t1\t1\t1\nS\t9\t9\t0\t1\t1\t1\n";

static int members_of(const char *text, uint32_t most, struct unified_group *group)
{
    *group = (struct unified_group){NULL, 0};
    return ictusi_unify_members(text, most, group);
}

/* A list has its numbers in order, however many of them a range names. */
static void lists_are_read(void)
{
    static const struct {
        const char *text;
        uint32_t count;
        uint64_t members[6];
    } cases[] = {{"", 0, {0}},
                 {"?7", 0, {0}},
                 {"0", 1, {0}},
                 {"9,8", 2, {9, 8}},
                 {"3-3", 1, {3}},
                 {"2-4,0,17-18", 6, {2, 3, 4, 0, 17, 18}},
                 {"18446744073709551615", 1, {UINT64_MAX}},
                 {"18446744073709551614-18446744073709551614", 1, {UINT64_MAX - 1}},
                 {"5,", 1, {5}},
                 {"1 2", 1, {1}}};
    struct unified_group group;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(members_of(cases[i].text, 6, &group) == ICTUS_OK);
        CHECK(group.count == cases[i].count);
        for (uint32_t k = 0; k < group.count && k < 6; k++) {
            CHECK(group.members[k] == cases[i].members[k]);
        }
        free(group.members);
    }
    CHECK(members_of("10-1009,5-6", 5000, &group) == ICTUS_OK && group.count == 1002);
    for (uint32_t k = 0; k < group.count; k++) {
        CHECK(group.members[k] == (k < 1000 ? 10 + k : k - 995));
    }
    free(group.members);
}

/* No list has more than its share, and no range goes backwards, whatever else the other says. */
static void lists_have_bounds(void)
{
    static const char *const bad[] = {"0-3",     "1-0",     "2,1-0",
                                      "0,1,2,3", "0-1,7-8", "0-18446744073709551615",
                                      "9-8,1",   "0,5-7",   "1000-1"};
    static const char *const good[] = {"0-2", "0,1,2", "7-8,1", "0,5-6"};
    struct unified_group group;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(members_of(bad[i], 3, &group) == ICTUS_ERR_FORMAT);
        CHECK(group.count <= 3);
        free(group.members);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(members_of(good[i], 3, &group) == ICTUS_OK && group.count == 3);
        free(group.members);
    }
}

/* Communicators that records refer to, by key; two more have no number. */
static void unified_begin(struct unified *u, struct unified_comm *comms)
{
    *u = (struct unified){.comms = comms};
    for (uint64_t key = 1; key <= KEYS; key++) {
        bool fresh = false;
        const uint32_t number = ictusi_keymap_put(&u->comm_keys, 0x100 + key, &fresh);
        REQUIRE(fresh && number == key - 1);
        comms[number] = (struct unified_comm){
            .key = 0x100 + key, .name = "", .group = KEYMAP_NONE, .other = KEYMAP_NONE, .size = 3};
    }
}

static void unified_end(struct unified *u)
{
    for (uint32_t i = 0; i < u->group_count; i++) {
        free(u->groups[i].members);
    }
    free(u->groups);
    ictusi_keymap_free(&u->comm_keys);
    ictusi_keymap_free(&u->group_keys);
}

static void log_parse(struct rawlog *log, int rank, const char *lines)
{
    char text[2048];
    struct ictus_why why = {""};
    int length = snprintf(text, sizeof text, head, rank);
    length += snprintf(text + length, sizeof text - (size_t)length, "%s", lines);
    const int err = ictusi_rawlog_parse(text, (size_t)length, log, &why);
    if (err) {
        printf("%s\n", why.text);
    }
    REQUIRE(!err);
}

static void group_is(const struct unified *u, uint32_t number, uint32_t count,
                     const uint64_t *wanted)
{
    REQUIRE(number < u->group_count && u->groups[number].count == count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(u->groups[number].members[i] == wanted[i]);
    }
}

/* Lists of one text are one group; one that nobody refers to is none. */
static void communicators_have_members(void)
{
    static const uint64_t first[] = {0, 1, 2}, second[] = {2, 0};
    struct unified_comm comms[KEYS];
    struct unified u;
    struct rawlog logs[LOGS] = {{.text = NULL}};
    unified_begin(&u, comms);
    log_parse(&logs[0], 0,
              "D\t104\t103\nG\t101\ta\t0-2\nG\t102\ta\t2,0\nG\t999\ta\t1\nD\t998\t101\n");
    /* log 1 is lost */
    log_parse(&logs[2], 2, "G\t103\ta\t2,0\nG\t103\tb\t0-2\nD\t105\t101\nD\t106\t997\n");
    CHECK(ictusi_unify_groups(&u, logs, LOGS) == ICTUS_OK);
    CHECK(u.group_count == 2);
    group_is(&u, comms[0].group, 3, first);
    group_is(&u, comms[1].group, 2, second);
    CHECK(comms[0].other == KEYMAP_NONE && comms[1].other == KEYMAP_NONE);
    CHECK(comms[2].group == comms[1].group && comms[2].other == comms[0].group);
    /* Those that are like another have what that has, also if it is listed later. */
    CHECK(comms[3].group == comms[2].group && comms[3].other == comms[2].other);
    CHECK(comms[4].group == comms[0].group && comms[4].other == KEYMAP_NONE);
    CHECK(comms[5].group == KEYMAP_NONE && comms[6].group == KEYMAP_NONE);
    for (int p = 0; p < LOGS; p++) {
        ictusi_rawlog_free(&logs[p]);
    }
    unified_end(&u);
    unified_begin(&u, comms);
    log_parse(&logs[0], 0, "G\t101\ta\t7-3\n"); /* damaged */
    CHECK(ictusi_unify_groups(&u, logs, 1) == ICTUS_ERR_NOMEM);
    CHECK(comms[0].group == KEYMAP_NONE);
    ictusi_rawlog_free(&logs[0]);
    unified_end(&u);
}

/* Who says which rank it has is that one; of the others nothing is known. */
static void lost_lists_are_mended(void)
{
    static const uint64_t known[] = {0, 2, 0}, listed[] = {1};
    struct unified_comm comms[KEYS];
    struct unified u;
    struct rawlog logs[LOGS] = {{.text = NULL}};
    unified_begin(&u, comms);
    comms[1].size = 0;
    comms[2].self = true;
    comms[3].size = -1;
    comms[4].size = (1 << 26) + 1; /* more than any job has */
    comms[5].size = 1;
    comms[6].size = comms[7].size = 0;
    log_parse(&logs[0], 0, "G\t106\ta\t1\nC\t0\t102\t0\t3\t-1\n");
    log_parse(&logs[2], 2,
              "C\t0\t101\t1\t3\t-1\nC\t1\t101\t3\t3\t-1\nC\t2\t101\t-1\t3\t-1\n"
              "C\t3\t102\t2\t3\t-1\nC\t4\t106\t0\t1\t-1\n");
    REQUIRE(ictusi_unify_groups(&u, logs, LOGS) == ICTUS_OK && u.group_count == 1);
    CHECK(ictusi_unify_groups_mend(&u, logs, LOGS) == ICTUS_OK);
    CHECK(u.group_count == 2);
    group_is(&u, comms[0].group, 3, known);
    group_is(&u, comms[5].group, 1, listed);
    for (int i = 1; i < KEYS; i++) {
        CHECK(i == 5 || comms[i].group == KEYMAP_NONE);
    }
    for (int p = 0; p < LOGS; p++) {
        ictusi_rawlog_free(&logs[p]);
    }
    unified_end(&u);
    /* Two of them are two groups, also if the same is known of both. */
    unified_begin(&u, comms);
    CHECK(ictusi_unify_groups_mend(&u, logs, 0) == ICTUS_OK && u.group_count == KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        static const uint64_t zeros[] = {0, 0, 0};
        CHECK(comms[i].group == i);
        group_is(&u, i, 3, zeros);
    }
    unified_end(&u);
    /* The first of them may be any process. */
    static const uint64_t turned[] = {2, 0, 0};
    unified_begin(&u, comms);
    log_parse(&logs[2], 2, "C\t0\t101\t0\t3\t-1\n");
    logs[0].text = NULL;
    CHECK(ictusi_unify_groups_mend(&u, logs, LOGS) == ICTUS_OK);
    group_is(&u, comms[0].group, 3, turned);
    ictusi_rawlog_free(&logs[2]);
    unified_end(&u);
}

enum { NAMES = 9 };

/* What every process names in an order of its own has one number, by which all mean the same. */
static void names_have_one_number(void)
{
    struct rawlog logs[LOGS] = {{.text = NULL}};
    struct trace_map maps[LOGS] = {{NULL, 0}};
    struct unified u;
    for (int p = 0; p < LOGS; p++) {
        char lines[1024];
        int length = 0;
        for (int i = 0; i < NAMES; i++) {
            const int n = (i * (p + 1) + p) % NAMES; /* twice some, where p + 1 divides it */
            length += snprintf(lines + length, sizeof lines - (size_t)length,
                               "R\t%d\tregion%d\nP\t%d\tevent%d\nU\t%d\t0\tmetric%d\tunit%d\n"
                               "Z\t%d\tfile%d\n",
                               REGION_USER + i, n, i, n, METRIC_CLASS_USER + i, n, n, i, n);
        }
        log_parse(&logs[p], p, lines);
    }
    REQUIRE(!ictusi_unify(logs, LOGS, false, &u, maps));
    CHECK(u.region_keys.count == NAMES && u.event_keys.count == NAMES);
    CHECK(u.metric_keys.count == NAMES && u.file_keys.count == NAMES);
    for (int p = 0; p < LOGS; p++) {
        for (uint32_t i = 0; i < NAMES; i++) {
            const struct {
                enum map_kind kind;
                const struct unified_name *names;
                const char *word;
            } kinds[] = {{MAP_REGION, u.regions, "region"},
                         {MAP_EVENT, u.events, "event"},
                         {MAP_METRIC, u.metrics, "metric"},
                         {MAP_DELETED, u.files, "file"}};
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
                char wanted[32];
                const uint32_t number = ictusi_unify_map_get(&maps[p], kinds[k].kind, i);
                (void)snprintf(wanted, sizeof wanted, "%s%d", kinds[k].word,
                               ((int)i * (p + 1) + p) % NAMES);
                REQUIRE(number < NAMES);
                CHECK_STR(kinds[k].names[number].name, wanted);
            }
            CHECK(ictusi_unify_map_get(&maps[p], MAP_REGION, NAMES) == KEYMAP_NONE);
        }
        free(maps[p].flat);
    }
    ictusi_unify_free(&u);
    for (int p = 0; p < LOGS; p++) {
        ictusi_rawlog_free(&logs[p]); /* whose texts the names are */
    }
}

int main(void)
{
    names_have_one_number();
    lists_are_read();
    lists_have_bounds();
    communicators_have_members();
    lost_lists_are_mended();
    return check_result();
}
