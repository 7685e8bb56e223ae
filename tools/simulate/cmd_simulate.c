/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ictus simulate: run an MPI command of ictus on a described cluster. The same sources, built
 * against SimGrid's MPI, run under smpirun; clocks are simulated on its time, so that the truth is
 * known.
 */
#include "main/command.h"
#include "main/shared_rows.h"
#include "simulate/simulate_faults.h"
#include "simulate/simulate_files.h"
#include "simulate/simulate_platform.h"
#include "simulate/simulate_run.h"

#include <ictus/text.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct simulate_options {
    int64_t nodes, ppn, seed;
    const char *topology;
    const char *jitter;
    const char *walk;
    const char *collectives;
    const char *slow;
    const char *clocks;
    double latency, bandwidth, overhead, asymmetry, offset, drift;
    bool messages;
    bool keep;
};

#define AT(member) offsetof(struct simulate_options, member)

static const struct option_row options[] = {
    {"nodes", 0, OPTION_INT, AT(nodes), "64", 1, 1 << 20, NULL, "N", "nodes of the cluster"},
    {"ppn", 0, OPTION_INT, AT(ppn), "1", 1, 4096, NULL, "N", "processes per node"},
    {"topology", 0, OPTION_TEXT, AT(topology), "fat-tree", 0, 0, NULL, "NAME",
     "fat-tree, dragonfly, torus or FILE.xml"},
    {"latency", 0, OPTION_SECONDS, AT(latency), "1.5us", 1e-9, 1, NULL, "TIME",
     "latency of a message between two nodes"},
    {"bandwidth", 0, OPTION_REAL, AT(bandwidth), "12.5e9", 1e3, 1e15, NULL, "B/S",
     "bandwidth of a link, in bytes per second"},
    {"overhead", 0, OPTION_SECONDS, AT(overhead), "0", 0, 1, NULL, "TIME",
     "CPU time of each message at sender and receiver"},
    {"collectives", 0, OPTION_TEXT, AT(collectives), "", 0, 0, NULL, "LIST",
     "algorithms of SimGrid: barrier:ompi_bruck,bcast:flattree"},
    {"jitter", 0, OPTION_TEXT, AT(jitter), "exp:300ns,tail:1%:2us", 0, 0, NULL, "SPEC",
     "variation of latencies: none or SHAPE:TIME[,tail:SHARE:TIME]"},
    {"asymmetry", 0, OPTION_SECONDS, AT(asymmetry), "0", 0, 1, NULL, "TIME",
     "largest asymmetry of a pair, half the difference of its two directions"},
    {"offset", 0, OPTION_SECONDS, AT(offset), "1s", 0, 1e8, NULL, "TIME",
     "largest offset of a clock"},
    {"drift", 0, OPTION_RATIO, AT(drift), "10ppm", 0, 0.01, NULL, "RATIO",
     "largest drift of a clock"},
    {"walk", 0, OPTION_TEXT, AT(walk), "1e-9", 0, 0, NULL, "NUMBER",
     "random walk of the clocks' frequencies, per square root of a second"},
    {"slow", 0, OPTION_TEXT, AT(slow), "", 0, 0, NULL, "LIST",
     "slow nodes and links: 17:20us,3-90:30us"},
    {"odd-clocks", 0, OPTION_TEXT, AT(clocks), "", 0, 0, NULL, "LIST",
     "drifting, stepping clocks: 5:100ppm,9:50us"},
    ROW_SEED(AT(seed), 1e15, "seed of all random numbers"),
    {"every-message", 0, OPTION_FLAG, AT(messages), NULL, 0, 0, NULL, NULL,
     "send the messages of a burst one by one"},
    {"keep", 0, OPTION_FLAG, AT(keep), NULL, 0, 0, NULL, NULL,
     "keep the platform and host files and print where they are"},
    ROW_END};

/* How much faster messages inside a node are. */
static const double inside_faster = 4.0;
/* A bandwidth at which messages are so short that they never share a link. */
static const double unshared = 1e15;

enum { PATH_BYTES = 1024, CHOICES_MAX = 16, CHOICE_BYTES = 96 };

/* One simulation's. */
struct simulation {
    struct simulate_files files;
    char program[PATH_BYTES], plugin[PATH_BYTES];
    bool shared; /* links are, by messages at the same time */
};

/*
 * What SimGrid needs to be exact and quick with many ranks, as measured: computing takes no
 * simulated time, ranks share the program's memory (it has no mutable globals), small stacks,
 * exact times, tree collectives.
 */
