/* SPDX-License-Identifier: BSD-3-Clause */
/* Printed reports about archives: sentences, tables, and the lines of ictus waits. */
#include "main/command.h"
#include "main/results.h"
#include "traces/trace_text.h"
#include "traces/trace_words.h"
#include "traces/waits_text.h"

#include "captured.h"

#include <jansson.h>
#include <unistd.h>

/* The simulated job. */
static int job_rank, job_size = 1, agreed;

int command_rank(void)
{
    return job_rank;
}

int command_size(void)
{
    return job_size;
}

int results_agree(int err, struct ictus_why *why)
{
    (void)why;
    agreed++;
    return err;
}

json_t *header_create(const struct header_facts *facts)
{
    return json_pack("{s:s, s:s}", "schema", "none", "command", facts->command);
}

static struct captured told;

/* JSON written with ' instead of ". */
static json_t *report_of(const char *text)
{
    char copy[4096];
    json_error_t error;
    REQUIRE(strlen(text) < sizeof copy);
    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *c = copy; *c; c++) {
        if (*c == '\'') {
            *c = '"';
        }
    }
    json_t *report = json_loads(copy, 0, &error);
    if (!report) {
        (void)fprintf(stderr, "%s: %s\n", error.text, text);
    }
    REQUIRE(report);
    return report;
}

static void prints(void (*print)(const json_t *report), const char *text, const char *wanted)
{
    json_t *report = report_of(text);
    capture_begin(&told);
    print(report);
    capture_end(&told);
    CHECK_STR(told.text, wanted);
    json_decref(report);
}

#define SIZE                                                                                       \
    "'archive': 'run', 'events': 1, 'locations': 1, 'nodes': 1, 'messages': 1, 'collectives': 1, "
#define SIZES                                                                                      \
    "'archive': 'run', 'events': 9, 'locations': 2, 'nodes': 2, 'messages': 3, 'collectives': 0, "

/* Singular and plural are used correctly, and recorded values are given only where they differ. */
static void checks_are_told_in_words(void)
{
    prints(trace_words_print,
           "{'type': 'check', " SIZE "'violations_p2p': 1, 'max_violation_ns': 999.4,"
           " 'pairs_p2p': 1, 'raw_violations_p2p': 1, 'unmatched_sends': 1}",
           "run: 1 event of 1 location on 1 node, 1 message, 1 collective.\n"
           "Found 1 violation of the clock condition (1 message that arrives before it was\n"
           "sent), the largest 999 ns, in 1 pair.\n"
           "Not checked, or inconsistent: 1 send without its receive.\n\n");
    prints(trace_words_print,
           "{'type': 'check', " SIZES "'pairs_rma': 3, 'pairs_collective': 4,"
           " 'raw_violations_p2p': 2, 'raw_violations_collective': 1, 'raw_violations_openmp': 3,"
           " 'raw_violations_rma': 1, 'raw_max_violation_ns': 1.25e13, 'unmatched_sends': 2,"
           " 'foreign': 1, 'decreasing': 3}",
           "run: 9 events of 2 locations on 2 nodes, 3 messages, 0 collectives.\n"
           "Found no violation of the clock condition, in 7 pairs.\n"
           "As recorded, without the archive's clock offsets: 7 violations of the clock\n"
           "condition (2 messages that arrive before they were sent, 1 exit from a\n"
           "collective before an entry that it waits for, 3 thread events before their\n"
           "causes, 1 event of an RMA window before its cause), the largest 1.25e+04 s.\n"
           "Not checked, or inconsistent: 2 sends without their receives, 3 time stamps\n"
           "smaller than the ones before them, 1 event on an unknown communicator.\n\n");
    prints(trace_words_print, "{'type': 'trace-skew'}", "");
    prints(trace_words_print, "{}", "");
}

