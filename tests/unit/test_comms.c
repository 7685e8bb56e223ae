/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tracer says of communicators, windows and files. A made-up job of six processes makes
 * them in every way that there is, one process after the other, as nothing is sent: all members of
 * a communicator find the same key, different ones have different keys, and among all logs the
 * members of each group are told once.
 */
#include "../check.h"

#include "tracer/comms.h"
#include "tracer/real.h"

#include <ctype.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum { PROCESSES = 6, MEMBERS = 8, FOREIGN = 100 };

/* The communicators of the job. Those from FOREIGN on are processes of another one. */
enum {
    WORLD,
    SELF,
    EVEN,
    ODD,
    DUPLICATE,
    REVERSED,
    GROUP,
    GROUP_AGAIN,
    GROUP_TAG,
    BETWEEN,
    BETWEEN_DUP,
    BETWEEN_TAG,
    NESTED,
    NOT_YET,
    PORT,
    PORT_UNEVEN,
    PORT_NAMED,
    PORT_OTHER,
    TEXT,
    TEXT_OTHER,
    TEXT_APART,
    UNSEEN,
    ABROAD,
    MERGED,
    MADE
};

static const struct model {
    int local, remote; /* sizes */
    int members[2][MEMBERS];
} models[MADE] = {
    [WORLD] = {6, 0, {{0, 1, 2, 3, 4, 5}}},
    [SELF] = {1, 0, {{0}}},
    [EVEN] = {3, 0, {{0, 2, 4}}},
    [ODD] = {2, 0, {{1, 3}}},
    [DUPLICATE] = {6, 0, {{0, 1, 2, 3, 4, 5}}},
    [REVERSED] = {6, 0, {{5, 4, 3, 2, 1, 0}}},
    [GROUP] = {2, 0, {{1, 3}}},
    [GROUP_AGAIN] = {2, 0, {{1, 3}}},
    [GROUP_TAG] = {2, 0, {{1, 3}}},
    [BETWEEN] = {3, 2, {{0, 2, 4}, {1, 3}}},
    [BETWEEN_DUP] = {3, 2, {{0, 2, 4}, {1, 3}}},
    [BETWEEN_TAG] = {2, 3, {{3, 1}, {0, 2, 4}}},
    [NESTED] = {3, 0, {{0, 2, 4}}},
    [NOT_YET] = {6, 0, {{0, 1, 2, 3, 4, 5}}},
    [PORT] = {2, 2, {{2, 0}, {1, 3}}},
    [PORT_UNEVEN] = {1, 2, {{4}, {1, 3}}},
    [PORT_NAMED] = {1, 1, {{4}, {5}}},
    [PORT_OTHER] = {1, 1, {{4}, {5}}},
    [TEXT] = {3, 0, {{2, 3, 4}}},
    [TEXT_OTHER] = {3, 0, {{2, 3, 4}}},
    [TEXT_APART] = {3, 0, {{1, 3, 4}}},
    [UNSEEN] = {4, 0, {{0, 1, 2, 5}}},
    [ABROAD] = {6, 2, {{0, 1, 2, 3, 4, 5}, {FOREIGN, FOREIGN + 1}}},
    [MERGED] = {8, 0, {{FOREIGN, FOREIGN + 1, 0, 1, 2, 3, 4, 5}}},
};

struct tracer ictusi_tracer;

/* A tracer keeps its descriptions as long as its process lives, and so do all of these: the linker
 * redirects calloc() here. */
void *calloc_system(size_t n, size_t size) __asm__("__real_calloc");
void *calloc_kept(size_t n, size_t size) __asm__("__wrap_calloc");

void *calloc_kept(size_t n, size_t size)
{
    static void *kept[2000];
    static int count;
    REQUIRE(count < 2000);
    return kept[count++] = calloc_system(n, size);
}

static MPI_Comm handle_of(int made)
{
    return made == WORLD  ? MPI_COMM_WORLD
           : made == SELF ? MPI_COMM_SELF
                          : (MPI_Comm)(uintptr_t)(16 * (made + 1));
}

static int made_of(MPI_Comm comm)
{
    int made = 0;
    while (made < MADE && handle_of(made) != comm) {
        made++;
    }
    REQUIRE(made < MADE);
    return made;
}

/* Where a process is in a group of a communicator, or -1. */
static int place_in(int made, int side, int process)
{
    const struct model *m = &models[made];
    for (int i = 0; i < (side ? m->remote : m->local); i++) {
        if (m->members[side][i] == process) {
            return i;
        }
    }
    return made == SELF ? 0 : -1;
}

