/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that read what a tracer wrote: what they request, what they report, and how they end. */
#include "main/command.h"
#include "main/interrupt.h"
#include "main/progress.h"
#include "main/results.h"
#include "traces/keep_memory.h"
#include "traces/lead.h"
#include "traces/trace_text.h"

#include "captured.h"
#include "quoted.h"

#include <ictus/arrivals.h>
#include <ictus/tallies.h>
#include <ictus/text.h>
#include <ictus/trace.h>
#include <ictus/waits.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern const struct command command_arrivals, command_check, command_export, command_profile,
    command_recover, command_trace_skew, command_waits;

/* The requests to the library, and its answers. */
static struct {
    int recover, open, begun, ended, kept, closed, reads, interrupted, puts, keeps, led;
    struct ictus_trace_summary summary;
    struct ictus_trace_recover_opts opts;
    struct ictus_arrivals_left left;
    struct ictus_tallies_state state;
    int64_t rows, slept_ns;
    int recent, check, opens;
    bool empty, unknown, follows; /* follows: rank 0 works, and finds more than it should */
    const char *report, *word;
} world;
static char failure[400];
const char *const results_formats[] = {"text", "csv", "json", NULL};

int command_rank(void)
{
    return world.follows;
}

int command_size(void)
{
    return 1;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    (void)snprintf(failure, sizeof failure, "%s: %s", command, why->text);
    return err == ICTUS_ERR_ARG || err == ICTUS_ERR_EXISTS ? EXIT_USAGE : EXIT_FAILED;
}

void progress_watch_begin(struct progress_watch *watch, const struct progress_options *options,
                          const char *command, int count, char **paths)
{
    (void)watch, (void)options, (void)command;
    CHECK(count == 1 && strcmp(paths[0], world.word ? world.word : "word") == 0);
    world.begun++;
}

void progress_watch_end(struct progress_watch *watch)
{
    (void)watch;
    world.ended++;
}

void keep_memory(void)
{
    world.kept++;
}

bool lead_begin(void)
{
    return !world.follows;
}

void lead_end(void)
{
    world.led++;
}

bool lead_agree(bool value)
{
    return world.follows || value;
}

void interrupt_watch(void)
{
}

bool interrupt_here(void)
{
    return world.interrupted;
}

