/* SPDX-License-Identifier: BSD-3-Clause */
/* What all commands do with their arguments: options, and numbers of processes. */
#include "main/command.h"
#include "main/group.h"
#include "main/options.h"

#include "captured.h"

#include <mpi.h>
#include <stdint.h>
#include <time.h>

/* The simulated job. */
static int job_rank;

int command_rank(void)
{
    return job_rank;
}

int command_size(void)
{
    return 6;
}

/* The queries to MPI. */
static struct asked {
    int colour, key, tests, naps;
} asked;

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *out)
{
    asked.colour = colour;
    asked.key = key;
    *out = comm;
    return MPI_SUCCESS;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)request, (void)status;
    *flag = ++asked.tests > 3;
    return MPI_SUCCESS;
}

int nanosleep(const struct timespec *requested_time, struct timespec *remaining)
{
    (void)remaining;
    asked.naps += requested_time->tv_sec == 0 && requested_time->tv_nsec < 1000000;
    return 0;
}

struct values {
    bool flag;
    int64_t count;
    uint64_t bytes;
    double real, seconds, ratio;
    int choice;
    const char *text, *given;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

#define AT(member) offsetof(struct values, member)
/* clang-format off */
static const struct option_row rows[] = {
    {"flag", 'x', OPTION_FLAG, AT(flag), NULL, 0, 0, NULL, NULL, "turn it on"},
    {"count", 'n', OPTION_INT, AT(count), "7", -2, 9, NULL, "N", "how often"},
    {"bytes", 0, OPTION_BYTES, AT(bytes), "1K", 16, 1e9, NULL, "SIZE", "how much"},
    {"real", 0, OPTION_REAL, AT(real), NULL, -1.5, 2.5, NULL, "X", "a number"},
    {"seconds", 's', OPTION_SECONDS, AT(seconds), NULL, 0, 10, NULL, "TIME", "for so long, which is told in so many words that a line of eighty columns does not hold them"},
    {"ratio", 0, OPTION_RATIO, AT(ratio), "5%", 0, 0.5, NULL, "RATIO", "a share"},
    {"choice", 0, OPTION_CHOICE, AT(choice), "green", 0, 0, colours, "COLOUR", "one of three"},
    {"text", 't', OPTION_TEXT, AT(text), "words", 0, 0, NULL, "TEXT", "any"},
    {"given", 0, OPTION_TEXT, AT(given), NULL, 0, 0, NULL, "TEXT", "none by default"},
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};
/* clang-format on */

enum { WORDS_MAX = 10 };

static char words[WORDS_MAX][64];
static char *argv[WORDS_MAX + 1];
static struct values got;
static struct ictus_why why;
static int left;

/* Read a line of words, separated by single spaces. */
static int read_line(const char *line)
{
    int count = 1;
    argv[0] = (char *)(uintptr_t) "try";
    for (const char *at = line; *at && count < WORDS_MAX; count++) {
        const size_t length = strcspn(at, " ");
        (void)snprintf(words[count], sizeof(words[count]), "%.*s", (int)length, at);
        argv[count] = words[count];
        at += length + (at[length] == ' ');
    }
    memset(&got, 0x55, sizeof(got));
    memset(&why, 0, sizeof(why));
    left = -1;
    return options_read(rows, count, argv, &got, &left, &why);
}

static void defaults_come_first(void)
{
    CHECK(read_line("") == ICTUS_OK && left == 0);
    CHECK(!got.flag && got.count == 7 && got.bytes == 1024 && got.ratio == 0.05);
    CHECK(isnan(got.real) && isnan(got.seconds) && got.choice == 1);
    CHECK_STR(got.text, "words");
    CHECK(got.given == NULL);
}

static bool is_set(const char *name)
{
    return options_is_set(options_row(rows, name), &got);
}

/* A value that equals the default does not count as set, even if the user gave it. */
static void set_is_what_differs(void)
{
    CHECK(options_row(rows, "cou") == NULL && options_row(rows, "counts") == NULL);
    for (int given = 0; given < 2; given++) {
        CHECK(read_line(given ? "--count=7 --bytes=1024 --ratio=0.05 --choice=green -twords"
                              : "") == ICTUS_OK);
        for (const struct option_row *row = rows; row->name; row++) {
            CHECK(!options_is_set(row, &got));
        }
    }
    CHECK(read_line("-x --count=8 --bytes=2K --real=0 -s0 --ratio=4% --choice=red") == ICTUS_OK);
    CHECK(is_set("flag") && is_set("count") && is_set("bytes") && is_set("real"));
    CHECK(is_set("seconds") && is_set("ratio") && is_set("choice"));
    CHECK(!is_set("text") && !is_set("given"));
    CHECK(read_line("-tother --given=") == ICTUS_OK && is_set("text") && is_set("given"));
}

static void values_stand_inside_or_next(void)
{
    CHECK(read_line("--count=3 -s 2ms --choice blue -x --real -1 -tabc") == ICTUS_OK && left == 0);
    CHECK(got.count == 3 && got.seconds == 0.002 && got.choice == 2 && got.flag);
    CHECK(got.real == -1.0);
    CHECK_STR(got.text, "abc");
    CHECK(read_line("-n-2 --given= --bytes 64") == ICTUS_OK && got.count == -2 && got.bytes == 64);
    CHECK_STR(got.given, "");
    /* The last occurrence counts. */
    CHECK(read_line("-n 1 --count 2 -n 3") == ICTUS_OK && got.count == 3);
}

static void other_words_stay(void)
{
    CHECK(read_line("one -n 4 two - --flag three") == ICTUS_OK && left == 4);
    CHECK_STR(argv[1], "one");
    CHECK_STR(argv[2], "two");
    CHECK_STR(argv[3], "-");
    CHECK_STR(argv[4], "three");
    CHECK(got.flag && got.count == 4);
    CHECK(read_line("one -- -n --help") == ICTUS_OK && left == 3 && got.count == 7);
    CHECK_STR(argv[2], "-n");
    CHECK_STR(argv[3], "--help");
    CHECK(read_line("one --help --nonsense") == ICTUS_ERR_EXISTS);
    CHECK(read_line("-h") == ICTUS_ERR_EXISTS);
    CHECK(read_line("-t --help") == ICTUS_OK); /* a value, whatever it looks like */
    CHECK_STR(got.text, "--help");
}

/* The limits themselves are allowed. */
static void limits_hold(void)
{
    static const struct {
        const char *line;
        int err;
        const char *says;
    } cases[] = {
        {"-n -2", 0, ""},
        {"-n 9", 0, ""},
        {"-n -3", ICTUS_ERR_SPEC, "--count=-3: must be an integer between -2 and 9"},
        {"-n 10", ICTUS_ERR_SPEC, "--count=10: must be an integer between -2 and 9"},
        {"-n 3.5", ICTUS_ERR_SPEC, "--count=3.5: must be an integer between -2 and 9"},
        {"--bytes 16", 0, ""},
        {"--bytes 15", ICTUS_ERR_SPEC,
         "--bytes=15: must be a size of at least 16 bytes, such as 64K"},
        {"--bytes 2G", ICTUS_ERR_SPEC,
         "--bytes=2G: must be a size of at least 16 bytes, such as 64K"},
        {"--real -1.5", 0, ""},
        {"--real 2.5", 0, ""},
        {"--real 2.51", ICTUS_ERR_SPEC, "--real=2.51: must be a number between -1.5 and 2.5"},
        {"--real -1.51", ICTUS_ERR_SPEC, "--real=-1.51: must be a number between -1.5 and 2.5"},
        {"--real nan", ICTUS_ERR_SPEC, "--real=nan: must be a number between -1.5 and 2.5"},
        {"-s 10", 0, ""},
        {"-s 10001ms", ICTUS_ERR_SPEC,
         "--seconds=10001ms: must be a duration between 0 s and 10 s, such as 1.5us"},
        {"--ratio 50%", 0, ""},
        {"--ratio 51%", ICTUS_ERR_SPEC,
         "--ratio=51%: must be a ratio between 0 and 0.5, such as 5%"},
        {"--choice gren", ICTUS_ERR_UNKNOWN, NULL},
        {"--flag=1", ICTUS_ERR_SPEC, "--flag takes no value"},
        {"-x1", ICTUS_ERR_SPEC, "--flag takes no value"},
        {"--count", ICTUS_ERR_SPEC, "--count needs a value: N"},
        {"-n", ICTUS_ERR_SPEC, "--count needs a value: N"},
        {"--cuont=3", ICTUS_ERR_UNKNOWN, "unknown option '--cuont'; did you mean '--count'?"},
        {"--count3", ICTUS_ERR_UNKNOWN, "unknown option '--count3'; did you mean '--count'?"},
        {"--coun", ICTUS_ERR_UNKNOWN, "unknown option '--coun'; did you mean '--count'?"},
        {"--hlep", ICTUS_ERR_UNKNOWN, "unknown option '--hlep'; did you mean '--help'?"},
        {"-y", ICTUS_ERR_UNKNOWN,
         "unknown option '-y'; must be one of: --help, --flag, --count, --bytes, --real, "
         "--seconds, --ratio, --choice, --text, --given"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int err = read_line(cases[i].line);
        if (err != cases[i].err || (cases[i].says && strcmp(why.text, cases[i].says) != 0)) {
            check_failures++;
            (void)fprintf(stderr, "%s: error %d, '%s'\n", cases[i].line, err, why.text);
        }
    }
}

/* If there are too many options for a line, it says where to find them. */
static void many_options_are_not_listed(void)
{
    struct option_row many[14] = {{0}};
    for (int count = 11; count <= 12; count++) {
        for (int i = 0; i < count; i++) {
            many[i] = (struct option_row){.name = "zzzzzzzzzzzz", .type = OPTION_FLAG};
        }
        many[count].name = NULL;
        read_line("-y");
        CHECK(options_read(many, 2, argv, &got, &left, &why) == ICTUS_ERR_UNKNOWN);
        CHECK((strstr(why.text, "see ictus try --help") != NULL) == (count == 12));
        CHECK((strstr(why.text, "--zzzzzzzzzzzz") != NULL) == (count == 11));
    }
}

static void help_keeps_to_its_columns(void)
{
    static struct captured out;
    capture_begin(&out);
    options_help(rows);
    capture_end(&out);
    CHECK(strstr(out.text, "  -x, --flag                   turn it on\n"));
    CHECK(strstr(out.text, "  -n, --count=N                how often [7]\n"));
    CHECK(strstr(out.text, "      --given=TEXT             none by default\n"));
    CHECK(strstr(out.text, "  -h, --help                   print this text\n"));
    CHECK(strstr(out.text,
                 "  -s, --seconds=TIME           for so long, which is told in so many words that\n"
                 "                               a line of eighty columns does not "
                 "hold them\n"));
}

static void shares_are_read(void)
{
    double limit = 0.0;
    CHECK(options_fail_above(NULL, &limit, &why) == ICTUS_OK && isinf(limit) && limit > 0);
    CHECK(options_fail_above("5%", &limit, &why) == ICTUS_OK && limit == 0.05);
    CHECK(options_fail_above("0", &limit, &why) == ICTUS_OK && limit == 0.0);
    CHECK(options_fail_above("-1%", &limit, &why) == ICTUS_ERR_SPEC);
    CHECK(options_fail_above("much", &limit, &why) == ICTUS_ERR_SPEC);
}

static void counts_are_of_this_job(void)
{
    int counts[GROUP_COUNTS_MAX], count = 0;
    CHECK(group_counts(NULL, counts, &count, &why) == ICTUS_OK && count == 1 && counts[0] == 6);
    CHECK(group_counts("1,4,6", counts, &count, &why) == ICTUS_OK && count == 3);
    CHECK(counts[0] == 1 && counts[1] == 4 && counts[2] == 6);
    CHECK(group_counts("2,7", counts, &count, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "--processes=7: must be between 1 and 6, the number of running processes");
    CHECK(group_counts("0", counts, &count, &why) == ICTUS_ERR_SPEC);
    CHECK(group_counts("two", counts, &count, &why) == ICTUS_ERR_SPEC);
}

/* The first processes, or those that are farthest apart; the others do not disturb them. */
static void groups_take_part(void)
{
    static const bool parts[2][6] = {{1, 1, 1, 1, 0, 0}, {1, 1, 0, 1, 1, 0}};
    MPI_Comm comm;
    for (int rank = 0; rank < 6; rank++) {
        job_rank = rank;
        for (int how = PLACE_PACKED; how <= PLACE_SPREAD; how++) {
            group_split(4, (enum placement)how, &comm);
            CHECK(asked.key == rank);
            CHECK((asked.colour == MPI_UNDEFINED) == !parts[how][rank]);
        }
        group_split(6, PLACE_SPREAD, &comm);
        CHECK(asked.colour == 0);
    }
    job_rank = 0;
    asked = (struct asked){0};
    group_rest();
    CHECK(asked.tests == 4 && asked.naps == 3);
}

int main(void)
{
    defaults_come_first();
    set_is_what_differs();
    values_stand_inside_or_next();
    other_words_stay();
    limits_hold();
    many_options_are_not_listed();
    help_keeps_to_its_columns();
    shares_are_read();
    counts_are_of_this_job();
    groups_take_part();
    return check_result();
}