static void jumps_are_told_in_words(void)
{
    static const char *const said[] = {"1 jump of a clock was removed.\n",
                                       "2 jumps of clocks were removed.\n"};
    for (int i = 0; i < 2; i++) {
        char report[400];
        char text[400];
        (void)snprintf(report, sizeof report,
                       "{'type': 'correct', 'output': 'new', 'presync': 'none', " SIZE
                       "'clock_jumps': [{}%s]}",
                       i ? ", {}" : "");
        (void)snprintf(text, sizeof text,
                       "run: 1 event of 1 location on 1 node, 1 message, 1 collective.\n"
                       "Found no violation of the clock condition.\n%s"
                       "new, written now, has no violation of the clock condition.\n\n",
                       said[i]);
        prints(trace_words_print, report, text);
    }
}

static void corrections_are_told_in_words(void)
{
    prints(trace_words_print,
           "{'type': 'correct', 'output': 'new', 'presync': 'none', " SIZE
           "'presync_violations_p2p': 3, 'fit_violations_p2p': 3}",
           "run: 1 event of 1 location on 1 node, 1 message, 1 collective.\n"
           "Found no violation of the clock condition.\n"
           "new, written now, has no violation of the clock condition.\n\n");
    prints(trace_words_print,
           "{'type': 'correct', 'output': 'new', 'presync': 'messages', " SIZES
           "'raw_violations_rma': 2, 'raw_max_violation_ns': 999.6, 'presync_violations_rma': 1,"
           " 'presync_max_violation_ns': 999600, 'fit_violations_openmp': 1,"
           " 'fit_max_violation_ns': 2e9, 'thread_clocks': 1, 'passes': 1, 'gamma': 0.99,"
           " 'moved_events': 1, 'max_shift_ns': 12, 'largest_slope': 0.025, 'asked_slope': 0.01,"
           " 'forced_intervals': 1, 'forced': [{'location': 5, 'stamp': 77, 'input_ns': 10,"
           " 'output_ns': -4000, 'clock_error_ns': 31}], 'truth': {'input_rms_ns': 1,"
           " 'output_rms_ns': 2, 'input_aligned_rms_ns': 3, 'output_aligned_rms_ns': 4}}",
           "run: 9 events of 2 locations on 2 nodes, 3 messages, 0 collectives.\n"
           "Found 2 violations of the clock condition (2 events of RMA windows before their\n"
           "causes), the largest 1 us.\n"
           "The archive's clock offsets leave 1 violation of the clock condition (1 event of\n"
           "an RMA window before its cause), the largest 1 ms.\n"
           "1 thread contradicts the clock of its process and has one of its own.\n"
           "Clocks fitted to the messages leave 1 violation of the clock condition (1 thread\n"
           "event before its cause), the largest 2 s.\n"
           "The logical clock (1 pass, gamma 0.99) moved 1 event by up to 12 ns, at a slope\n"
           "of up to 2.5 % (1 % asked).\n"
           "Messages force a larger change on 1 interval between neighbouring events; the\n"
           "largest is that of location 5 at 77, from 10 ns to -4 us (its clock is known to\n"
           "+-31 ns).\n"
           "new, written now, has no violation of the clock condition.\n"
           "Root mean square distance to the truth: 1 ns before, 2 ns now; apart from a line\n"
           "that all have in common 3 ns before, 4 ns now.\n\n");
    prints(trace_words_print,
           "{'type': 'correct', 'output': 'new', 'presync': 'linear', " SIZES
           "'raw_violations_p2p': 1, 'presync_violations_p2p': 1, 'thread_clocks': 2,"
           " 'passes': 2, 'gamma': 0.5, 'moved_events': 2, 'forced_intervals': 2, 'cyclic': 2,"
           " 'forced': [{'location': 0, 'stamp': 1, 'input_ns': 999.4, 'output_ns': -999.6}]}",
           "run: 9 events of 2 locations on 2 nodes, 3 messages, 0 collectives.\n"
           "Found 1 violation of the clock condition (1 message that arrives before it was\n"
           "sent), the largest 0 ns.\n"
           "2 threads contradict the clocks of their processes and have clocks of their own.\n"
           "The logical clock (2 passes, gamma 0.5) moved 2 events by up to 0 ns, at a slope\n"
           "of up to 0 % (0 % asked).\n"
           "Messages force a larger change on 2 intervals between neighbouring events; the\n"
           "largest is that of location 0 at 1, from 999 ns to -1 us.\n"
           "new, written now, has no violation of the clock condition.\n"
           "Not checked, or inconsistent: 2 dependencies given up: they were part of cycles.\n\n");
    prints(trace_words_print,
           "{'type': 'correct', 'archive': '/a/directory/whose/name/is/longer/than/any/line/of/a/"
           "terminal/that/has/eighty/columns/in/it', 'events': 2, 'output': 'new', 'passes': 1,"
           " 'forced_intervals': 1, 'gamma': 0.5, 'max_shift_ns': 999.5}",
           "/a/directory/whose/name/is/longer/than/any/line/of/a/"
           "terminal/that/has/eighty/columns/in/it:\n"
           "2 events of 0 locations on 0 nodes, 0 messages, 0 collectives.\n"
           "Found no violation of the clock condition.\n"
           "The logical clock (1 pass, gamma 0.5) moved 0 events by up to 1 us, at a slope\n"
           "of up to 0 % (0 % asked).\n"
           "new, written now, has no violation of the clock condition.\n\n");
}