/* Nobody waits here. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    world.slept_ns += (int64_t)wanted->tv_sec * 1000000000 + wanted->tv_nsec;
    return 0;
}

json_t *header_create(const struct header_facts *facts)
{
    (void)facts;
    return NULL;
}

int results_agree(int err, struct ictus_why *why)
{
    (void)why;
    return err;
}

int results_open_untold(const struct results_options *options, const struct ictus_column *columns,
                        json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    (void)options, (void)why;
    CHECK(!columns && !header);
    *out = (struct ictus_output *)&world;
    world.opens++;
    return ICTUS_OK;
}

int results_close(struct ictus_output *out, const char *path, int before, struct ictus_why *why)
{
    (void)out, (void)path, (void)why;
    return before;
}

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object);
int __wrap_ictus_output_keep(struct ictus_output *out, json_t *object);
int __wrap_ictus_trace_recover(const char *directory, const struct ictus_trace_recover_opts *opts,
                               struct ictus_trace_summary *summary, struct ictus_why *why);
int __wrap_ictus_tallies_open(const char *directory, struct ictus_tallies **tallies,
                              struct ictus_why *why);
int __wrap_ictus_tallies_read(struct ictus_tallies *tallies, int recent, int64_t rows,
                              struct ictus_arrivals_list *list, struct ictus_tallies_state *state,
                              struct ictus_why *why);
void __wrap_ictus_tallies_close(struct ictus_tallies *tallies);
int __wrap_ictus_arrivals_extract(const char *in, int64_t rows, struct ictus_arrivals_list *list,
                                  struct ictus_arrivals_left *left, struct ictus_why *why);

int __wrap_ictus_check(const char *in, json_t **report, struct ictus_why *why);
int __wrap_ictus_waits(const char *in, json_t **report, struct ictus_why *why);

int __wrap_ictus_check(const char *in, json_t **report, struct ictus_why *why)
{
    CHECK_STR(in, "word");
    CHECK(world.begun == 1 && world.ended == 0);
    if (world.check) {
        return ictus_because(why, world.check, "not read");
    }
    *report = json_of(world.report);
    return ICTUS_OK;
}

int __wrap_ictus_waits(const char *in, json_t **report, struct ictus_why *why)
{
    return __wrap_ictus_check(in, report, why);
}

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object)
{
    (void)out;
    json_decref(object);
    world.puts++;
    return ICTUS_OK;
}

int __wrap_ictus_output_keep(struct ictus_output *out, json_t *object)
{
    (void)out;
    CHECK(json_is_string(json_object_get(object, "latest")));
    json_decref(object);
    world.keeps++;
    return ICTUS_OK;
}

int __wrap_ictus_trace_recover(const char *directory, const struct ictus_trace_recover_opts *opts,
                               struct ictus_trace_summary *summary, struct ictus_why *why)
{
    CHECK_STR(directory, "word");
    CHECK(world.begun == 1 && world.ended == 0);
    world.opts = *opts;
    *summary = world.summary;
    return world.recover ? ictus_because(why, world.recover, "not recovered") : ICTUS_OK;
}

/* Two call sites on three ranks: at one of them rank 1 is late, and the other has noise only. */
static void sites_fill(struct ictus_arrivals_list *list)
{
    list->count = world.empty ? 0 : 2;
    list->at = calloc(2, sizeof *list->at);
    REQUIRE(list->at);
    for (size_t i = 0; i < list->count; i++) {
        struct ictus_arrivals *a = &list->at[i];
        REQUIRE(ictus_arrivals_init(a, 3, 0) == ICTUS_OK);
        (void)snprintf(a->site, sizeof a->site, i ? "noisy" : "late");
        (void)snprintf(a->operation, sizeof a->operation, "bcast");
        (void)snprintf(a->comm, sizeof a->comm, i ? "other" : "world");
        a->bytes = 1024;
        a->datatype = "int";
        a->in_place = i == 1;
        a->instances = 10;
        a->duration_s = 2.5e-6;
        a->error_ns = i ? 9000 : 50;
        a->spread_ns = i ? 3000 : 4000;
        a->persistence = i ? NAN : 0.75;
        for (int r = 0; r < 3; r++) {
            a->rank[r] = (struct ictus_arrival_rank){.mean_ns = 1000 * r,
                                                     .sd_ns = 10 + r,
                                                     .last = world.unknown ? NAN
                                                             : r == 1      ? 0.9
                                                                           : 0.05,
                                                     .autocorrelation = 0.25 * r};
            for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
                a->rank[r].quantiles_ns[q] = 100 * q + r;
            }
        }
    }
}

int __wrap_ictus_tallies_open(const char *directory, struct ictus_tallies **tallies,
                              struct ictus_why *why)
{
    (void)directory;
    *tallies = NULL;
    return world.open ? ictus_because(why, world.open, "no statistics") : ICTUS_OK;
}

int __wrap_ictus_tallies_read(struct ictus_tallies *tallies, int recent, int64_t rows,
                              struct ictus_arrivals_list *list, struct ictus_tallies_state *state,
                              struct ictus_why *why)
{
    (void)tallies, (void)why;
    world.recent = recent;
    world.rows = rows;
    *state = world.state;
    /* A job that ends, or is killed, at the second reading. */
    state->stage = world.reads++ ? world.state.stage : ICTUS_TALLIES_RUNNING;
    sites_fill(list);
    return ICTUS_OK;
}

void __wrap_ictus_tallies_close(struct ictus_tallies *tallies)
{
    (void)tallies;
    world.closed++;
}

int __wrap_ictus_arrivals_extract(const char *in, int64_t rows, struct ictus_arrivals_list *list,
                                  struct ictus_arrivals_left *left, struct ictus_why *why)
{
    (void)why;
    CHECK_STR(in, world.word ? world.word : "word");
    world.rows = rows;
    *left = world.left;
    sites_fill(list);
    return ICTUS_OK;
}

static struct captured told;
static char errors[1024];