static const char *const settings[] = {
    "--log=root.thres:warning",
    "--log=smpi_kernel.thres:error",
    "--cfg=smpi/host-speed:1Gf",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/privatization:no",
    "--cfg=contexts/stack-size:256",
    "--cfg=contexts/guard-size:1",
    "--cfg=surf/precision:1e-12",
    "--cfg=network/model:CM02",
    "--cfg=smpi/async-small-thresh:65536",
    "--cfg=smpi/finalization-barrier:1",
    "--cfg=smpi/barrier:ompi_tree",
    "--cfg=smpi/reduce:binomial",
    "--cfg=smpi/bcast:binomial_tree",
    "--cfg=smpi/allreduce:redbcast",
    "--cfg=smpi/gather:ompi_binomial",
    "--cfg=smpi/scatter:ompi_binomial",
    "--cfg=smpi/test:1e-7",
    "--cfg=smpi/iprobe:1e-7",
    "--cfg=smpi/grow-injected-times:no",
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* The simulated flavour: beside the build's program, or where it was installed. */
static int simulate_find_program(struct simulation *f, struct ictus_why *why)
{
    static const char *const places[] = {"../simulate", "../libexec/ictus"};
    char self[PATH_BYTES / 2];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = '\0';
    }
    const char *given = getenv("ICTUS_SIMULATE_DIR");
    for (int i = -1; i < 2; i++) {
        if (i < 0 && !given) {
            continue;
        }
        char place[PATH_BYTES / 2 + 32];
        (void)snprintf(place, sizeof(place), "%.510s/%s", i < 0 ? given : self,
                       i < 0 ? "." : places[i]);
        (void)snprintf(f->program, sizeof(f->program), "%s/ictus-simgrid", place);
        (void)snprintf(f->plugin, sizeof(f->plugin), "%s/ictus-platform.so", place);
        if (access(f->program, R_OK) == 0 && access(f->plugin, R_OK) == 0) {
            return ICTUS_OK;
        }
    }
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                         "this build cannot simulate; rebuild ictus with SimGrid's development "
                         "files (libsimgrid-dev)");
}

/*
 * Commands that send no more than a clock's readings at a time: their messages take their length's
 * time and share no links, since who shares what with whom, solved anew for each message, is half
 * of the simulator's work (4096 ranks: 75 s against 46 s).
 */