/*
 * Zeros and values that equal the recorded ones are not repeated; rows with violations come first.
 */
static void members_are_told_once(void)
{
    prints(trace_text_print,
           "{'type': 'x', 'n': 0, 'm': 3, 'raw_m': 3, 'k': 4, 'raw_k': 5, 'x': 1234567.8,"
           " 'yes': true, 'no': false, 'none': null, 'inner': {'a': 1, 'b': 0, 'c': 'd'},"
           " 'rows': [{'name': 'a', 'below': 9.5, 'n': 0}, {'name': 'b', 'below': 8.5, 'n': 2},"
           " {'name': 'c', 'below': 7.5, 'n': 1, 'violations': 1}],"
           " 'curves': [{'clock': 1, 'error': [1, 2]}], 'idle': [{'n': 0}]}",
           "type                             x\n"
           "m                                3\n"
           "k                                4\n"
           "raw_k                            5\n"
           "x                                1.23457e+06\n"
           "yes                              yes\n"
           "no                               no\n"
           "none                             \n"
           "\ninner\n"
           "  a                                1\n"
           "  c                                d\n"
           "\nrows\n"
           "  name below n violations\n"
           "  c      7.5 1          1\n"
           "  b      8.5 2           \n");
    char rows[4096] = "{'rows': [", *end = rows + strlen(rows);
    for (int i = 0; i < 22; i++) {
        end += sprintf(end, "%s{'n': %d, 'violations': %d}", i ? ", " : "", 100 + i, i >= 20);
    }
    (void)sprintf(end, "]}");
    json_t *report = report_of(rows);
    capture_begin(&told);
    trace_text_print(report);
    capture_end(&told);
    json_decref(report);
    CHECK(strncmp(told.text, "\nrows\n    n violations\n  120          1\n  121          1\n  100",
                  62) == 0);
    CHECK(strstr(told.text, "  117          0\n  and 2 more; see --format=json\n"));
    /* Texts come before members; a single row that is left out. */
    prints(trace_text_print,
           "{'type': 'check', 'archive': 'a', 'rows': [{'a': 1, 'b': 2, 'c': 3}]}",
           "a: 0 events of 0 locations on 0 nodes, 0 messages, 0 collectives.\n"
           "Found no violation of the clock condition, in 0 pairs.\n\n"
           "type                             check\n"
           "archive                          a\n"
           "\nrows\n  a b c\n  1 2 3\n");
    strcpy(strstr(rows, ", {'n': 121"), "]}");
    report = report_of(rows);
    capture_begin(&told);
    trace_text_print(report);
    capture_end(&told);
    json_decref(report);
    CHECK(strstr(told.text, "  118          0\n  and 1 more; see --format=json\n"));
}

static void put(int format, const char *path, const char *text, const char *wanted)
{
    struct ictus_why why = {""};
    const struct header_facts facts = {.command = "check"};
    json_t *report = report_of(text);
    capture_begin(&told);
    CHECK(trace_text_put(&facts, format, path, report, &why) == ICTUS_OK);
    capture_end(&told);
    CHECK_STR(told.text, wanted);
}