/* Run a command with a line of words. Its output is in `told` and `errors`. */
static int words_run(const struct command *command, const char *line)
{
    static long double options[64];
    static char text[256];
    char *left[16] = {"ictus"}, *end = NULL;
    struct ictus_why why = {""};
    int n = 1, count = 0;
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok_r(text, " ", &end); word; word = strtok_r(NULL, " ", &end)) {
        REQUIRE(n < 16);
        left[n++] = word;
    }
    REQUIRE(command->options_size <= sizeof options);
    memset(options, 0, sizeof options);
    failure[0] = errors[0] = '\0';
    world.begun = world.ended = world.kept = world.closed = world.reads = 0;
    world.puts = world.keeps = world.led = world.opens = 0;
    REQUIRE(options_read(command->options, n, left, options, &count, &why) == ICTUS_OK);
    FILE *const real = stderr, *memory = fmemopen(errors, sizeof errors - 1, "w");
    REQUIRE(memory);
    capture_begin(&told);
    stderr = memory;
    const int code = command->run(options, count, left + 1);
    stderr = real;
    capture_end(&told);
    (void)fclose(memory);
    return code;
}

static void ends(const struct command *command, const char *line, int wanted)
{
    const int code = words_run(command, line);
    if (code != wanted) {
        (void)fprintf(stderr, "%s %s: exit code %d, not %d\n", command->name, line, code, wanted);
        check_failures++;
    }
    CHECK(world.begun == world.ended);
}

/* A report ends with 3 if it holds what a script should stop at, of whatever kind it is. */
static void reports_end_as_they_say(void)
{
    static const char *const kinds[] = {"p2p", "collective", "openmp", "rma"};
    char report[160];
    world.report = "{'type': 'check', 'archive': 'word'}";
    ends(&command_check, "word", EXIT_OK);
    CHECK(told.text[0]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        (void)snprintf(report, sizeof report,
                       "{'type': 'check', 'archive': 'word', 'violations_%s': 1}", kinds[i]);
        world.report = report;
        ends(&command_check, "word", EXIT_BELOW);
    }
    world.report = "{'type': 'check', 'archive': 'word', 'violations_raw': 7}";
    ends(&command_check, "word", EXIT_OK);
    ends(&command_check, "word -o none/file", EXIT_FAILED);
    CHECK(strstr(failure, "check: cannot write"));
    world.report = "[{'type': 'waits', 'rank_time_s': 8, 'wait_s': 5, 'wait_low_s': 2}]";
    ends(&command_waits, "word", EXIT_OK);
    CHECK(told.text[0]);
    ends(&command_waits, "word --fail-above=0.25", EXIT_OK);
    ends(&command_waits, "word --fail-above=24%", EXIT_BELOW);
    ends(&command_waits, "word -o none/file", EXIT_FAILED);
    CHECK(strstr(failure, "waits: cannot write"));
    world.report = "[{'type': 'waits', 'rank_time_s': 0.5, 'wait_s': 0.5, 'wait_low_s': 0.25}]";
    ends(&command_waits, "word --fail-above=49%", EXIT_BELOW);
    world.report = "[{'type': 'waits', 'rank_time_s': 0, 'wait_s': 0, 'wait_low_s': 0}]";
    ends(&command_waits, "word --fail-above=0", EXIT_OK);
}

/* What cannot be read is a wrong argument; only a lack of memory is not. */
static void unread_archives_are_refused(void)
{
    static const struct command *const commands[] = {&command_check, &command_waits};
    for (size_t i = 0; i < 2; i++) {
        static const int errors_of[] = {ICTUS_ERR_FORMAT, ICTUS_ERR_IO, ICTUS_ERR_ARG};
        for (size_t k = 0; k < 3; k++) {
            world.check = errors_of[k];
            ends(commands[i], "word", EXIT_USAGE);
            CHECK(strstr(failure, ": not read") && !told.text[0] && world.kept == 1);
        }
        world.check = ICTUS_ERR_NOMEM;
        ends(commands[i], "word", EXIT_FAILED);
        world.check = 0;
        static const char *const lines[] = {"", "word word"};
        for (size_t k = 0; k < 2; k++) {
            ends(commands[i], lines[k], EXIT_USAGE);
            CHECK(strstr(failure, ": name one archive, by its directory or its anchor file"));
            CHECK(world.begun == 0);
        }
    }
}