static bool simulate_is_light(const char *command)
{
    static const char *const light[] = {"check-nodes", "clocks", "drift", "rtt", "sync"};
    for (size_t i = 0; i < sizeof(light) / sizeof(light[0]); i++) {
        if (strcmp(command, light[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool simulate_is_file(const char *topology)
{
    const size_t length = strlen(topology);
    return length > 4 && strcmp(topology + length - 4, ".xml") == 0;
}

static int simulate_make_files(const struct simulate_options *o, struct simulation *f, char **words,
                               struct ictus_why *why)
{
    const struct simulate_cluster cluster = {
        .nodes = o->nodes,
        .ppn = o->ppn,
        .topology = o->topology,
        .latency_s = o->latency,
        .bandwidth = f->shared ? o->bandwidth : unshared,
        .inside_bandwidth = f->shared ? inside_faster * o->bandwidth : unshared};
    return simulate_files_make(&cluster, words, o->keep, &f->files, why);
}

static void simulate_set_number(const char *name, double value)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%.17g", value);
    (void)setenv(name, text, 1);
}

/* Settings of the platform and the clocks, put into the environment of the child only. */
static void simulate_set_environment(const struct simulate_options *o,
                                     const struct simulate_jitter *jitter,
                                     const struct simulation *f)
{
    char clock[600];
    char slow[SIMULATE_FAULTS_BYTES] = "";
    struct ictus_why unheard;
    (void)simulate_faults_slow(o->slow, o->nodes, slow, &unheard); /* checked before */
    (void)setenv("ICTUS_SIMULATE_SLOW", slow, 1);
    (void)setenv("ICTUS_SIMULATE_PLATFORM", f->files.platform, 1);
    (void)setenv("ICTUS_SIMULATE_SHAPE", jitter->shape, 1);
    simulate_set_number("ICTUS_SIMULATE_JITTER", jitter->mean_s);
    simulate_set_number("ICTUS_SIMULATE_TAIL", jitter->tail);
    simulate_set_number("ICTUS_SIMULATE_TAIL_SCALE", jitter->tail_s);
    simulate_set_number("ICTUS_SIMULATE_ASYMMETRY", o->asymmetry);
    simulate_set_number("ICTUS_SIMULATE_BANDWIDTH", f->shared ? 0.0 : o->bandwidth);
    simulate_set_number("ICTUS_SIMULATE_INSIDE_BANDWIDTH",
                        f->shared ? 0.0 : inside_faster * o->bandwidth);
    if (f->shared || o->messages || o->overhead > 0.0) {
        (void)unsetenv("ICTUS_SIMULATE_BURSTS");
    } else {
        (void)setenv("ICTUS_SIMULATE_BURSTS", f->plugin, 1);
    }
    simulate_set_number("ICTUS_SIMULATE_SEED", (double)o->seed);
    (void)snprintf(clock, sizeof(clock),
                   "sim:offset=%.15g,drift=%.15g,walk=%s,seed=%" PRId64 "%s%s", o->offset, o->drift,
                   o->walk, o->seed, o->clocks[0] ? ",step_at=0.3,faults=" : "", o->clocks);
    (void)setenv("ICTUS_CLOCK", clock, 1);
}

/* OPERATION:NAME,... as SimGrid's settings, which win over ours. */
static int simulate_read_collectives(const char *text, char choices[][CHOICE_BYTES], int *count,
                                     struct ictus_why *why)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
    char copy[CHOICES_MAX * CHOICE_BYTES / 2];
    char *rest = NULL;
    *count = 0;
    bool good = strlen(text) < sizeof(copy);
    (void)snprintf(copy, sizeof(copy), "%s", text);
    for (char *word = strtok_r(copy, ",", &rest); good && word; word = strtok_r(NULL, ",", &rest)) {
        const char *colon = strchr(word, ':');
        good = *count < CHOICES_MAX && strlen(word) < CHOICE_BYTES / 2 && colon && colon > word &&
               colon[1] && word[strspn(word, allowed)] == 0;
        if (good) {
            (void)snprintf(choices[(*count)++], CHOICE_BYTES, "--cfg=smpi/%.48s", word);
        }
    }
    return good ? ICTUS_OK
                : ictus_because(why, ICTUS_ERR_SPEC,
                                "--collectives=%.80s: must be OPERATION:NAME[,OPERATION:NAME...]",
                                text);
}

/* What a message costs its processes, as SimGrid's settings. */
static int simulate_set_overhead(double seconds, char choices[][CHOICE_BYTES])
{
    static const char *const sides[] = {"os", "or", "ois"};
    const int count = seconds > 0.0 ? (int)(sizeof(sides) / sizeof(sides[0])) : 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(choices[i], CHOICE_BYTES, "--cfg=smpi/%s:0:%.17g:0", sides[i], seconds);
    }
    return count;
}

/* What a child that becomes smpirun has to know. */
struct launch {
    const struct simulate_options *options;
    const struct simulate_jitter *jitter;
    const struct simulation *simulation;
    const char *word; /* of a trial, in place of the wrapper and what it runs */
};

/* Returns only if smpirun cannot be started. */
static int simulate_become_smpirun(const void *given)
{
    const struct launch *l = given;
    const struct simulation *f = l->simulation;
    char ranks[24];
    char choices[CHOICES_MAX + 3][CHOICE_BYTES];
    char wrapper[SIMULATE_PATH_BYTES + 4];
    const char *arguments[SETTINGS + CHOICES_MAX + 20];
    struct ictus_why why;
    int n = 0;
    int chosen = 0;
    simulate_set_environment(l->options, l->jitter, f);
    (void)simulate_read_collectives(l->options->collectives, choices, &chosen,
                                    &why); /* checked before */
    chosen += simulate_set_overhead(l->options->overhead, choices + chosen);
    (void)snprintf(wrapper, sizeof(wrapper), "sh %s", f->files.wrapper);
    (void)snprintf(ranks, sizeof(ranks), "%" PRId64, l->options->nodes * l->options->ppn);
    const char *const first[] = {"smpirun", "-quiet",    "-np",          ranks,      "-platform",
                                 f->plugin, "-hostfile", f->files.hosts, "-wrapper", wrapper};
    const int first_count = (int)(sizeof(first) / sizeof(first[0])) - (l->word ? 2 : 0);
    for (int i = 0; i < first_count; i++) {
        arguments[n++] = first[i];
    }
    for (int i = 0; i < SETTINGS; i++) {
        arguments[n++] = settings[i];
    }
    for (int i = 0; i < chosen; i++) {
        arguments[n++] = choices[i];
    }
    arguments[n++] = f->program;
    arguments[n++] = l->word;
    arguments[n] = NULL;
    (void)execvp("smpirun", (char *const *)arguments);
    (void)fprintf(stderr, "ictus simulate: cannot start smpirun; is SimGrid installed?\n");
    return EXIT_FAILED;
}

/*
 * SimGrid's own message about what it refuses: the text after the brackets of its log, without the
 * rest of the list.
 */
static void simulate_say_refusal(const char *said, struct ictus_why *why)
{
    const char *line = strstr(said, "CRITICAL] ");
    line = line ? line + strlen("CRITICAL] ") : said;
    (void)ictus_because(why, ICTUS_ERR_SPEC, "--collectives: %.*s", (int)strcspn(line, "\n"), line);
}

/*
 * SimGrid aborts on a collective or an algorithm that it does not know: two processes find out,
 * where there are so many. One would not do for all: allreduce:rab1 then uses a count that only its
 * loop over partners sets.
 */
static int simulate_try_collectives(const struct launch *real, struct ictus_why *why)
{
    struct simulate_options few = *real->options;
    struct launch trial = *real;
    char said[sizeof(why->text)] = "";
    int status = 0;
    int ends[2];
    few.nodes = few.nodes * few.ppn > 1 ? 2 : 1;
    few.ppn = 1;
    trial.options = &few;
    trial.word = "clocks";
    if (!*few.collectives || pipe(ends)) {
        return ICTUS_OK; /* a fault that the trial cannot show appears when the simulation runs */
    }
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        _exit(simulate_become_smpirun(&trial));
    }
    (void)close(ends[1]);
    FILE *errors = fdopen(ends[0], "r");
    const size_t n = errors ? fread(said, 1, sizeof(said) - 1, errors) : 0;
    said[n] = '\0';
    while (errors && fgetc(errors) != EOF) { /* the child must not wait for a reader */
    }
    if (errors) {
        (void)fclose(errors);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status == 0) {
        return ICTUS_OK;
    }
    simulate_say_refusal(said, why);
    return ICTUS_ERR_SPEC;
}

/* A platform file says itself what its links are like. */
static int simulate_check_links(const struct simulate_options *o, struct ictus_why *why)
{
    static const char *const links[] = {"latency", "bandwidth"};
    for (size_t i = 0; i < sizeof(links) / sizeof(*links) && simulate_is_file(o->topology); i++) {
        if (options_is_set(options_row(options, links[i]), o)) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--%s has no effect with the platform file '%.200s', which names "
                                 "its own",
                                 links[i], o->topology);
        }
    }
    return ICTUS_OK;
}

