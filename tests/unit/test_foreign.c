/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is read from the tables that OSU, IMB and ReproMPI print: names of operations, units, what a
 * column means by its title, rows that failed their validation, and what is not a row at all.
 */
#include "results/foreign.h"

#include "quoted.h"
#include "results/foreign_name.h"

#include <unistd.h>

static struct ictus_why why;

/* Read a text as a file. *objects is NULL if that fails. */
static int read_text(const char *text, json_t **objects)
{
    char path[CHECK_PATH];
    const int fd = mkstemp(check_scratch(path, "foreign"));
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    REQUIRE(close(fd) == 0);
    *objects = NULL;
    why = (struct ictus_why){.text = ""};
    const int err = foreign_read(path, objects, &why);
    REQUIRE(unlink(path) == 0);
    return err;
}

/* As text, with numbers to six digits. */
static char *text_of(const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    REQUIRE(text);
    return text;
}

/* What is read is an array of objects: the wanted ones, in JSON with ' for ". */
static void table_is(const char *text, const char *wanted)
{
    json_t *objects = NULL;
    char list[2048];
    (void)snprintf(list, sizeof list, "[%s]", wanted);
    json_t *array = json_of(list);
    CHECK(read_text(text, &objects) == ICTUS_OK);
    char *read = text_of(objects);
    char *right = text_of(array);
    CHECK_STR(read, right);
    free(read);
    free(right);
    json_decref(objects);
    json_decref(array);
}

static void table_is_refused(const char *text, int err, const char *reason)
{
    json_t *objects = NULL;
    CHECK(read_text(text, &objects) == err);
    CHECK(!objects);
    CHECK(strstr(why.text, reason));
}