/* Only the first of several processes works and prints; the others end as it does. */
static void others_follow_the_first(void)
{
    static const struct command *const commands[] = {&command_check, &command_waits};
    for (size_t i = 0; i < 2; i++) {
        world.follows = true;
        CHECK(words_run(commands[i], "word") == EXIT_BELOW);
        CHECK(world.begun == 0 && world.led == 1 && !told.text[0] && !failure[0]);
        world.follows = false;
    }
}

/* Work on an archive is watched until it is over, however it ends. */
static void work_is_watched_to_its_end(void)
{
    static const struct {
        const struct command *command;
        const char *words;
        int kept;
    } works[] = {{&command_check, "word", 1},
                 {&command_waits, "word", 1},
                 {&command_profile, "word", 0},
                 {&command_export, "word", 0},
                 {&command_trace_skew, "word -o never", 1}};
    world.check = ICTUS_ERR_IO;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        CHECK(words_run(works[i].command, works[i].words) != EXIT_OK);
        CHECK(world.begun == 1 && world.ended == 1 && world.kept == works[i].kept);
        CHECK(!told.text[0] && failure[0]);
    }
    world.check = 0;
}

static void recovery_is_told(void)
{
    world.summary = (struct ictus_trace_summary){.processes = 4,
                                                 .missing = 1,
                                                 .cut = 2,
                                                 .events = 100,
                                                 .raw_bytes = 250,
                                                 .sigma_ns = 12.4,
                                                 .bound_ns = 99.6,
                                                 .length_s = 1.5};
    CHECK(words_run(&command_recover, "word") == EXIT_OK);
    CHECK(world.begun == 1 && world.ended == 1 && world.opts.size == sizeof world.opts);
    CHECK(!world.opts.output && !world.opts.scratch && !world.opts.local && !world.opts.force &&
          !world.opts.keep);
    CHECK_STR(told.text, "word: 100 events of 4 processes in 1.500 s; 2.5 bytes per event; clocks "
                         "+-12 ns (bound 100 ns)\n"
                         "2 processes did not reach MPI_Finalize, 1 left nothing\n");
    world.summary.jump_ns = 0.5e9;
    world.summary.events = 0;
    CHECK(words_run(&command_recover, "word -o new --local --force --keep --scratch=s") == EXIT_OK);
    CHECK_STR(world.opts.output, "new");
    CHECK_STR(world.opts.scratch, "s");
    CHECK(world.opts.local && world.opts.force && world.opts.keep);
    CHECK_STR(told.text, "new: 0 events of 4 processes in 1.500 s; 0.0 bytes per event\n"
                         "a clock stepped by 0.5 s between two synchronisations, so times between "
                         "them are wrong by as much\n"
                         "2 processes did not reach MPI_Finalize, 1 left nothing\n");
    CHECK(words_run(&command_recover, "word --quiet") == EXIT_OK && !told.text[0]);
    world.recover = ICTUS_ERR_EXISTS;
    CHECK(words_run(&command_recover, "word") == EXIT_USAGE && !told.text[0]);
    CHECK_STR(failure, "recover: not recovered");
    CHECK(words_run(&command_recover, "") == EXIT_USAGE && world.begun == 0);
    CHECK(words_run(&command_recover, "word word") == EXIT_USAGE && world.begun == 0);
}

static const char table[] =
    "site  operation bytes ranks  n spread us +- us exit us persists last rank\n"
    "late  bcast      1024     3 10     4.000 0.050   2.500     0.75 1 (90 %)\n"
    "noisy bcast      1024     3 10     3.000 9.000   2.500        - noise\n";

static void told_is(const char *head, const char *middle, const char *end)
{
    char wanted[2048];
    (void)snprintf(wanted, sizeof wanted, "%s%s%s", head, middle, end);
    CHECK_STR(told.text, wanted);
}