static bool is_member(int made, int process)
{
    return place_in(made, 0, process) >= 0 || place_in(made, 1, process) >= 0;
}

static int own_side(int made)
{
    return place_in(made, 0, ictusi_tracer.rank) < 0;
}

/* The handle of a group: of one side of a communicator. */
static MPI_Group group_handle(int made, int side)
{
    return (MPI_Group)(uintptr_t)(16 * (2 * (int)made + side + 1));
}

static int groups_open;

static int model_test_inter(MPI_Comm comm, int *flag)
{
    *flag = models[made_of(comm)].remote > 0;
    return MPI_SUCCESS;
}

static int model_rank(MPI_Comm comm, int *rank)
{
    *rank = place_in(made_of(comm), own_side(made_of(comm)), ictusi_tracer.rank);
    return MPI_SUCCESS;
}

static int side_size(int made, int side)
{
    return side ? models[made].remote : models[made].local;
}

static int model_size(MPI_Comm comm, int *size)
{
    *size = side_size(made_of(comm), own_side(made_of(comm)));
    return MPI_SUCCESS;
}

static int model_remote_size(MPI_Comm comm, int *size)
{
    *size = side_size(made_of(comm), !own_side(made_of(comm)));
    return MPI_SUCCESS;
}

static int model_group(MPI_Comm comm, MPI_Group *group)
{
    *group = group_handle(made_of(comm), own_side(made_of(comm)));
    groups_open++;
    return MPI_SUCCESS;
}

static int model_remote_group(MPI_Comm comm, MPI_Group *group)
{
    *group = group_handle(made_of(comm), !own_side(made_of(comm)));
    groups_open++;
    return MPI_SUCCESS;
}

static int model_group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    groups_open--;
    return MPI_SUCCESS;
}

static int model_group_size(MPI_Group group, int *size)
{
    const int number = (int)((uintptr_t)group / 16) - 1;
    *size = side_size(number / 2, number % 2);
    return MPI_SUCCESS;
}

static int model_translate(MPI_Group from, int count, const int *ranks, MPI_Group to, int *found)
{
    const int number = (int)((uintptr_t)from / 16) - 1;
    CHECK(to == group_handle(WORLD, 0));
    for (int i = 0; i < count; i++) {
        const int member = models[number / 2].members[number % 2][ranks[i]];
        CHECK(ranks[i] >= 0 && ranks[i] < side_size(number / 2, number % 2));
        found[i] = member < FOREIGN ? member : MPI_UNDEFINED;
    }
    return MPI_SUCCESS;
}

struct real_mpi ictusi_real = {.P_Comm_test_inter = model_test_inter,
                               .P_Comm_rank = model_rank,
                               .P_Comm_size = model_size,
                               .P_Comm_remote_size = model_remote_size,
                               .P_Comm_group = model_group,
                               .P_Comm_remote_group = model_remote_group,
                               .P_Group_free = model_group_free,
                               .P_Group_size = model_group_size,
                               .P_Group_translate_ranks = model_translate};

/* The lines of each process's log. */
enum { LINES = 200, LENGTH = 256 };
static char lines[PROCESSES][LINES][LENGTH];
static int line_count[PROCESSES];

void ictusi_tracer_log(const char *format, ...)
{
    const int p = ictusi_tracer.rank;
    va_list list;
    REQUIRE(line_count[p] < LINES);
    va_start(list, format);
    CHECK(vsnprintf(lines[p][line_count[p]++], LENGTH, format, list) < LENGTH);
    va_end(list);
}