static void test_names(void)
{
    static const char *const names[][2] = {
        {"Allreduce", "allreduce"},
        {"All-to-All Personalized Exchange", "alltoall"},
        {"Broadcast", "bcast"},
        {"Non-blocking Allreduce", "iallreduce"},
        {"Non-Blocking All-to-All Personalized Exchange", "ialltoall"},
        {"Persistent Bcast", "bcast_init"},
        {"Ibcast_pure", "ibcast"},
        {"Neighborhood Allgather", "neighbor_allgather"},
        {"Exchange", "exchange"}, /* of IMB: nothing but the exchange */
        {"", "pingpong"},
        {"Latency", "pingpong"},
        {"Multi Latency", "multi_pingpong"},
        {"Multi-process Latency", "pingpong_processes"},
        {"Multi-threaded Latency", "pingpong_threads"},
        {"Bi-Directional Bandwidth", "bibandwidth"},
        {"Multiple Bandwidth / Message Rate", "bandwidth"},
        {"Reduce_scatter \r\n", "reduce_scatter"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char operation[WORD_MAX + 1];
        foreign_name_normalise(names[i][0], operation);
        CHECK_STR(operation, names[i][1]);
        CHECK(foreign_name_osu(names[i][0], operation) == 0);
        CHECK_STR(operation, names[i][1]);
    }
}

/* A title of any length leaves a name that is whole and ended. */
static void test_long_names(void)
{
    char title[3 * WORD_MAX];
    char operation[WORD_MAX + 2];
    struct words words;
    operation[WORD_MAX + 1] = 'x';
    memset(title, 'a', sizeof title);
    title[sizeof title - 1] = '\0';
    foreign_name_normalise(title, operation);
    CHECK(strlen(operation) == 57 && operation[WORD_MAX + 1] == 'x');
    foreign_name_split(title, &words);
    CHECK(words.count == 1 && strlen(words.word[0]) == WORD_MAX);
    for (size_t i = 1; i < sizeof title - 1; i += 2) {
        title[i] = ' ';
    }
    foreign_name_split(title, &words);
    CHECK(words.count == WORDS_MAX);
    for (int i = 0; i < words.count; i++) {
        CHECK_STR(words.word[i], "a");
    }
    foreign_name_normalise(title, operation);
    CHECK(strlen(operation) == WORDS_MAX && operation[WORD_MAX + 1] == 'x');
}

/* One-sided operations have their synchronisation before what is measured of them. */
static void test_epochs(void)
{
    static const char *const names[][3] = {
        {"_Put Latency", "flush", "put_flush"},
        {"_Put Bandwidth", "flush", "put_flush_bandwidth"},
        {"_Put Bi-directional Bandwidth", "fence\n", "put_fence_bibandwidth"},
        {"_Get latency", "lock/unlock", "get_lock"},
        {"_Get latency", "lock_all/unlock_all", "get_lock_all"},
        {"_Get_accumulate latency", "flush_local", "get_accumulate_flush_local"},
        {"_Accumulate latency", "post/start/complete/wait", "accumulate_pscw"},
        {"_Put_Bandwidth", "later", "put_bandwidth"}, /* unknown: the name stays */
        {"_Fetch_and_op latency", "", "fetch_and_op"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char operation[WORD_MAX + 1];
        int at = foreign_name_osu(names[i][0], operation);
        CHECK(at > 0);
        foreign_name_set_epoch(names[i][1], &at, operation);
        CHECK_STR(operation, names[i][2]);
    }
    char operation[WORD_MAX + 1];
    int at = foreign_name_osu("_Put Bandwidth Bandwidth", operation);
    CHECK(at == 3);
    CHECK_STR(operation, "put_bandwidth"); /* which OSU says twice */
    foreign_name_set_epoch("flush", &at, operation);
    foreign_name_set_epoch("fence", &at, operation);
    CHECK_STR(operation, "put_flush_bandwidth"); /* once is enough */
    (void)snprintf(operation, sizeof operation, "bcast");
    foreign_name_set_epoch("flush", &at, operation);
    CHECK_STR(operation, "bcast");
}

static void test_osu(void)
{
    table_is("mpirun -n 2 osu_allreduce\n\n# OSU MPI Allreduce Latency Test v7.5\n"
             "# Datatype: MPI_INT.\n"
             "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations"
             "  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)\n"
             "4 0.50 0.25 1.0 1000 2.0 4.0 8.0\n"
             "8 nan 0.25 1.0 1000 2.0 4.0 8.0\n\nreal 0m7.902s\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':4,'max_s':1.0e-06,'mean_s':5.0e-07,'median_s':2.0e-06,'min_s':2.5e-07,"
             "'n':1000,'operation':'allreduce','p90_s':4.0e-06,'p99_s':8.0e-06,"
             "'program':'OSU micro-benchmarks','type':'measurement'},"
             "{'bytes':8,'max_s':1.0e-06,'median_s':2.0e-06,'min_s':2.5e-07,"
             "'n':1000,'operation':'allreduce','p90_s':4.0e-06,'p99_s':8.0e-06,"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
    /* without sizes, and a title without its sign */
    table_is("# OSU MPI Barrier Latency Test v5.8\nAvg Latency(us)\n   12.5\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':0,'mean_s':1.25e-05,'operation':'barrier',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
    /* of overlap only what the communication takes */
    table_is("# OSU MPI Non-blocking Allgather Latency Test v7.5\n"
             "# Size  Overall(us)  Compute(us)  Pure Comm.(us)  Min Comm.(us)  Max Comm.(us)"
             "  Overlap(%)\n16 9.0 5.0 4.0 2.0 8.0 80.0\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':16,'max_s':8e-6,'mean_s':4e-6,'min_s':2e-6,'operation':'iallgather',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
    table_is("# OSU MPI Non-blocking Barrier Latency Test v7.5\n"
             "# Overall(us)  Compute(us)  Pure Comm.(us)\n9.0 5.0 4.0\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':0,'mean_s':4e-6,'operation':'ibarrier',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
}

/* All of it on one line, which counts only if it is whole. */
static void test_osu_init(void)
{
    table_is("# OSU MPI Init Test v7.5\nnprocs: 1, min: 0.25 ms, max: 1 ms, avg: 0.5 ms\n"
             "nprocs: 0, min: 444 ms, max: 478 ms, avg: 461 ms\n"
             "nprocs: 2, min: 0 ms, max: 478 ms, avg: 461 ms\n"
             "nprocs: 2, min: 444 ms, max: 0 ms, avg: 461 ms\n"
             "nprocs: 2, min: 444 ms, max: 478 ms, avg: 0 ms\n"
             "nprocs: 2, min: 444 ms, max: 478 ms\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':0,'max_s':0.001,'mean_s':0.0005,'min_s':0.00025,'operation':'init',"
             "'processes':1,'program':'OSU micro-benchmarks','type':'measurement'}");
}

/* A bandwidth becomes the time of one message, whatever is sent both ways or by several pairs. */
static void test_rates(void)
{
    table_is("# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n1000 2.0\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':1000,'mean_s':0.0005,'messages':1,'operation':'bandwidth',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
    table_is(
        "# OSU MPI Bi-Directional Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n1000 2.0\n",
        "{'program':'OSU micro-benchmarks','type':'header'},"
        "{'bytes':1000,'mean_s':0.001,'messages':1,'operation':'bibandwidth',"
        "'program':'OSU micro-benchmarks','type':'measurement'}");
    table_is("# OSU MPI Multiple Bandwidth / Message Rate Test v7.5\n"
             "# [ pairs: 12 ] [ window size: 64 ]\n# Size  MB/s  Messages/s\n1000 24.0 24000.0\n"
             "# [ pairs: 0 ] [ window size: 64 ]\n# Size  MB/s  Messages/s\n1000 2.0 2000.0\n"
             "# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n1000 2.0\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':1000,'mean_s':0.0005,'messages':1,'operation':'bandwidth','processes':24,"
             "'program':'OSU micro-benchmarks','type':'measurement'},"
             "{'bytes':1000,'mean_s':0.0005,'messages':1,'operation':'bandwidth','processes':2,"
             "'program':'OSU micro-benchmarks','type':'measurement'},"
             "{'bytes':1000,'mean_s':0.0005,'messages':1,'operation':'bandwidth',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
}

/* The window and the synchronisation stand between a title and its columns, and end with it. */
static void test_windows(void)
{
    table_is("# OSU MPI_Put Latency Test v7.5\n# Window creation: MPI_Win_allocate\n"
             "# Synchronization: MPI_Win_flush\n# Size  Latency (us)\n8 1.0\n"
             "# OSU MPI Latency Test v7.5\n# Size  Latency (us)\n8 2.0\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':8,'mean_s':1.0e-06,'operation':'put_flush',"
             "'program':'OSU micro-benchmarks','type':'measurement','window':'allocate'},"
             "{'bytes':8,'mean_s':2.0e-06,'operation':'pingpong',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
}

static void test_validation(void)
{
    table_is("# OSU MPI Reduce Latency Test v7.5\n# Size  Avg Latency(us)  Validation\n"
             "4 1.0 Pass\n8 2.0 Fail\n16 3.0 Fail\n",
             "{'program':'OSU micro-benchmarks','refused':2,'type':'header'},"
             "{'bytes':4,'mean_s':1.0e-06,'operation':'reduce',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
    table_is_refused("# OSU MPI Reduce Latency Test v7.5\n# Size  Avg Latency(us)  Validation\n"
                     "8 2.0 Fail\n",
                     ICTUS_ERR_CORRUPT, "every row failed the benchmark's own validation");
}

static void test_imb(void)
{
    table_is("# Benchmarking Allreduce \n# #processes = 2 \n"
             "# ( 2 additional processes waiting in MPI_Barrier)\n"
             "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
             "            4         1000         0.5         2.0         1.0\n\n"
             "# Benchmarking Barrier \n# #processes = 12 \n"
             " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
             "            1        1.0        1.0        1.0\n"
             "# Benchmarking PingPong \n# #processes = 2 \n"
             "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
             "            0         1000         4.0         0.0\n"
             "# Benchmarking Unidir_put\n# #processes = 2\n#     MODE: AGGREGATE \n"
             "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
             "            8         1000         4.0         2.0\n",
             "{'program':'Intel MPI benchmarks','type':'header'},"
             "{'bytes':4,'max_s':2.0e-06,'mean_s':1.0e-06,'min_s':5.0e-07,'n':1000,"
             "'operation':'allreduce','processes':2,'program':'Intel MPI benchmarks',"
             "'type':'measurement'},"
             "{'bytes':0,'max_s':1.0e-06,'mean_s':1.0e-06,'min_s':1.0e-06,'n':1,"
             "'operation':'barrier','processes':12,'program':'Intel MPI benchmarks',"
             "'type':'measurement'},"
             "{'bytes':0,'mean_s':4.0e-06,'n':1000,'operation':'pingpong','processes':2,"
             "'program':'Intel MPI benchmarks','type':'measurement'},"
             "{'bytes':8,'mean_s':4.0e-06,'n':1000,'operation':'unidir_put_aggregate',"
             "'processes':2,'program':'Intel MPI benchmarks','type':'measurement'}");
}

static void test_repro(void)
{
    /* one row a repetition, with the tests in any order; two of them failed */
    table_is("#@datatype=MPI_INT\n#@datatype_size_bytes=4\n#@nprocs=3\n"
             "test nrep count errorcode runtime_sec\n"
             "MPI_Bcast 0 10 0 4e-6\nMPI_Reduce 0 10 0 5e-6\nMPI_Bcast 1 10 0 1e-6\n"
             "MPI_Bcast 2 10 1 9e-6\nMPI_Bcast 3 10 0 1e-6\nMPI_Bcast 4 20 2 9e-6\n",
             "{'program':'ReproMPI','type':'header'},"
             "{'bytes':40,'invalid':1,'max_s':4.0e-06,'mean_s':2.0e-06,'median_s':1.0e-06,"
             "'min_s':1.0e-06,'n':3,'operation':'bcast','processes':3,'program':'ReproMPI',"
             "'raw_s':[4.0e-06,1.0e-06,1.0e-06],'type':'measurement'},"
             "{'bytes':40,'invalid':0,'max_s':5.0e-06,'mean_s':5.0e-06,'median_s':5.0e-06,"
             "'min_s':5.0e-06,'n':1,'operation':'reduce','processes':3,'program':'ReproMPI',"
             "'raw_s':[5.0e-06],'type':'measurement'},"
             "{'bytes':80,'invalid':1,'n':0,'operation':'bcast','processes':3,"
             "'program':'ReproMPI','raw_s':[],'type':'measurement'}");
    /* or what it reckons of them; sizes are of bytes where no datatype is told */
    table_is("#@nprocs=2\ntest count valid_nrep mean_sec median_sec min_sec max_sec\n"
             "MPI_Scan 16 50 2e-6 1e-6 5e-7 8e-6\n",
             "{'program':'ReproMPI','type':'header'},"
             "{'bytes':16,'max_s':8.0e-06,'mean_s':2.0e-06,'median_s':1.0e-06,'min_s':5.0e-07,"
             "'n':50,'operation':'scan','processes':2,'program':'ReproMPI',"
             "'type':'measurement'}");
}

/* Words of a job's log are not rows, however many there are. */
static void test_not_rows(void)
{
    static const char none[] = "holds no table that ictus knows";
    static const char title[] = "# OSU MPI Bcast Latency Test v7.5\n";
    static const char *const bodies[] = {
        "4 1.0\n",                                         /* before any column is named */
        "# Size  Avg Latency(us)\n4\n",                    /* fewer words than columns */
        "# Size  Avg Latency(us)\nslurmstepd: error\n",    /* not numbers */
        "# Size  Avg Latency(us)\n-1 1.0\n",               /* not a size */
        "# Size  Avg Latency(us)\n1e16 1.0\n",             /* nor this */
        "# Size  Avg Latency(us)\n4 nan\n",                /* no statistic at all */
        "# Size  Avg Latency(us)  Iterations\n4 1 1e16\n", /* nor so often */
        "# Size  Overall(us)  Compute(us)\n4 1.0 2.0\n",   /* no column means anything here */
    };
    char text[256];
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        (void)snprintf(text, sizeof text, "%s%s", title, bodies[i]);
        table_is_refused(text, ICTUS_ERR_FORMAT, none);
    }
    table_is_refused("", ICTUS_ERR_FORMAT, none);
    table_is_refused("# Size  Avg Latency(us)\n4 1.0\n", ICTUS_ERR_FORMAT, none); /* of what? */
    /* the next title ends a table */
    table_is("# OSU MPI Bcast Latency Test v7.5\n# Size  Avg Latency(us)\n  4 1.0\n5\n"
             "# OSU MPI Reduce Latency Test v7.5\n5 1.0\n",
             "{'program':'OSU micro-benchmarks','type':'header'},"
             "{'bytes':4,'mean_s':1.0e-06,'operation':'bcast',"
             "'program':'OSU micro-benchmarks','type':'measurement'}");
    json_t *objects = NULL;
    CHECK(foreign_read("/nowhere/osu.txt", &objects, &why) == ICTUS_ERR_IO);
    CHECK_STR(why.text, "cannot read '/nowhere/osu.txt': No such file or directory");
}

int main(void)
{
    test_names();
    test_long_names();
    test_epochs();
    test_osu();
    test_osu_init();
    test_rates();
    test_windows();
    test_validation();
    test_imb();
    test_repro();
    test_not_rows();
    return check_result();
}