static void reports_are_put(void)
{
    static const char lines[] = "{\"type\":\"header\",\"schema\":\"ictus-result/1\",\"command\":"
                                "\"check\"}\n{\"n\":1}\n{\"n\":2}\n";
    char directory[CHECK_PATH], path[128], found[256] = "";
    REQUIRE(mkdtemp(check_scratch(directory, "reports")));
    (void)snprintf(path, sizeof path, "%s/report", directory);
    put(TRACE_FORMAT_JSON, NULL, "[{'n': 1}, {'n': 2}]", lines);
    put(TRACE_FORMAT_TEXT, NULL, "[{'archive': 'a', 'sigma_source': 'unknown', 'kind': 'exact'}]",
        "a: 0 ranks, 0 nodes, 0 s (together 0 s); clock ± unknown\n"
        "waiting                        0 s  0.0 %             decidable 0.0 %\n"
        "The clocks' errors are not known: no messages go both ways between them, and\n"
        "the archive does not state the errors; 'ictus trace' records clocks with\n"
        "their errors.\n");
    put(TRACE_FORMAT_TEXT, path, "{'n': 1}", "n                                1\n");
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    (void)fclose(file);
    CHECK(strncmp(found, lines, strlen(lines) - 8) == 0 && strlen(found) == strlen(lines) - 8);
    (void)unlink(path);
    CHECK(agreed == 0);
    job_size = 2; /* all ranks learn whether the first one could write */
    put(TRACE_FORMAT_TEXT, NULL, "{'n': 1}", "n                                1\n");
    job_rank = 1;
    put(TRACE_FORMAT_TEXT, path, "{'n': 1}", "");
    CHECK(agreed == 2 && access(path, F_OK));
    job_rank = 0;
    job_size = 1;
    (void)rmdir(directory);
    struct ictus_why why = {""};
    const struct header_facts facts = {.command = "check"};
    capture_begin(&told);
    CHECK(trace_text_put(&facts, TRACE_FORMAT_JSON, path, report_of("{}"), &why) == ICTUS_ERR_IO);
    capture_end(&told);
    CHECK(strstr(why.text, "cannot write") && strstr(why.text, "/report"));
}