static void arrivals_are_told(void)
{
    REQUIRE(mkdir("word", 0700) == 0);
    REQUIRE(mknod("word/traces.otf2", S_IFREG | 0600, 0) == 0);
    CHECK(words_run(&command_arrivals, "word --instances=7") == EXIT_OK && world.rows == 7);
    CHECK(world.begun == 1 && world.ended == 1 && world.kept == 1 && world.keeps == 2);
    told_is("", table, ""); /* an archive is not a file that a benchmark can replay */
    CHECK_STR(errors, "");
    world.left = (struct ictus_arrivals_left){.incomplete = 1, .muted = 2};
    CHECK(words_run(&command_arrivals, "word --site=late -o patterns") == EXIT_OK);
    CHECK(world.keeps == 1);
    told_is("site operation bytes ranks  n spread us +- us exit us persists last rank\n"
            "late bcast      1024     3 10     4.000 0.050   2.500     0.75 1 (90 %)\n",
            "\nrank mean us sd us median us 5 % us 95 % us last % persists r1\n"
            "   0   0.000 0.010     0.300  0.100   0.500    5.0        0.00\n"
            "   1   1.000 0.011     0.301  0.101   0.501   90.0        0.25\n"
            "   2   2.000 0.012     0.302  0.102   0.502    5.0        0.50\n",
            "\nreplay: mpirun -n 3 ictus bench --ops=bcast --sizes=1024 "
            "--datatype=int --arrival=file:patterns,site=late\n");
    CHECK_STR(errors, "ictus arrivals: left out: 1 instances without all members or with more than "
                      "an hour between them, 2 not recorded whole, 0 calls on "
                      "inter-communicators\n");
    CHECK(words_run(&command_arrivals, "word --format=csv") == EXIT_OK);
    CHECK(!told.text[0] && world.puts == 2 && world.keeps == 0);
    CHECK(words_run(&command_arrivals, "word --site=none") == EXIT_USAGE && !told.text[0]);
    CHECK(words_run(&command_arrivals, "word --site=") == EXIT_USAGE && world.begun == 0);
    world.empty = true;
    CHECK(words_run(&command_arrivals, "word") == EXIT_FAILED);
    CHECK(strstr(failure, "word contains no collective"));
    world.empty = false;
    world.unknown = true; /* nobody is the last where nothing is known */
    CHECK(words_run(&command_arrivals, "word --site=late") == EXIT_OK);
    CHECK(strstr(told.text, "     0.75 -\n"));
    world.unknown = false;
    CHECK(words_run(&command_arrivals, "word word") == EXIT_USAGE && world.begun == 0);
    CHECK(strstr(failure, "name one archive (a directory or its anchor file) or a file of "));
    (void)unlink("word/traces.otf2");
    world.left = (struct ictus_arrivals_left){0};
    static const char *const anchors[] = {"word/any.otf2", ".otf2"};
    for (size_t i = 0; i < 2; i++) {
        world.word = anchors[i];
        CHECK(words_run(&command_arrivals, anchors[i]) == EXIT_OK && world.begun == 1);
    }
    world.word = NULL;
    static const char *const files[] = {"none", "otf2", "any.otf3", "anyotf2"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        CHECK(words_run(&command_arrivals, files[i]) != EXIT_OK && world.begun == 0);
    }
}

/* Whatever is left out is told, if it is one kind alone. */
static void what_is_left_out_is_told(void)
{
    static const struct ictus_arrivals_left lefts[] = {
        {.incomplete = 1}, {.muted = 1}, {.inter = 1}};
    REQUIRE(mknod("word/traces.otf2", S_IFREG | 0600, 0) == 0);
    for (size_t i = 0; i < 3; i++) {
        world.left = lefts[i];
        CHECK(words_run(&command_arrivals, "word") == EXIT_OK);
        CHECK(strncmp(errors, "ictus arrivals: left out: ", 26) == 0);
    }
    world.left = lefts[0];
    (void)unlink("word/traces.otf2");
    world.state = (struct ictus_tallies_state){.processes = 4, .inter = 1};
    CHECK(words_run(&command_arrivals, "word") == EXIT_OK);
    CHECK_STR(errors, "ictus arrivals: left out: 0 calls of more call sites than there is room "
                      "for, 1 calls on inter-communicators\n");
}