/* How many logs have such a line, and how often in all. */
static int times_logged(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int times_logged(const char *format, ...)
{
    char wanted[LENGTH];
    int times = 0;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(wanted, sizeof(wanted), format, list);
    va_end(list);
    for (int p = 0; p < PROCESSES; p++) {
        for (int i = 0; i < line_count[p]; i++) {
            times += strcmp(lines[p][i], wanted) == 0;
        }
    }
    return times;
}

/* What each process found of each communicator, and of what hangs on them. */
enum { FILES = 3, WINDOWS = 2, PERSISTENT = 2 };
static struct trace_comm found[PROCESSES][MADE];
static struct trace_comm persistent[PROCESSES][PERSISTENT];
static uint64_t file_keys[PROCESSES][FILES];

/* A process of its own begins, as the tracer sees it. */
static void process_begins(int rank)
{
    struct tracer *t = &ictusi_tracer;
    ictusi_table_fini(&t->comms);
    ictusi_table_fini(&t->counters);
    ictusi_table_fini(&t->windows);
    memset(t, 0, sizeof(*t));
    t->rank = rank;
    t->world = group_handle(WORLD, 0);
    REQUIRE(!ictusi_table_init(&t->comms, 64, sizeof(struct trace_comm *)) &&
            !ictusi_table_init(&t->counters, 256, sizeof(uint64_t)) &&
            !ictusi_table_init(&t->windows, 64, sizeof(struct trace_window *)));
    REQUIRE(!ictusi_comms_start());
}

static MPI_Comm own(int made)
{
    return is_member(made, ictusi_tracer.rank) ? handle_of(made) : MPI_COMM_NULL;
}

/* The calls of the program, as far as this process takes part. A call that is collective over a
 * communicator is one for those too who get nothing. */
static void process_makes_children(void)
{
    const int p = ictusi_tracer.rank;
    ictusi_comm_child(MPI_COMM_WORLD, p % 2 ? own(ODD) : own(EVEN));
    ictusi_comm_child(MPI_COMM_WORLD, handle_of(DUPLICATE));
    ictusi_comm_child(MPI_COMM_WORLD, handle_of(REVERSED));
    if (is_member(GROUP, p)) {
        ictusi_comm_group(MPI_COMM_WORLD, 7, handle_of(GROUP));
        ictusi_comm_group(MPI_COMM_WORLD, 7, handle_of(GROUP_AGAIN));
        ictusi_comm_group(MPI_COMM_WORLD, 8, handle_of(GROUP_TAG));
    }
    if (is_member(BETWEEN, p)) {
        ictusi_comm_inter(handle_of(BETWEEN), 9);
        ictusi_comm_child(handle_of(BETWEEN), handle_of(BETWEEN_DUP));
        ictusi_comm_inter(handle_of(BETWEEN_TAG), 10);
    }
    if (is_member(NESTED, p)) {
        ictusi_comm_child(handle_of(EVEN), handle_of(NESTED));
    }
    ictusi_comm_idup(MPI_COMM_WORLD, handle_of(NOT_YET));
}

static void process_meets_others(void)
{
    const int p = ictusi_tracer.rank;
    if (is_member(PORT, p)) { /* only the roots know its name */
        ictusi_comm_port(handle_of(PORT), p == 1 || p == 2 ? "a port" : "");
    }
    if (is_member(PORT_UNEVEN, p)) {
        ictusi_comm_port(handle_of(PORT_UNEVEN), p == 3 ? "" : "a port");
    }
    for (int i = 0; i < 2 && is_member(PORT_NAMED, p); i++) { /* in either order */
        const bool first = i == (p == 4);
        ictusi_comm_port(handle_of(first ? PORT_NAMED : PORT_OTHER), first ? "a port" : "other");
    }
    ictusi_comm_port(MPI_COMM_NULL, "a port that nobody came to");
    if (is_member(TEXT, p)) {
        ictusi_comm_text(handle_of(TEXT), "one");
        ictusi_comm_text(handle_of(TEXT_OTHER), "two");
    }
    if (is_member(TEXT_APART, p)) {
        ictusi_comm_text(handle_of(TEXT_APART), "one");
    }
    ictusi_comm_port(handle_of(ABROAD), "");
    ictusi_comm_child(handle_of(ABROAD), handle_of(MERGED));
}

static void process_runs(int p)
{
    struct recorder r = {.comm = MPI_COMM_NULL};
    process_begins(p);
    process_makes_children();
    process_meets_others();
    for (int i = 0; i < PERSISTENT; i++) {
        persistent[p][i] = *ictusi_comm_persistent(MPI_COMM_WORLD);
    }
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < MADE; i++) { /* not in the same order everywhere */
            const int m = p % 2 ? i : MADE - 1 - i;
            if (is_member(m, p)) {
                const struct trace_comm *info = trace_comm(&r, handle_of(m));
                REQUIRE(info && trace_comm(&r, handle_of(m)) == info);
                found[p][m] = *info;
            }
        }
    }
    for (int i = 0; i < FILES; i++) {
        file_keys[p][i] = ictusi_comm_file_key(trace_comm(&r, handle_of(i ? WORLD : SELF)));
    }
    CHECK(trace_comm(&r, MPI_COMM_NULL) == NULL);
    CHECK(groups_open == 0);
}