/* Waits of all kinds, their causes, and where the critical path and the collectives were. */
static const char blamed[] =
    "[{'type': 'waits', 'archive': 'run', 'processes': 2, 'nodes': 1, 'wall_s': 0.5, "
    "'rank_time_s': 2, 'decidable': 0.875, 'sigma_source': 'messages', 'clock_sigma_ns': 1000, "
    "'wait_s': 0.4, 'wait_low_s': 0.3, 'wait_high_s': 0.6, 'kind': 'certain', 'wait_raw_s': "
    "0.5, 'unattributed_s': 0.1, 'left_out': {'a': 0, 'b': 2, 'c': 3}}, {'type': 'wait-total', "
    "'state': 'barrier', 'wait_s': 0.1, 'wait_low_s': 0.05, 'wait_high_s': 0.15, 'kind': "
    "'about'}, {'type': 'wait-total', 'state': 'late-sender', 'wait_s': 0.25, 'wait_high_s': "
    "0.25, 'kind': 'exact'}, {'type': 'wait-total', 'state': 'wrong-order', 'wait_s': 0.05, "
    "'wait_high_s': 0.07, 'kind': 'at-most'}, {'type': 'wait-total', 'state': 'nxn', 'wait_s': "
    "0.05, 'wait_high_s': null, 'kind': 'about'}, {'type': 'wait-total', 'state': 'lock', "
    "'wait_s': 0, 'wait_high_s': 0}, {'type': 'wait-total', 'state': 'late-receiver-possible', "
    "'wait_s': 0.02}, {'type': 'wait-site', 'state': 'barrier', 'wait_s': 0.04, 'site': "
    "'a/b/MPI_Barrier'}, {'type': 'wait-site', 'state': 'barrier', 'wait_s': 0.06, 'site': "
    "'main/a_fünction_of_a_long_name/MPI_Barrier'}, {'type': 'wait-site', 'state': 'nxn', "
    "'wait_s': 0.06, 'site': 'MPI_Allreduce'}, {'type': 'wait-cause', 'rank': 1, 'site': "
    "'x/y/z', 'direct_s': 0.1, 'indirect_s': 0.2, 'share': 0.75, 'share_low': 0.5, "
    "'share_high': 0.9, 'draws': 4, 'first_draws': 3}, {'type': 'wait-cause', 'rank': 0, "
    "'site': 'q', 'direct_s': 0.01, 'share': 0.01, 'share_low': 0.0099, 'share_high': 0.0101}, "
    "{'type': 'critical-path', 'of': 'program', "
    "'share': 1}, {'type': 'critical-path', 'of': 'rank', 'rank': 0, 'share': 0.4}, {'type': "
    "'critical-path', 'of': 'rank', 'rank': 1, 'share': 0.6, 'share_low': 0.1, 'share_high': "
    "0.9}, {'type': 'critical-path', 'of': 'site', 'site': 'main/a/b', 'share': 0.7, "
    "'imbalance_s': 0.25}, {'type': 'collective-site', 'site': 'a', 'time_s': 1, 'verdict': "
    "'mixed'}, {'type': 'collective-site', 'site': 'b', 'time_s': 2, 'skew_share': 0.96, "
    "'skew_low': 0, 'skew_high': 1, 'verdict': 'skew'}, {'type': 'collective-site', 'site': "
    "'c', 'time_s': 1, 'verdict': 'transfer'}, {'type': 'collective-site', 'site': 'd', "
    "'time_s': 0.5, 'verdict': 'mixed'}]";

/* The uncertainty of a share, and which clocks it comes from. */
static void waits_are_told_with_their_errors(void)
{
    prints(waits_text_print, blamed,
           "run: 2 ranks, 1 node, 0.5 s (together 2 s);\n"
           "  clock ±1.96 us (95 %), from the messages\n"
           "waiting                      0.4 s  20.0 % ± 7.5      decidable 87.5 %\n"
           "  late sender               0.25 s  12.5 %          \n"
           "    in the wrong order      0.05 s  at most 3.5 %   \n"
           "  wait at barrier            0.1 s  ~5.0 % ± 2.5      a_fünction_o…/MPI_Barrier\n"
           "  wait at N×N               0.05 s  undecidable       MPI_Allreduce\n"
           "  late receiver, possibly: 0.02 s more\n"
           "caused by                                     direct   passed on  of waiting\n"
           "  rank 1  y/z                                  0.1 s       0.2 s   75.0 % ± 20.0\n"
           "  rank 0  q                                   0.01 s         0 s    1.0 % ± <0.1\n"
           "  The first of these is not certain to have caused most.\n"
           "  unattributed  0.1 s  (20.0 %)\n"
           "critical path: rank 1 60 % ± 40; 70 % in a/b, imb. 0.25 s\n"
           "collective                              time   skew            verdict\n"
           "  b                                      2 s   96 % (0 to 100)  skew\n"
           "  a                                      1 s    0 %             mixed\n"
           "  c                                      1 s    0 %             transfer\n"
           "left out: 2 b, 3 c\n");
}

static void unknown_clocks_are_told(void)
{
    prints(waits_text_print,
           "[{'type': 'waits', 'archive': 'run', 'processes': 2, 'nodes': 1, 'wall_s': 0.5,"
           " 'rank_time_s': 2, 'decidable': 0.875, 'sigma_source': 'unknown', 'wait_s': 0.4,"
           " 'wait_high_s': 0.5, 'kind': 'at-most'},"
           " {'type': 'wait-cause', 'rank': 1, 'site': 'z', 'share': 0.75}]",
           "run: 2 ranks, 1 node, 0.5 s (together 2 s); clock ± unknown\n"
           "waiting                      0.4 s  at most 25.0 %    decidable 87.5 %\n"
           "The clocks' errors are not known: no messages go both ways between them, and\n"
           "the archive does not state the errors; 'ictus trace' records clocks with\n"
           "their errors.\n");
}

