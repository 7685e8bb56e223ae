/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fastest algorithm of each operation, process count and size among measurements, and the files
 * by which the MPI libraries are told.
 */
#ifndef ICTUS_TOOLS_TUNE_H
#define ICTUS_TOOLS_TUNE_H

#include <ictus/error.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The winner of the largest size holds below this many times that size: beyond, nobody looked. */
enum { WINNER_NAME_MAX = 64, TUNE_REACH = 2 };

/* Components of Open MPI: whose rules choose algorithms, and whose hand sizes back to it. */
#define RULED_COMPONENT "tuned"
#define HAN_COMPONENT "han"

/* Whether the fastest algorithm becomes a rule, and why. */
enum tune_verdict {
    TUNE_RULE,        /* proven faster than the library's own choice by the margin */
    TUNE_DEFAULT,     /* the library's own choice is the fastest */
    TUNE_UNCLEAR,     /* not proven faster by the margin */
    TUNE_NO_DEFAULT,  /* the library's own choice was not measured */
    TUNE_NO_COMPONENT /* another component than the one of the rules serves it */
};

struct winner {
    char operation[WINNER_NAME_MAX];
    char algorithm[WINNER_NAME_MAX]; /* the fastest; "default": the library's own choice */
    json_int_t processes;
    json_int_t bytes; /* of a block; 0 where the operation has no data */
    double median_s, low_s, high_s;
    int rivals;         /* other algorithms measured */
    double fallback_s;  /* the library's own choice; NaN: not measured */
    double runner_up_s; /* NaN: no rival */
    int launches;       /* in which it and the library's own choice were measured */
    double most; /* upper end of the interval of its time divided by that of the library's own
                    choice; NaN if not known */
    char component[WINNER_NAME_MAX]; /* component that serves the library's own choice; "" if not
                                        known */
    enum tune_verdict verdict;
};

/* A composition of other operations that is faster than every algorithm of the one it stands for.
 */
struct mockup {
    char name[WINNER_NAME_MAX];
    char operation[WINNER_NAME_MAX];
    json_int_t processes;
    json_int_t bytes;
    double median_s;
    double fastest_s; /* of the operation's algorithms */
};

struct winners {
    struct winner *list; /* sorted by operation, processes, bytes */
    size_t count;
    struct mockup *mockups;
    size_t mockup_count;
    int unproven; /* measurements left out: their algorithm was not verified to run */
};

/*
 * Find the winners among measurement objects; several launches of the same are taken by the median
 * of their medians. The library's own choice stays unless the winner is proven faster by `margin`
 * (0.05: 5 %). Over launches, t-intervals of the logarithms of their ratios are judged; of one
 * launch, the medians' intervals. Left out are other reductions over ranks than `reduction`; NULL
 * takes the first that is met. Errors: ICTUS_ERR_FORMAT (nothing to choose from), ICTUS_ERR_NOMEM.
 */
int tune_choose(const json_t *objects, const char *reduction, double margin,
                struct winners *winners, struct ictus_why *why);

/* Whether every launch saw the named algorithm run; a row that does not say so did not. */
bool tune_is_proven(const json_t *launches);

/*
 * The component that served launches; if that differs between them, one that is not
 * RULED_COMPONENT, because a rule would have no effect in some of them. "": not known.
 */
const char *tune_component(const json_t *launches);

/* Note which component serves the library's own choice: a rule that it would not read is none. */
void tune_note_component(struct winner *winner, const char *component);

/* Where the winners of one operation end, or those of one of its process counts. */
size_t tune_end(const struct winners *winners, size_t first, bool of_processes);

/* Whether any of them becomes a rule. */
bool tune_has_rule(const struct winners *winners, size_t first, size_t end);

/* What a file shall say of the winner's place: its algorithm, or "default". */
const char *tune_rule(const struct winner *winner);

void tune_free(struct winners *winners);

/* Medians over an experiment's launches of their medians and of their intervals' ends; NaN where
 * none has one. */
struct tune_time {
    double median_s, low_s, high_s;
};
struct tune_time tune_time(const json_t *launches);

/* The median of an experiment in the launch of another measurement; NaN: it was not measured there.
 */
double tune_of_launch(const json_t *launches, const json_t *launch);

/* The 95 % interval of the mean of the logarithms of two ratios or more (Student's t), as ratios.
 */
void tune_interval(const double *ratios, int count, double *low, double *high);

/*
 * Open MPI's dynamic rules. Operations that it has no rules for are left out and named on standard
 * error. Errors: ICTUS_ERR_UNKNOWN (an algorithm of another library), ICTUS_ERR_IO.
 */
int tune_write_ompi(const struct winners *winners, FILE *file, struct ictus_why *why);

/*
 * Make rules of the winners that only lack a component because HAN serves the library's own choice
 * and can hand them back; returns how many. tune_write_han() writes the file that tells HAN so; it
 * is of use only beside one of the two others. Errors: ICTUS_ERR_IO.
 */
int tune_hand_back(struct winners *winners);
int tune_write_han(const struct winners *winners, FILE *file);

/*
 * The same rules in the JSON form that later versions of Open MPI read (rule_file_version 3).
 * Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int tune_write_ompi_json(const struct winners *winners, FILE *file, struct ictus_why *why);

/*
 * MPICH's selection tree: that of `base` with the winners put in for their process counts.
 * Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_FORMAT, ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int tune_write_mpich(const struct winners *winners, json_t *base, FILE *file,
                     struct ictus_why *why);

/*
 * The selection tree in a JSON file, or the one that MPICH's shared library holds. Errors:
 * ICTUS_ERR_ARG (it cannot be read), ICTUS_ERR_FORMAT.
 */
int tune_read_base(const char *path, json_t **base, struct ictus_why *why);

#endif