/* Each process has its place, and numbers its communicators from 0 on. */
static void places_are_right(int p)
{
    bool taken[MADE + PERSISTENT] = {false};
    ictusi_tracer.rank = p;
    for (int m = 0; m < MADE + PERSISTENT; m++) {
        const struct trace_comm *c = m < MADE ? &found[p][m] : &persistent[p][m - MADE];
        const int like = m < MADE ? m : WORLD;
        if (!is_member(like, p)) {
            continue;
        }
        const int side = own_side(like);
        CHECK(c->rank == place_in(like, side, p) && c->size == side_size(like, side));
        CHECK(c->remote == (models[like].remote ? side_size(like, !side) : -1));
        CHECK(c->foreign == (like == ABROAD || like == MERGED) && c->world == (m == WORLD));
        REQUIRE(c->id < MADE + PERSISTENT);
        CHECK(!taken[c->id]);
        taken[c->id] = true;
        char wanted[LENGTH];
        int times = 0;
        (void)snprintf(wanted, sizeof(wanted), "C\t%u\t%llx\t%d\t%d\t%d", c->id,
                       (unsigned long long)c->key, c->rank, c->size, c->remote);
        for (int i = 0; i < line_count[p]; i++) {
            times += strcmp(lines[p][i], wanted) == 0;
        }
        CHECK(times == 1); /* used often, told once */
    }
}