/* The six largest; equal ones in the order of the table of states; three causes. */
static void largest_waits_are_told(void)
{
    prints(waits_text_print,
           "[{'type': 'waits', 'archive': 'a', 'processes': 1, 'nodes': 2, 'wall_s': 1,"
           " 'rank_time_s': 1, 'decidable': 1, 'sigma_source': 'one-clock', 'wait_s': 0,"
           " 'wait_high_s': 0, 'kind': 'exact', 'wait_raw_s': 0.5, 'unattributed_s': 0.0003},"
           " {'type': 'wait-total', 'state': 'lock', 'wait_s': 2, 'kind': 'exact'},"
           " {'type': 'wait-total', 'state': 'join', 'wait_s': 1, 'kind': 'exact'},"
           " {'type': 'wait-total', 'state': 'file', 'wait_s': 1, 'kind': 'exact'},"
           " {'type': 'wait-total', 'state': 'fence', 'wait_s': 1, 'kind': 'exact'},"
           " {'type': 'wait-total', 'state': 'early-scan', 'wait_s': 1, 'kind': 'exact'},"
           " {'type': 'wait-total', 'state': 'late-post', 'wait_s': 1, 'kind': 'exact'},"
           " {'type': 'wait-total', 'state': 'early-wait', 'wait_s': 1, 'kind': 'exact'},"
           " {'type': 'wait-site', 'state': 'lock', 'wait_s': 1, 'site': 'one'},"
           " {'type': 'wait-site', 'state': 'lock', 'wait_s': 1, 'site': 'another'},"
           " {'type': 'wait-cause', 'rank': 0, 'site': '/a', 'draws': 4, 'first_draws': 4},"
           " {'type': 'wait-cause', 'rank': 1, 'site': 'b'},"
           " {'type': 'wait-cause', 'rank': 2, 'site': 'c'},"
           " {'type': 'wait-cause', 'rank': 3, 'site': 'd'},"
           " {'type': 'critical-path', 'of': 'rank', 'rank': 0, 'share': 0.4},"
           " {'type': 'collective-site', 'site': 'e', 'time_s': 1, 'verdict': 'skew'}]",
           "a: 1 rank, 2 nodes, 1 s (together 1 s); one clock\n"
           "waiting                        0 s  0.0 %             decidable 100.0 %\n"
           "  lock                         2 s  200.0 %           one\n"
           "  early scan                   1 s  100.0 %         \n"
           "  wait at fence                1 s  100.0 %         \n"
           "  late post                    1 s  100.0 %         \n"
           "  early wait                   1 s  100.0 %         \n"
           "  file collective              1 s  100.0 %         \n"
           "caused by                                     direct   passed on  of waiting\n"
           "  rank 0  /a                                     0 s         0 s    0.0 %\n"
           "  rank 1  b                                      0 s         0 s    0.0 %\n"
           "  rank 2  c                                      0 s         0 s    0.0 %\n"
           "  unattributed  0.0003 s  (0.1 %)\n"
           "collective                              time   skew            verdict\n"
           "  e                                      1 s    0 %             skew\n");
}

/* The first of two equal shares; a header that needs two lines; one that is left out. */
static void long_heads_are_broken(void)
{
    prints(waits_text_print,
           "[{'type': 'waits', 'archive': 'a/directory/whose/name/is/long', 'processes': 2,"
           " 'nodes': 2, 'wall_s': 1, 'rank_time_s': 1, 'decidable': 1, 'wait_s': 1,"
           " 'wait_high_s': 1, 'kind': 'exact', 'sigma_source': 'trace', 'clock_sigma_ns': 1e5,"
           " 'left_out': {'calls': 1}},"
           " {'type': 'critical-path', 'of': 'rank', 'rank': 5, 'share': 0.5},"
           " {'type': 'critical-path', 'of': 'rank', 'rank': 6, 'share': 0.5},"
           " {'type': 'critical-path', 'of': 'site', 'site': '/b/c', 'share': 1}]",
           "a/directory/whose/name/is/long: 2 ranks, 2 nodes, 1 s (together 1 s);\n"
           "  clock ±196 us (95 %), from the trace\n"
           "waiting                        1 s  100.0 %           decidable 100.0 %\n"
           "critical path: rank 5 50 %; 100 % in b/c, imb. 0 s\n"
           "left out: 1 calls\n");
}

