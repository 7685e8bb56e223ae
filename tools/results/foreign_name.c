/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of operations in the titles of other benchmarks' tables. */
#include "results/foreign_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void foreign_name_split(const char *line, struct words *words)
{
    words->count = 0;
    while (words->count < WORDS_MAX) {
        line += strspn(line, " \t\r\n");
        const size_t length = strcspn(line, " \t\r\n");
        if (length == 0) {
            break;
        }
        (void)snprintf(words->word[words->count++], WORD_MAX + 1, "%.*s", (int)length, line);
        line += length;
    }
}

bool foreign_name_is_listed(const char *const *names, const char *word)
{
    while (*names && strcmp(*names, word) != 0) {
        names++;
    }
    return *names != NULL;
}

/* In lower case, without hyphens. */
static void plain_word(const char *word, char *plain)
{
    size_t length = 0;
    for (const char *c = word; *c; c++) {
        if (*c != '-') {
            /* In parentheses it is the function, not the macro of <ctype.h>. */
            plain[length++] = (char)(tolower)((unsigned char)*c);
        }
    }
    plain[length] = '\0';
}

/* A word of a title as part of an operation's name, after what is there already. */
static const char *part_of_name(const char *word, bool first)
{
    static const char *const marks[] = {"personalized", "persistent", "nonblocking", "latency",
                                        NULL};
    if (foreign_name_is_listed(marks, word) || (!first && strcmp(word, "exchange") == 0)) {
        return "";
    }
    return strcmp(word, "neighborhood") == 0 ? "neighbor_" : word;
}

/* The name that the operation has here, where it is not that of the title. */
static const char *usual_name(const char *plain)
{
    static const char *const same[][2] = {
        {"", "pingpong"},
        {"broadcast", "bcast"},
        {"bidirectionalbandwidth", "bibandwidth"},
        {"multi", "multi_pingpong"},
        {"multiprocess", "pingpong_processes"},
        {"multithreaded", "pingpong_threads"},
        {"multiplebandwidth/messagerate", "bandwidth"},
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        if (strcmp(plain, same[i][0]) == 0) {
            return same[i][1];
        }
    }
    return plain;
}

/*
 * "All-to-All Personalized Exchange", "Non-blocking Allreduce", "Persistent Bcast" and
 * "Ibcast_pure" become alltoall, iallreduce, bcast_init and ibcast.
 */
void foreign_name_normalise(const char *name, char *operation)
{
    struct words words;
    size_t used = 0;
    bool nonblocking = false;
    bool persistent = false;
    char plain[WORD_MAX + 1] = "";
    foreign_name_split(name, &words);
    for (int w = 0; w < words.count; w++) {
        char word[WORD_MAX + 1];
        plain_word(words.word[w], word);
        nonblocking = nonblocking || strcmp(word, "nonblocking") == 0;
        persistent = persistent || strcmp(word, "persistent") == 0;
        if (used < sizeof(plain)) {
            used += (size_t)snprintf(plain + used, sizeof(plain) - used, "%s",
                                     part_of_name(word, used == 0));
        }
    }
    char *pure = strstr(plain, "_pure");
    if (pure) {
        *pure = '\0';
    }
    (void)snprintf(operation, WORD_MAX + 1, "%s%.57s%s", nonblocking ? "i" : "", usual_name(plain),
                   persistent ? "_init" : "");
}

/* Put "flush" into "put_bandwidth" or "put". */
void foreign_name_set_epoch(const char *synchronisation, int *at, char *operation)
{
    static const char *const epochs[][2] = {
        {"lock/unlock", "lock"}, {"lock_all/unlock_all", "lock_all"},
        {"flush", "flush"},      {"flush_local", "flush_local"},
        {"fence", "fence"},      {"post/start/complete/wait", "pscw"},
    };
    const size_t length = strcspn(synchronisation, " \t\r\n");
    char name[WORD_MAX + 1];
    for (size_t i = 0; *at > 0 && i < sizeof(epochs) / sizeof(epochs[0]); i++) {
        if (strlen(epochs[i][0]) == length && strncmp(epochs[i][0], synchronisation, length) == 0) {
            (void)snprintf(name, sizeof(name), "%.*s_%s%s", *at, operation, epochs[i][1],
                           operation + *at);
            (void)snprintf(operation, WORD_MAX + 1, "%s", name);
            *at = 0;
        }
    }
}

int foreign_name_osu(const char *title, char *operation)
{
    struct words words;
    char before[WORD_MAX + 1] = "";
    if (title[0] != '_') {
        foreign_name_normalise(title, operation);
        return 0;
    }
    foreign_name_split(title + 1, &words);
    operation[0] = '\0';
    int at = 0;
    for (int i = 0; i < words.count; i++) {
        char word[WORD_MAX + 1];
        const size_t used = strlen(operation);
        plain_word(words.word[i], word);
        if (strcmp(word, "latency") == 0 || strcmp(word, before) == 0) {
            continue;
        }
        const bool joined = i == 0 || strcmp(before, "bi") == 0;
        (void)snprintf(before, sizeof(before), "%s",
                       strcmp(word, "bidirectional") == 0 ? "bi" : word);
        (void)snprintf(operation + used, WORD_MAX + 1 - used, "%s%s", joined ? "" : "_", before);
        at = i == 0 ? (int)strlen(operation) : at;
    }
    return at;
}
