/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion scripts say of each option what its row says: made from a table of two commands. */
#include "captured.h"

#include "main/completion.h"

#include <ictus/bench.h>
#include <ictus/study.h>
#include <string.h>

static const char *const formats[] = {"text", "csv", NULL};

static const struct option_row bench_rows[] = {
    {"ops", 0, OPTION_TEXT, 0, NULL, 0, 0, NULL, "LIST", "what's measured"},
    {"format", 'f', OPTION_CHOICE, 0, "text", 0, 0, formats, "F", "a \\ format"},
    {"raw", 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, "keep all"},
    {"seed", 's', OPTION_INT, 0, "1", 0, 9, NULL, "N", "seed"},
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};
static const struct option_row overlap_rows[] = {
    {"ops", 0, OPTION_TEXT, 0, NULL, 0, 0, NULL, "LIST", "operations"},
    {"scheme", 0, OPTION_TEXT, 0, NULL, 0, 0, NULL, "LIST", "schemes"},
    {"sync", 0, OPTION_TEXT, 0, NULL, 0, 0, NULL, "LIST", "algorithms"},
    {"clock", 'c', OPTION_TEXT, 0, NULL, 0, 0, NULL, "SRC", "sources"},
    {"ops", 0, OPTION_INT, 0, "1", 0, 9, NULL, "N", "a number of that name"},
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};
static const struct command bench = {.name = "bench", .summary = "measure", .options = bench_rows};
static const struct command overlap = {
    .name = "overlap", .summary = "hide", .options = overlap_rows};
static const struct command *const list[] = {&bench, &overlap, NULL};

static struct captured shown;

static bool print(const char *shell)
{
    capture_begin(&shown);
    const bool done = completion_print(shell, list);
    capture_end(&shown);
    CHECK(strlen(shown.text) + 1 < sizeof shown.text);
    return done;
}

static void has(const char *line)
{
    if (!strstr(shown.text, line)) {
        CHECK_STR(shown.text, line);
    }
}

static int times(const char *part)
{
    int count = 0;
    for (const char *at = shown.text; (at = strstr(at, part)); at++) {
        count++;
    }
    return count;
}

/* All names that a list of operations, schemes, algorithms or sources may hold, each after a blank.
 */
static void names_are(const char *before, const char *after, bool nonblocking)
{
    char line[6000];
    size_t length = (size_t)snprintf(line, sizeof line, "%s", before);
    struct ictus_operation_info info;
    for (int i = 0; !ictus_operation(NULL, i, &info); i++) {
        if (!info.mocks && (!nonblocking || info.nonblocking)) {
            length += (size_t)snprintf(line + length, sizeof line - length, " %s", info.name);
        }
    }
    (void)snprintf(line + length, sizeof line - length, " all%s", after);
    has(line);
    /* Some are in one list only. */
    CHECK(strstr(line, " allreduce ") != NULL || nonblocking);
}

static void entries_are(const char *before, int (*entry_of)(size_t i, struct ictus_entry *entry),
                        const char *after)
{
    char line[1000];
    struct ictus_entry entry;
    size_t length = (size_t)snprintf(line, sizeof line, "%s", before);
    for (size_t i = 0; entry_of(i, &entry) == ICTUS_OK; i++) {
        length += (size_t)snprintf(line + length, sizeof line - length, " %s", entry.name);
    }
    (void)snprintf(line + length, sizeof line - length, "%s", after);
    has(line);
}

static void schemes_are(const char *before, const char *after)
{
    char line[1000];
    size_t length = (size_t)snprintf(line, sizeof line, "%s", before);
    for (int i = 0; ictus_scheme_name(i, NULL); i++) {
        length += (size_t)snprintf(line + length, sizeof line - length, " %s",
                                   ictus_scheme_name(i, NULL));
    }
    (void)snprintf(line + length, sizeof line - length, "%s", after);
    has(line);
}

static void cases_are_of_the_table(void)
{
    has("\n    '') names='help --help --version bench overlap' ;;\n    help) names='bench overlap' "
        ";;\n");
    has("\n    bench) names='--help --ops= --format= --raw --seed=' ;;\n    bench--ops) names='");
    has("\n    bench--format) names=' text csv' ;;\n    overlap) names='--help --ops= --scheme= "
        "--sync= "
        "--clock= --ops=' ;;\n");
    names_are("\n    bench--ops) names='", "' ;;\n", false);
    names_are("\n    overlap--ops) names='", "' ;;\n", true);
    schemes_are("\n    overlap--scheme) names='", "' ;;\n");
    entries_are("\n    overlap--sync) names='", ictus_sync_entry, "' ;;\n");
    entries_are("\n    overlap--clock) names='", ictus_source_entry, "' ;;\n");
    CHECK(times("--ops) names=") == 2 && times("--raw) names=") == 0 &&
          times("--seed) names=") == 0);
}

static void bash_and_zsh_have_cases(void)
{
    CHECK(print("bash"));
    has("# bash completion for ictus");
    has("complete -F _ictus ictus\n");
    cases_are_of_the_table();
    CHECK(print("zsh"));
    has("#compdef ictus mpirun mpiexec srun\n");
    has("compdef _ictus ictus mpirun mpiexec srun\n");
    cases_are_of_the_table();
}

/* One line for each command and option; quotes and backslashes in a text stay in it. */
static void fish_has_lines(void)
{
    CHECK(print("fish"));
    has("complete -c ictus -n '__fish_use_subcommand; or __fish_seen_subcommand_from help' -f -a "
        "bench -d "
        "'measure'\n");
    has("-f -a overlap -d 'hide'\n");
    names_are(
        "complete -c ictus -n '__fish_seen_subcommand_from bench' -l ops -x -a '(__ictus_list",
        ")' -d 'what\\'s measured'\n", false);
    has("\ncomplete -c ictus -n '__fish_seen_subcommand_from bench' -l format -s f -x -a "
        "'(__ictus_list text "
        "csv)' -d 'a \\\\ format'\n");
    has("\ncomplete -c ictus -n '__fish_seen_subcommand_from bench' -l raw -d 'keep all'\n");
    has("\ncomplete -c ictus -n '__fish_seen_subcommand_from bench' -l seed -s s -r -d 'seed'\n");
    has("\ncomplete -c ictus -n '__fish_seen_subcommand_from overlap' -l ops -r -d 'a number of "
        "that name'\n");
    entries_are("\ncomplete -c ictus -n '__fish_seen_subcommand_from overlap' -l clock -s c -x -a "
                "'(__ictus_list",
                ictus_source_entry, ")' -d 'sources'\n");
    CHECK(times("__fish_seen_subcommand_from bench'") == 4);
    CHECK(times("__fish_seen_subcommand_from overlap'") == 5);
}

static void other_shells_are_refused(void)
{
    CHECK(!print("tcsh") && !shown.text[0]);
    CHECK(!print("bas") && !print("") && !shown.text[0]);
}

int main(void)
{
    bash_and_zsh_have_cases();
    fish_has_lines();
    other_shells_are_refused();
    return check_result();
}