/* All members found the same key, and nobody else did. */
static void keys_are_shared(void)
{
    CHECK(found[0][WORLD].key == 1 && found[0][SELF].key == 2);
    for (int a = 0; a < MADE; a++) {
        for (int b = 0; b < MADE; b++) {
            for (int p = 0; p < PROCESSES * PROCESSES; p++) {
                const int one = p / PROCESSES, other = p % PROCESSES;
                if (is_member(a, one) && is_member(b, other)) {
                    CHECK((found[one][a].key == found[other][b].key) == (a == b));
                }
            }
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        for (int i = 0; i < PERSISTENT; i++) {
            CHECK(persistent[p][i].key == persistent[0][i].key);
            for (int m = 0; m < MADE; m++) {
                CHECK(found[p][m].key != persistent[0][i].key);
            }
        }
        CHECK(persistent[p][0].key != persistent[p][1].key);
        CHECK(file_keys[p][1] == file_keys[0][1] && file_keys[p][2] == file_keys[0][2]);
        CHECK(file_keys[p][1] != file_keys[p][2] && file_keys[p][0] != file_keys[p][1]);
        for (int q = 0; q < p; q++) { /* files of processes for themselves */
            CHECK(file_keys[p][0] != file_keys[q][0]);
        }
    }
}

/* Of each group all members are told once, in their order: of an inter-communicator, those of the
 * group whose first one has the lower rank as group a. Communicators whose handles may not be used
 * are like others; of processes of another job nothing is said. */
static void groups_are_told(void)
{
    static const struct {
        int made;
        const char *a, *b;
    } wanted[] = {{WORLD, "0-5", NULL},
                  {EVEN, "0,2,4", NULL},
                  {ODD, "1,3", NULL},
                  {DUPLICATE, "0-5", NULL},
                  {REVERSED, "5,4,3,2,1,0", NULL},
                  {GROUP, "1,3", NULL},
                  {GROUP_AGAIN, "1,3", NULL},
                  {GROUP_TAG, "1,3", NULL},
                  {BETWEEN, "0,2,4", "1,3"},
                  {BETWEEN_DUP, "0,2,4", "1,3"},
                  {BETWEEN_TAG, "0,2,4", "3,1"},
                  {NESTED, "0,2,4", NULL},
                  {PORT, "1,3", "2,0"},
                  {PORT_UNEVEN, "1,3", "4"},
                  {PORT_NAMED, "4", "5"},
                  {PORT_OTHER, "4", "5"},
                  {TEXT, "2-4", NULL},
                  {TEXT_OTHER, "2-4", NULL},
                  {TEXT_APART, "1,3-4", NULL},
                  {UNSEEN, "0-2,5", NULL}};
    int groups = 0, told = 0;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        const int p = models[wanted[i].made].members[0][0];
        const unsigned long long key = found[p][wanted[i].made].key;
        CHECK(times_logged("G\t%llx\ta\t%s", key, wanted[i].a) == 1);
        groups++;
        if (wanted[i].b) {
            CHECK(times_logged("G\t%llx\tb\t%s", key, wanted[i].b) == 1);
            groups++;
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        for (int i = 0; i < line_count[p]; i++) {
            told += lines[p][i][0] == 'G';
        }
    }
    CHECK(told == groups);
    CHECK(times_logged("D\t%llx\t1", (unsigned long long)found[0][NOT_YET].key) == 1);
    for (int i = 0; i < PERSISTENT; i++) {
        CHECK(times_logged("D\t%llx\t1", (unsigned long long)persistent[0][i].key) == 1);
        for (int p = 0; p < PROCESSES; p++) {
            CHECK(times_logged("N\t%u\tpersistent collective", persistent[p][i].id) >= 1);
        }
    }
    CHECK(times_logged("N\t0\tMPI_COMM_WORLD") == PROCESSES);
    CHECK(times_logged("N\t1\tMPI_COMM_SELF") == PROCESSES);
}

static void lines_begin(int process)
{
    line_count[process] = 0;
}

/* A name is a field of a line. What has no description has no name. */
static void names_are_fields(void)
{
    struct recorder r = {.comm = MPI_COMM_NULL};
    char long_name[MPI_MAX_OBJECT_NAME + 8];
    process_begins(2);
    lines_begin(2);
    ictusi_comm_child(MPI_COMM_WORLD, handle_of(EVEN));
    ictusi_comm_name(handle_of(EVEN), "two\twords,\nof lines");
    ictusi_comm_name(handle_of(DUPLICATE), "unknown");
    CHECK(times_logged("N\t2\ttwo words, of lines") == 1);
    CHECK(line_count[2] == 2); /* it is described when it is first spoken of */
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    ictusi_comm_name(handle_of(EVEN), long_name);
    CHECK(times_logged("N\t2\t%.*s", MPI_MAX_OBJECT_NAME, long_name) == 1);
    CHECK(trace_comm(&r, handle_of(EVEN))->id == 2 && line_count[2] == 3);
}

/* MPI gives the handle of a communicator that is gone to another one. */
static void handles_come_again(void)
{
    struct recorder r = {.comm = MPI_COMM_NULL};
    process_begins(2);
    ictusi_comm_child(MPI_COMM_WORLD, handle_of(EVEN));
    const struct trace_comm *first = trace_comm(&r, handle_of(EVEN));
    ictusi_comm_gone(handle_of(EVEN));
    ictusi_comm_child(MPI_COMM_WORLD, handle_of(EVEN));
    const struct trace_comm *second = trace_comm(&r, handle_of(EVEN));
    CHECK(second != first && second->key != first->key && second->id == first->id + 1);
    CHECK(first->size == 3 && first->rank == 1);        /* requests may refer to it */
    ictusi_comm_child(MPI_COMM_WORLD, handle_of(EVEN)); /* nobody saw that it was gone */
    CHECK(trace_comm(&r, handle_of(EVEN)) != second);
    ictusi_comm_gone(handle_of(EVEN));
    CHECK(trace_comm(&r, handle_of(EVEN)) != second); /* nobody saw how this one was made */
}

static MPI_Win window_handle(int i)
{
    return (MPI_Win)(uintptr_t)(16 * (i + 1));
}

/* Windows count among the children of their communicator, and those of others are not recorded. */
static void windows_are_told(void)
{
    unsigned long long keys[2][WINDOWS];
    for (int p = 0; p < 2; p++) {
        struct recorder r = {.comm = MPI_COMM_NULL};
        process_begins(p);
        lines_begin(p);
        ictusi_comm_port(handle_of(ABROAD), "");
        CHECK(ictusi_tracer_window_new(&r, handle_of(ABROAD), window_handle(5)) == NULL);
        CHECK(ictusi_tracer_window_find(window_handle(5)) == NULL);
        for (int i = 0; i < WINDOWS; i++) {
            const struct trace_window *w =
                ictusi_tracer_window_new(&r, MPI_COMM_WORLD, window_handle(i));
            REQUIRE(w && w->id == (uint32_t)i && w->comm == trace_comm(&r, MPI_COMM_WORLD));
            CHECK(ictusi_tracer_window_find(window_handle(i)) == w);
            unsigned id = 9, comm = 9;
            CHECK(sscanf(lines[p][line_count[p] - 1], "W\t%u\t%llx\t%u", &id, &keys[p][i], &comm) ==
                      3 &&
                  id == (unsigned)i && comm == 0);
        }
        ictusi_tracer_window_name(window_handle(1), "a window");
        ictusi_tracer_window_name(window_handle(5), "unknown");
        CHECK_STR(lines[p][line_count[p] - 1], "V\t1\ta window");
        ictusi_tracer_window_gone(window_handle(1));
        CHECK(ictusi_tracer_window_find(window_handle(1)) == NULL &&
              ictusi_tracer_window_find(window_handle(0)) != NULL);
    }
    CHECK(keys[0][0] == keys[1][0] && keys[0][1] == keys[1][1] && keys[0][0] != keys[0][1]);
}

int main(void)
{
    for (int p = 0; p < PROCESSES; p++) {
        process_runs(p);
    }
    for (int p = 0; p < PROCESSES; p++) {
        places_are_right(p);
    }
    keys_are_shared();
    groups_are_told();
    names_are_fields();
    handles_come_again();
    windows_are_told();
    return check_result();
}