static void jobs_are_told(void)
{
    world.state = (struct ictus_tallies_state){.processes = 4, .missing = 0};
    CHECK(words_run(&command_arrivals, "word --instances=9") == EXIT_OK);
    CHECK(world.recent == 0 && world.rows == 9 && world.closed == 1 && world.begun == 0);
    told_is("", table, "");
    CHECK_STR(errors, "");
    world.state = (struct ictus_tallies_state){.processes = 4, .missing = 1, .full = 1};
    CHECK(words_run(&command_arrivals, "word") == EXIT_OK);
    CHECK_STR(errors, "ictus arrivals: 1 of 4 processes have left nothing to read\n"
                      "ictus arrivals: left out: 1 calls of more call sites than there is room "
                      "for, 0 calls on inter-communicators\n");
    world.open = ICTUS_ERR_FORMAT;
    CHECK(words_run(&command_arrivals, "word") == EXIT_USAGE);
    CHECK_STR(failure, "arrivals: no statistics");
    world.open = ICTUS_OK;
}

static void jobs_are_followed(void)
{
    world.state = (struct ictus_tallies_state){.stage = ICTUS_TALLIES_ENDED, .processes = 4};
    CHECK(words_run(&command_arrivals, "word --follow --every=0.01") == EXIT_OK);
    CHECK(world.reads == 2 && world.recent == 1 && world.rows == 0 && world.closed == 1);
    CHECK(strncmp(told.text, "# ", 2) == 0 && strstr(told.text, ", the latest calls\nsite "));
    CHECK(strstr(told.text, "straggler now: rank 1 (90 %) of world at late, 4.000 us after the "
                            "first\n\n"));
    CHECK(words_run(&command_arrivals, "word --follow --every=0.01 -f json") == EXIT_OK);
    CHECK(!told.text[0] && world.puts == 4 && world.opens == 1);
    CHECK(words_run(&command_arrivals, "word --follow --site=noisy") == EXIT_OK);
    CHECK(strstr(told.text, "noise") && !strstr(told.text, "straggler"));
    CHECK(words_run(&command_arrivals, "word --follow --site=none") == EXIT_USAGE);
    /* Between two looks as long as is asked for, in steps after which a signal is seen. */
    static const struct {
        const char *line;
        double pause_s;
    } pauses[] = {{"word --follow", 1},
                  {"word --follow --every=0.01", 0.01},
                  {"word --follow --every=0.07", 0.07},
                  {"word --follow --every=86400", 86400}};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        world.slept_ns = 0;
        CHECK(words_run(&command_arrivals, pauses[i].line) == EXIT_OK);
        CHECK_NEAR((double)world.slept_ns * 1e-9, pauses[i].pause_s, 0.05 * pauses[i].pause_s);
    }
    world.empty = true; /* no call yet: nothing to show, and the job goes on */
    CHECK(words_run(&command_arrivals, "word --follow --every=0.01") == EXIT_OK);
    CHECK(!told.text[0] && world.reads == 2);
    world.empty = false;
    world.state.stage = ICTUS_TALLIES_KILLED;
    CHECK(words_run(&command_arrivals, "word --follow --every=0.01") == EXIT_FAILED);
    CHECK(strstr(failure, "some of its 4 processes did not reach MPI_Finalize"));
    world.interrupted = 1;
    CHECK(words_run(&command_arrivals, "word --follow") == EXIT_INTERRUPTED && world.reads == 0);
    CHECK(world.closed == 1);
    world.interrupted = 0;
    world.open = ICTUS_ERR_IO; /* a directory with other contents is a wrong argument */
    CHECK(words_run(&command_arrivals, "word --follow") == EXIT_USAGE);
    CHECK(words_run(&command_arrivals, "word --follow -o file") == EXIT_USAGE && world.reads == 0);
    CHECK(strstr(failure, "--follow writes no file"));
    REQUIRE(mknod("word/arrivals.jsonl", S_IFREG | 0600, 0) == 0);
    CHECK(words_run(&command_arrivals, "word --follow") == EXIT_USAGE && world.reads == 0);
    CHECK(strstr(failure, "the job in word has ended"));
    (void)unlink("word/arrivals.jsonl");
}

int main(void)
{
    char directory[CHECK_PATH];
    REQUIRE(mkdtemp(check_scratch(directory, "commands")) && chdir(directory) == 0);
    others_follow_the_first();
    work_is_watched_to_its_end();
    recovery_is_told();
    reports_end_as_they_say();
    unread_archives_are_refused();
    arrivals_are_told();
    what_is_left_out_is_told();
    jobs_are_told();
    jobs_are_followed();
    CHECK(rmdir("word") == 0 && chdir("/") == 0 && rmdir(directory) == 0);
    return check_result();
}