#define WAITS                                                                                      \
    "{'type': 'waits', 'archive': 'a', 'processes': 1, 'nodes': 1, 'wall_s': 1, 'rank_time_s': 1," \
    " 'decidable': 1, 'wait_s': 0, 'wait_high_s': 0, 'kind': 'exact', 'sigma_source': 'one-clock'"
#define WAITS_TOLD                                                                                 \
    "a: 1 rank, 1 node, 1 s (together 1 s); one clock\n"                                           \
    "waiting                        0 s  0.0 %             decidable 100.0 %\n"

/* What is left out has words, for one and for several, in as many lines as it needs. */
static void left_out_is_told_in_words(void)
{
    prints(waits_text_print,
           "[" WAITS ", 'left_out': {'unmatched_sends': 1, 'unmatched_receives': 2,"
           " 'incomplete_collectives': 1, 'muted_waits': 3, 'calls_cut': 1, 'without_region': 2,"
           " 'cyclic_waits': 1}}]",
           WAITS_TOLD
           "left out: 1 send without its receive, 2 receives without their sends, 1\n"
           "  incomplete collective, 3 waits while recording was off, 1 call that did not\n"
           "  return, 2 events outside of any call, 1 wait in a circle\n");
    prints(waits_text_print,
           "[" WAITS ", 'left_out': {'unmatched_sends': 2, 'unmatched_receives': 1,"
           " 'incomplete_collectives': 2, 'muted_waits': 1, 'calls_cut': 2, 'without_region': 1,"
           " 'cyclic_waits': 2}}]",
           WAITS_TOLD
           "left out: 2 sends without their receives, 1 receive without its send, 2\n"
           "  incomplete collectives, 1 wait while recording was off, 2 calls that did not\n"
           "  return, 1 event outside of any call, 2 waits in a circle\n");
}

/* Collectives beside their benchmark; what was not measured is a dash. */
static void benchmarks_are_told(void)
{
    prints(waits_text_print,
           "[" WAITS "},"
           " {'type': 'collective-together', 'site': 'a.c:1', 'operation': 'bcast', 'bytes': 64,"
           "  'program_s': 8.85e-6, 'together_s': 4e-6, 'ratio': 2.2125, 'ratio_low': 2,"
           "  'ratio_high': 2.5},"
           " {'type': 'collective-together', 'site': 'b.c:2', 'operation': 'reduce', 'bytes': 8,"
           "  'program_s': 1e-6, 'together_s': null, 'ratio': null}]",
           WAITS_TOLD "call site operation bytes here us together us ratio 95% lo 95% hi\n"
                      "a.c:1     bcast        64   8.850       4.000  2.21      2    2.5\n"
                      "b.c:2     reduce        8   1.000           -     -      -      -\n");
    prints(waits_text_print,
           "[" WAITS "},"
           " {'type': 'collective-together', 'site': 'a.c:1', 'operation': 'bcast', 'bytes': 64,"
           "  'program_s': 8.85e-6, 'together_s': 4e-6, 'ratio': 2.2125, 'replayed_s': 5e-6}]",
           WAITS_TOLD
           "call site operation bytes here us together us ratio 95% lo 95% hi replayed us\n"
           "a.c:1     bcast        64   8.850       4.000  2.21      -      -       5.000\n");
}

int main(void)
{
    checks_are_told_in_words();
    jumps_are_told_in_words();
    corrections_are_told_in_words();
    members_are_told_once();
    reports_are_put();
    waits_are_told_with_their_errors();
    left_out_is_told_in_words();
    benchmarks_are_told();
    unknown_clocks_are_told();
    largest_waits_are_told();
    long_heads_are_broken();
    return check_result();
}