/* Check everything that can be checked before anything is started. */
static int simulate_check(const struct simulate_options *o, int word_count, char **words,
                          struct simulate_jitter *jitter, struct ictus_why *why)
{
    /*
     * The commands of commands_simulated.h. Any other is refused here, or each rank would complain
     * about it.
     */
    static const char *const known[] = {"barrier",    "bench",  "check-nodes", "clocks", "drift",
                                        "guidelines", "matrix", "rtt",         "sync",   NULL};
    char choices[CHOICES_MAX][CHOICE_BYTES];
    int chosen = 0;
    int command = 0;
    double walk = 0.0;
    if (!word_count) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "the command to simulate is missing: ictus simulate -- sync");
    }
    while (known[command] && strcmp(known[command], words[0]) != 0) {
        command++;
    }
    if (!known[command]) {
        (void)ictus_unknown(why, "command", words[0], known);
        return ICTUS_ERR_SPEC;
    }
    if (ictus_parse_real(o->walk, &walk) || walk < 0.0 || walk > 1e-3) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--walk=%.40s: must be between 0 and 1e-3",
                             o->walk);
    }
    char slow[SIMULATE_FAULTS_BYTES];
    int err = simulate_check_links(o, why);
    err = err ? err : simulate_jitter_read(o->jitter, jitter, why);
    err = err ? err : simulate_faults_slow(o->slow, o->nodes, slow, why);
    err = err ? err : simulate_faults_clocks(o->clocks, o->nodes, why);
    return err ? err : simulate_read_collectives(o->collectives, choices, &chosen, why);
}

static int simulate_command(const void *given, int word_count, char **words)
{
    const struct simulate_options *o = given;
    struct simulate_jitter jitter = {.mean_s = 0.0};
    struct simulation simulation;
    struct ictus_why why = {""};
    const struct launch launch = {.options = o, .jitter = &jitter, .simulation = &simulation};
    if (word_count && strcmp(words[0], "--") == 0) {
        words++;
        word_count--;
    }
    words[word_count] = NULL;
    int err = simulate_check(o, word_count, words, &jitter, &why);
    if (!err) {
        err = simulate_find_program(&simulation, &why);
    }
    if (!err) {
        simulation.shared = simulate_is_file(o->topology) || !simulate_is_light(words[0]);
        err = simulate_make_files(o, &simulation, words, &why);
    }
    if (!err) {
        err = simulate_try_collectives(&launch, &why);
    }
    return err ? command_fail("simulate", err, &why)
               : simulate_run(simulate_become_smpirun, &launch);
}

const struct command command_simulate = {
    .name = "simulate",
    .summary = "run an MPI command of ictus on a simulated cluster",
    .arguments = "-- COMMAND [OPTION...]",
    .details = "  ictus simulate --nodes=1024 --ppn=16 -- sync --sync=hca3,mesh\n"
               "Commands: barrier, bench, check-nodes, clocks, drift, guidelines, matrix, rtt,\n"
               "sync. Errors are judged by truth.",
    .options = options,
    .options_size = sizeof(struct simulate_options),
    .run = simulate_command,
};
