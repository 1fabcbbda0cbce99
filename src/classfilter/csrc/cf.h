/* SPDX-License-Identifier: MIT */
/* classfilter: the C core.

   C99, no malloc, no stdio, no globals, no recursion; every byte it works on is the caller's. It needs only
   +, -, *, / of IEEE numbers, so the same input gives the same bits on every machine (compile without
   -ffast-math and with -ffp-contract=off). Every function that can fail returns a status; a failed call
   changes nothing.

   Each type and function exists for float (suffix _f32) and for double (_f64). */
#ifndef CF_H
#define CF_H

#include "cf_port.h"

#define CF_VERSION "0.4.0"

typedef enum {
    CF_OK = 0,
    CF_BAD_CLASSES,       /* fewer than two classes */
    CF_BAD_GAMMA,         /* gamma outside [0, 1] */
    CF_BAD_FLOOR,         /* floor outside [1e-30, 1) */
    CF_BAD_ANCHOR,        /* anchor outside [0, 1e9] */
    CF_BAD_PRIOR,         /* an entry of the prior outside [1e-6, max_concentration] */
    CF_BAD_WEIGHT,        /* eta, the weight of the state, outside [0, 1e9] */
    CF_BAD_CONCENTRATION, /* max_concentration outside [classes, 1e12], for float [classes, 1e6] */
    CF_PROBS_NEGATIVE,    /* a probability below 0 */
    CF_PROBS_INFINITE,    /* a probability above 1e30 */
    CF_PROBS_SOME_NAN,    /* some, but not all, probabilities are NaN */
    CF_PROBS_SUM,         /* the probabilities' sum is off 1 by more than CF_SUM_TOLERANCE */
    CF_BAD_BETA,          /* beta outside [0, 1] */
    CF_BAD_DT,            /* dt outside [0, 1e30] */
    CF_NOT_CONVERGED,     /* the mode was not reached in CF_MAX_ITERATIONS */
    CF_BAD_STAY,          /* stay outside [0, 1] */
    CF_BAD_CLASS_PRIOR,   /* an entry of the classes' prior outside [1e-6, 1], or their sum off 1 */
    CF_BAD_RATES,         /* a rate of change outside [0, 1e6] */
    CF_BAD_STATE,         /* a state, or an estimate, that is no distribution over the classes */
    CF_BAD_TOLERANCE,     /* tolerance outside [0, 0.1] */
    CF_BAD_POLICY,        /* a setting of a policy outside its range */
    CF_BAD_LIKELIHOOD,    /* a row with an entry below 0 or above 1e30, without one above 0, or partly NaN */
    CF_BAD_COST,          /* a cost of a change outside [0, 1e30] */
    CF_BAD_BIAS,          /* a bias outside [-1e6, 1e6] */
    CF_BAD_MIN_PROBABILITY, /* min_probability outside [0, 1] */
    CF_BAD_DURATION, /* a time of an event rule is negative or NaN, or a pad, shift or min_duration is above 1e30 */
    CF_BAD_DELAY, /* max_delay is shorter than a minimum duration: that class could never be reported */
    CF_BAD_TIME,  /* a time that is not finite, goes back, or is more than 1e30 after the one before */
    CF_BAD_MEMORY, /* memory for too few nodes or slots */
    CF_BAD_BLOCK, /* bytes that are no state of this event rule */
    CF_BAD_TEMPERATURE /* temperature outside [0.05, 20] */
} cf_status;

#define CF_SUM_TOLERANCE 0.05
#ifndef CF_MAX_ITERATIONS /* a test lowers it, to see a failure */
#define CF_MAX_ITERATIONS 96
#endif

const char *cf_strerror(cf_status status);

/* Logarithm of x > 0 (normal, below half of the largest); digamma and trigamma of x > 0. The functions that the
   filters are made of. */
float cf_log_f32(float x);
double cf_log_f64(double x);
float cf_exp_f32(float x);   /* x <= 0 */
double cf_exp_f64(double x); /* x <= 0 */
float cf_digamma_f32(float x);
double cf_digamma_f64(double x);
float cf_trigamma_f32(float x);
double cf_trigamma_f64(double x);

/* Tells whether any filter would take these rows: row i has K probabilities (or NaN only), weight beta[i * beta_stride]
   and comes dt[i * dt_stride] after the row before. *row is the first that it would not. */
cf_status cf_check_f32(size_t classes, size_t rows, const float *observed, const float *beta, size_t beta_stride,
                       const float *dt, size_t dt_stride, size_t *row);
cf_status cf_check_f64(size_t classes, size_t rows, const double *observed, const double *beta, size_t beta_stride,
                       const double *dt, size_t dt_stride, size_t *row);

/* ---- rows of many streams ---- */

/* What a run takes: some streams, and the rows that each of them observes, one after the other. Stream i starts from
   number slots[i] of `states` and ends as number i of `after`. It has counts[i] rows, which are the next ones of
   `order`. Row r has the K probabilities at observed + r K (all NaN: nothing seen) and the weight beta[r * beta_stride],
   comes dt[r * dt_stride] after the row of its stream before, and its estimate goes to probs + r K. */
typedef struct {
    size_t streams;
    const size_t *slots;  /* NULL: 0, 1, 2, ... */
    const size_t *counts; /* NULL: one row each */
    const size_t *order;  /* NULL: 0, 1, 2, ... */
    const float *states;
    float *after; /* with one stream and no slots, it may be `states` */
    const float *observed, *beta, *dt;
    size_t beta_stride, dt_stride;
    float *probs; /* may be NULL, or, with one stream, `observed` */
} cf_table_f32;

typedef struct {
    size_t streams;
    const size_t *slots;  /* NULL: 0, 1, 2, ... */
    const size_t *counts; /* NULL: one row each */
    const size_t *order;  /* NULL: 0, 1, 2, ... */
    const double *states;
    double *after; /* with one stream and no slots, it may be `states` */
    const double *observed, *beta, *dt;
    size_t beta_stride, dt_stride;
    double *probs; /* may be NULL, or, with one stream, `observed` */
} cf_table_f64;

/* ---- the Dirichlet filter ---- */

/* The Dirichlet filter's settings; constant, shared by any number of streams. Fill the first eight members, then
   let cf_dirichlet_prepare compute the rest and check them all. */
typedef struct {
    size_t classes;          /* K >= 2 */
    float gamma;             /* what a time unit leaves of the memory */
    float floor;             /* smallest probability believed */
    float anchor;            /* how strongly silence pulls back to the prior; 0: not at all */
    float max_concentration; /* largest sum of alpha */
    int mean;                /* read the mean of Dir(alpha) instead of its mode */
    float tolerance;         /* relative step that ends the search for the mode; 0: exact to rounding */
    int bounded; /* no nu_i exceeds eta times `bound`; 0: as in the paper */
    float log_gamma;
    float bound; /* -log of the smallest probability that a floored prediction can have; or of the prior, if larger */
    const float *prior_nu; /* K numbers, or NULL where anchor is 0 */
} cf_dirichlet_f32;

typedef struct {
    size_t classes;           /* K >= 2 */
    double gamma;             /* what a time unit leaves of the memory */
    double floor;             /* smallest probability believed */
    double anchor;            /* how strongly silence pulls back to the prior; 0: not at all */
    double max_concentration; /* largest sum of alpha */
    int mean;                 /* read the mean of Dir(alpha) instead of its mode */
    double tolerance;         /* relative step that ends the search for the mode; 0: exact to rounding */
    int bounded; /* no nu_i exceeds eta times `bound`; 0: as in the paper */
    double log_gamma;
    double bound; /* -log of the smallest probability that a floored prediction can have; or of the prior, if larger */
    const double *prior_nu; /* K numbers, or NULL where anchor is 0 */
} cf_dirichlet_f64;

/* The state of one stream is K + 1 numbers: eta, then alpha. */
#define CF_DIRICHLET_STATE(classes) ((classes) + 1)
/* The numbers of scratch memory that the calls below need; what it holds between calls does not matter. */
#define CF_DIRICHLET_NUMBERS(classes) (((classes) + CF_BLOCK) / CF_BLOCK * CF_BLOCK) /* K + 1, rounded up */
#ifdef CF_SMALL
#define CF_DIRICHLET_MEMBERS 12
#define CF_DIRICHLET_SCRATCH(classes) (CF_DIRICHLET_MEMBERS * CF_DIRICHLET_NUMBERS(classes))
#else
#define CF_DIRICHLET_MEMBERS 13
#define CF_DIRICHLET_SCRATCH(classes) ((CF_DIRICHLET_MEMBERS + 1) * CF_DIRICHLET_NUMBERS(classes))
#define CF_LANES 16 /* streams that go through vector registers together, at most */
#define CF_DIRICHLET_SCRATCH_MANY(classes) ((CF_DIRICHLET_MEMBERS * CF_LANES + 1) * CF_DIRICHLET_NUMBERS(classes))
#endif

/* Checks the settings and the prior (K numbers), computes log_gamma, bound and, if anchor > 0, prior_nu into the K numbers
   at `prior_nu`, which must live as long as the settings. */
cf_status cf_dirichlet_prepare_f32(cf_dirichlet_f32 *settings, const float *prior, float *prior_nu);
cf_status cf_dirichlet_prepare_f64(cf_dirichlet_f64 *settings, const double *prior, double *prior_nu);

/* Starts a stream with these eta and alpha. */
cf_status cf_dirichlet_start_f32(const cf_dirichlet_f32 *settings, const float *alpha, float eta, float *state);
cf_status cf_dirichlet_start_f64(const cf_dirichlet_f64 *settings, const double *alpha, double eta, double *state);

/* Reads a state: K class probabilities, the mode or the mean of Dir(alpha). */
void cf_dirichlet_read_f32(const cf_dirichlet_f32 *settings, const float *state, float *probs);
void cf_dirichlet_read_f64(const cf_dirichlet_f64 *settings, const double *state, double *probs);

/* nu_i = eta (digamma(sum alpha) - digamma(alpha_i)), K numbers; where bounded, at most eta times the bound. */
void cf_dirichlet_nu_f32(const cf_dirichlet_f32 *settings, const float *state, float *nu);
void cf_dirichlet_nu_f64(const cf_dirichlet_f64 *settings, const double *state, double *nu);

/* One step: dt time units pass, then a classifier of weight beta reports the K probabilities at `observed` (all NaN:
   nothing seen). The new estimate goes to `probs`, which may be NULL or `observed`. */
cf_status cf_dirichlet_update_f32(const cf_dirichlet_f32 *settings, float *state, const float *observed, float beta,
                                  float dt, float *probs, float *scratch);
cf_status cf_dirichlet_update_f64(const cf_dirichlet_f64 *settings, double *state, const double *observed, double beta,
                                  double dt, double *probs, double *scratch);

/* The rows of many streams, exactly as a loop of cf_dirichlet_update for each stream by itself; several of them go
   through the vector registers at a time. At a failure, *row is the first row that fails, in the order of the table, and
   only what is at `after` and `probs` may have changed; of a single stream, not `after` either. *iterations, where it is
   not NULL, becomes the largest number of iterations that a row took. Needs CF_DIRICHLET_SCRATCH numbers of scratch
   memory for one stream, CF_DIRICHLET_SCRATCH_MANY for more. Not with CF_SMALL. */
cf_status cf_dirichlet_run_f32(const cf_dirichlet_f32 *settings, const cf_table_f32 *table, float *scratch, size_t *row,
                               size_t *iterations);
cf_status cf_dirichlet_run_f64(const cf_dirichlet_f64 *settings, const cf_table_f64 *table, double *scratch,
                               size_t *row, size_t *iterations);

/* ---- the channel ---- */

/* Corrects a classifier's outputs by its confusions: with M_kj the mean output j in class k and pi the classes' shares,
   the output w becomes p_k ~ pi_k exp(sum_j w_j log M_kj), normalised. */
typedef struct {
    size_t classes;
    const float *log_prior; /* K numbers: log pi */
    const float *log_matrix; /* K x K: log M_kj is number j K + k */
} cf_channel_f32;

typedef struct {
    size_t classes;
    const double *log_prior; /* K numbers: log pi */
    const double *log_matrix; /* K x K: log M_kj is number j K + k */
} cf_channel_f64;

/* Corrects one output, from K numbers to K others. NaN only stays so: nothing was seen. */
cf_status cf_channel_apply_f32(const cf_channel_f32 *channel, const float *observed, float *probs);
cf_status cf_channel_apply_f64(const cf_channel_f64 *channel, const double *observed, double *probs);

/* ---- the sticky filter ---- */

/* The forward pass of a hidden Markov model in continuous time. Over dt the class stays with probability stay^dt and is
   otherwise drawn from the prior; or, where `rates` is given, it changes from i to j at rates[i K + j]. An
   observation s of weight beta counts as the likelihood (max(s, floor) / prior)^beta.

   Settings are constant, shared by any number of streams. Fill the first four members, then let cf_sticky_prepare
   compute the rest and check them all. */
typedef struct {
    size_t classes; /* K >= 2 */
    float stay; /* probability that a time unit does not touch the class; not used with rates */
    float floor; /* smallest probability believed */
    const float *rates; /* K x K, row after row, the diagonal not read; or NULL */
    float log_stay, fastest;
    const float *table; /* rows of the prior, and of what follows from it */
} cf_sticky_f32;

typedef struct {
    size_t classes; /* K >= 2 */
    double stay; /* probability that a time unit does not touch the class; not used with rates */
    double floor; /* smallest probability believed */
    const double *rates; /* K x K, row after row, the diagonal not read; or NULL */
    double log_stay, fastest;
    const double *table; /* rows of the prior, and of what follows from it */
    const double *modes; /* CF_STICKY_MODES numbers, or NULL: see below */
    size_t pairs;
} cf_sticky_f64;

/* The state of one stream is its K class probabilities, none below this. */
#define CF_STICKY_SMALLEST 1e-30
#define CF_STICKY_PART ((CF_BLOCK + 1) / 2)
#define CF_STICKY_ROW(classes) (((classes) + CF_STICKY_PART - 1) / CF_STICKY_PART * CF_STICKY_PART)
#define CF_STICKY_TABLE(classes) (3 * CF_STICKY_ROW(classes))
/* In double precision, with rates that have a well-conditioned basis of eigenvectors, modes make a new dt cost little more
   than the last one again; else it takes an exponential of a matrix. In rows of CF_STICKY_ROW numbers, zeros at their
   ends: the real parts of the eigenvalues, the imaginary parts, K rows V, K rows of V's inverse, and the transitions of
   one time unit. Complex eigenvalues come first, in `pairs` of a -+ i b: there V has the columns Re v and Im v of the
   eigenvector v of a + i b. */
#define CF_STICKY_MODES(classes) ((2 + 3 * (classes)) * CF_STICKY_ROW(classes))
/* With rates: memory for what the last dt does, so that the same dt again costs only K x K. Set its first number to -1
   before the first call; any number of streams may share it, one after the other. */
#define CF_STICKY_CACHE(classes) (1 + (classes) * CF_STICKY_ROW(classes))
/* Scratch memory; what it holds between calls does not matter. Without rates the second is enough. */
#define CF_STICKY_SCRATCH(classes) ((2 * (classes) + CF_BLOCK + 1) * CF_STICKY_ROW(classes))
#define CF_STICKY_SCRATCH_STAY(classes) ((CF_BLOCK + 1) * CF_STICKY_ROW(classes))

/* Checks the settings and the prior (K probabilities), and fills the CF_STICKY_TABLE numbers at `table`, which must live
   as long as the settings. A stream starts at the prior: the first K numbers of the table. */
cf_status cf_sticky_prepare_f32(cf_sticky_f32 *settings, const float *prior, float *table);
cf_status cf_sticky_prepare_f64(cf_sticky_f64 *settings, const double *prior, double *table);

/* Starts a stream, or restores it: K class probabilities. */
cf_status cf_sticky_start_f32(const cf_sticky_f32 *settings, const float *probs, float *state);
cf_status cf_sticky_start_f64(const cf_sticky_f64 *settings, const double *probs, double *state);

/* Probability of each class (column) dt after each class (row): K x K numbers. */
cf_status cf_sticky_transitions_f32(const cf_sticky_f32 *settings, float dt, float *matrix, float *transition_cache,
                                    float *scratch);
cf_status cf_sticky_transitions_f64(const cf_sticky_f64 *settings, double dt, double *matrix, double *transition_cache,
                                    double *scratch);

/* One step: dt time units pass, then a classifier of weight beta reports the K probabilities at `observed` (all NaN:
   nothing seen). The state is the new estimate. `transition_cache` may be NULL without rates. */
cf_status cf_sticky_update_f32(const cf_sticky_f32 *settings, float *state, const float *observed, float beta, float dt,
                               float *transition_cache, float *scratch);
cf_status cf_sticky_update_f64(const cf_sticky_f64 *settings, double *state, const double *observed, double beta,
                               double dt, double *transition_cache, double *scratch);

/* The rows of many streams, exactly as a loop of cf_sticky_update for each stream by itself; failures as of
   cf_dirichlet_run. Not with CF_SMALL. */
cf_status cf_sticky_run_f32(const cf_sticky_f32 *settings, const cf_table_f32 *table, float *transition_cache,
                            float *scratch, size_t *row);
cf_status cf_sticky_run_f64(const cf_sticky_f64 *settings, const cf_table_f64 *table, double *transition_cache,
                            double *scratch, size_t *row);

/* What the later rows say of the class at each row, up to a factor, to multiply the estimates of cf_sticky_run by:

     b_t = transitions(dt_{t+1}) (l_{t+1} b_{t+1}), and ones at the last row; then b_t / sum b_t.

   `likelihood` holds `steps` rows of K numbers l_t, each row up to a factor; NaN only: nothing seen. dt_0 is not used.
   The messages go to `messages`, `steps` rows of K numbers, none below CF_STICKY_SMALLEST; it may be `likelihood`. At a
   failure, *row tells where and nothing was written. Not with CF_SMALL. */
cf_status cf_sticky_backward_f32(const cf_sticky_f32 *settings, size_t steps, const float *likelihood, const float *dt,
                                 size_t dt_stride, float *messages, float *transition_cache, float *scratch,
                                 size_t *row);
cf_status cf_sticky_backward_f64(const cf_sticky_f64 *settings, size_t steps, const double *likelihood,
                                 const double *dt, size_t dt_stride, double *messages, double *transition_cache,
                                 double *scratch, size_t *row);

/* ---- temperature ---- */

/* Makes an estimate less certain, where the temperature is above 1, or more: q_k = p_k^(1 / temperature), normalised, in a
   fixed order of sums. The state of a filter does not change; temper what it returns. `probs` are K numbers from 0 to 1e30,
   one of them normal; `tempered` may be `probs`. The largest stays the largest, equal numbers stay equal, and zero stays
   zero; what is, or would be, below the smallest normal number becomes zero. A temperature of 1 copies the bits. */
cf_status cf_temper_f32(size_t classes, float temperature, const float *probs, float *tempered);
cf_status cf_temper_f64(size_t classes, double temperature, const double *probs, double *tempered);

/* ---- the adaptive policy ---- */

/* Says when to call the strong classifier rather than the weak one, and keeps to a budget in the long run. Settings are
   constant. Fill all but the last three members, then let cf_adaptive_prepare compute those and check them all. Costs count in
   units of what a strong call costs more than a weak one. */
typedef struct {
    float budget; /* strong calls per step, below 1; or, if timed, cost per time unit */
    float weak; /* what a weak call costs; 0 where the budget counts strong calls */
    float min_gap; /* least steps from one strong call to the next, 1 or more */
    float max_gap; /* most steps, or as many median steps' worth of time; at most 1e6 */
    float disagreement; /* weight of the disagreement of the last weak output, 0 to 1e3 */
    float floor; /* uncertainty that always remains, 1e-4 to 1 */
    float horizon; /* strong calls beyond the budget that raise the threshold by a factor e, 1 to 1e6 */
    int timed; /* the budget is a cost per time unit */
    float start, least, most;
} cf_adaptive_f32;

typedef struct {
    double budget; /* strong calls per step, below 1; or, if timed, cost per time unit */
    double weak; /* what a weak call costs; 0 where the budget counts strong calls */
    double min_gap; /* least steps from one strong call to the next, 1 or more */
    double max_gap; /* most steps, or as many median steps' worth of time; at most 1e6 */
    double disagreement; /* weight of the disagreement of the last weak output, 0 to 1e3 */
    double floor; /* uncertainty that always remains, 1e-4 to 1 */
    double horizon; /* strong calls beyond the budget that raise the threshold by a factor e, 1 to 1e6 */
    int timed; /* the budget is a cost per time unit */
    double start, least, most;
} cf_adaptive_f64;

/* The state of one stream: the offset of the threshold; the median time from step to step, 0 while it is not known;
   steps since the last strong call, 0 before the first; the disagreement of the last weak output; the uncertainty that
   remained after the last strong output; the budget accrued so far, up to the horizon. */
#define CF_ADAPTIVE_STATE 6

cf_status cf_adaptive_prepare_f32(cf_adaptive_f32 *settings);
cf_status cf_adaptive_prepare_f64(cf_adaptive_f64 *settings);

/* Starts a stream. */
void cf_adaptive_start_f32(float *state);
void cf_adaptive_start_f64(double *state);

/* Before a step: *strong tells whom to call, given the filter's estimate (K numbers) and the time since the last strong call
   (anything before the first). Nothing changes. */
cf_status cf_adaptive_choose_f32(const cf_adaptive_f32 *settings, const float *state, size_t classes,
                                 const float *probs, float since, int *strong);
cf_status cf_adaptive_choose_f64(const cf_adaptive_f64 *settings, const double *state, size_t classes,
                                 const double *probs, double since, int *strong);

/* After it: who was called, the chosen one or not, its output (all NaN: nothing), the estimate before that output, and
   the time since the step before. */
cf_status cf_adaptive_called_f32(const cf_adaptive_f32 *settings, float *state, int strong, size_t classes,
                                 const float *observed, const float *probs, float dt);
cf_status cf_adaptive_called_f64(const cf_adaptive_f64 *settings, double *state, int strong, size_t classes,
                                 const double *observed, const double *probs, double dt);

/* ---- events ---- */

/* Turns the probabilities of a stream into events: class, start, end. A row stands for the time w_t to the next row, at most
   max_gap, and the last row of the stream for as long as the one before it. A longer step, or a row of NaN only, is unknown
   time: it ends a stretch of rows. Within a stretch the path of classes y is chosen that maximises

     sum_t w_t e_t(y_t) - sum over changes from j to k of (leave_j + enter_k),   e_t(k) = p_t(k) - bias_k

   or, with `log`, e_t(k) = log(max(p_t(k), floor)) - bias_k. The first class of a stretch costs nothing. With
   min_probability there is a class K more, "uncertain", whose e_t is min_probability (its logarithm, with `log`). A segment of
   class k lasts at least min_duration_k, also at both ends of a stretch; a stretch that has no such path is unknown. Of
   equally good paths, the one that stays; else the first class.

   A segment is confirmed when the best paths to all classes share it: no later row changes it. With max_delay, what lies
   longer than that before the end of a row is decided by the best path at that row, and all others that differ from it there
   are dropped; merge_gap and the pads may hold an event back for longer. Then:

   1. Each change moves back by `shift`, but not before the start of its stretch; start and end of the stretch stay. What is
      empty then, or lasted no time before, is no event.
   2. Events of ignored classes and of "uncertain" are left out.
   3. Two events in a row, of one class and at most merge_gap apart, become one.
   4. Events grow by pad_before and pad_after, but not beyond the stream, nor into other events; where the time between two
      is shorter than both pads, they meet where it is divided in the ratio of the pads.
   5. cf_events_piece divides what is longer than max_duration, into CF_EVENTS_PIECES at most.

   An event's probability is the mean of p_t(k) over the rows that it comes from, weighted by their time.

   Times are double in both precisions; only sums, differences and comparisons of them are needed for a row. A time is longer than a
   limit where it is so by more than CF_EVENTS_SHARE of the limit and CF_EVENTS_ULPS of the clock: ten steps of 0.1 make 1.

   With CF_TICKS, times are whole numbers of ticks, for processors without double precision. The events are those of the same
   rows and times as double, to the bit; but where pads meet between two ticks, the earlier one is taken. A row comes at most
   2^31 - 1 ticks after the one before, limits are below CF_TICKS_MOST or CF_FOREVER, and the clock is below 2^49. */
#define CF_EVENTS_SHARE (1.0 / (1 << 30))
#define CF_EVENTS_ULPS (1.0 / ((int64_t)1 << 50))
#ifdef CF_TICKS
typedef int64_t cf_time;
typedef float cf_mean;
#define CF_TICKS_MOST (INT32_C(1) << 29)
#define CF_FOREVER INT64_MAX
#else
typedef double cf_time;
typedef double cf_mean;
#endif

typedef struct {
    cf_time start, end;
    cf_mean probability;
    int32_t label; /* the class, from 0 */
    int32_t forced; /* decided for max_delay, or for want of memory: later rows might have changed it */
} cf_event;

/* The times of a whole rule, in their order: bindings take them from here. max_gap, max_delay and max_duration may be infinite,
   CF_FOREVER with CF_TICKS; with a negative merge_gap, events are not merged. */
#define CF_EVENTS_TIMES(X) X(max_gap) X(max_delay) X(max_duration) X(merge_gap) X(pad_before) X(pad_after) X(shift)
#define CF_EVENTS_TIME(name) cf_time name;

/* The rule's settings; constant, shared by any number of streams. */
typedef struct {
    size_t classes; /* K >= 2 */
    int log; /* evidence is log p, not p */
    float floor; /* smallest probability believed, with log */
    float min_probability; /* 0: there is no class "uncertain" */
    const float *enter, *leave; /* K numbers, with min_probability K + 1 */
    const float *bias; /* K numbers */
    const cf_time *min_duration; /* K numbers */
    const unsigned char *ignore; /* K, 1 for classes without events */
    CF_EVENTS_TIMES(CF_EVENTS_TIME)
} cf_events_f32;

typedef struct {
    size_t classes; /* K >= 2 */
    int log; /* evidence is log p, not p */
    double floor; /* smallest probability believed, with log */
    double min_probability; /* 0: there is no class "uncertain" */
    const double *enter, *leave; /* K numbers, with min_probability K + 1 */
    const double *bias; /* K numbers */
    const cf_time *min_duration; /* K numbers */
    const unsigned char *ignore; /* K, 1 for classes without events */
    CF_EVENTS_TIMES(CF_EVENTS_TIME)
} cf_events_f64;

/* Checks the settings. */
cf_status cf_events_prepare_f32(const cf_events_f32 *rule);
cf_status cf_events_prepare_f64(const cf_events_f64 *rule);

/* The state of a stream is one block of memory without pointers, to be copied and saved as it is: so many bytes, aligned as
   a double. `nodes` are the closed segments that it can hold, at least CF_EVENTS_NODES; 16 are plenty. `slots` are the rows
   that it can hold for each class with a minimum duration, which may have been entered at them: rows in the longest one, and
   2 more, but 2 at least and CF_EVENTS_SLOTS at most; 0 where there is none. Of n slots that are too few, those are kept at
   which the class would rather have been entered: as good as all, but for events that last less than 1 + 2 / (n - 2) times
   the minimum duration. */
#define CF_EVENTS_NODES 4
#define CF_EVENTS_SLOTS 64
#ifdef CF_TICKS /* for an array: `states` is K, or K + 1 with min_probability; `slow` classes have a minimum duration */
#define CF_EVENTS_BYTES(classes, states, slow, nodes, slots)                                                           \
    (136 + 32 * (states) + (4 * (classes) + 12 * (slow) + 7) / 8 * 8 + 24 * (nodes) + 24 * (slow) * (slots))
#endif
size_t cf_events_size_f32(const cf_events_f32 *rule, size_t nodes, size_t slots);
size_t cf_events_size_f64(const cf_events_f64 *rule, size_t nodes, size_t slots);

/* Starts a stream. */
cf_status cf_events_start_f32(const cf_events_f32 *rule, void *state, size_t nodes, size_t slots);
cf_status cf_events_start_f64(const cf_events_f64 *rule, void *state, size_t nodes, size_t slots);

/* One row at `time`: K probabilities, or NaN only. Up to CF_EVENTS_ROOM events, final by now, go to `events`, and their number
   to *count. Where there is no node left, the oldest open question is decided by the best path so far. */
#define CF_EVENTS_ROOM(nodes) ((nodes) + 2)
cf_status cf_events_update_f32(const cf_events_f32 *rule, void *state, cf_time time, const float *probs,
                               cf_event *events, size_t *count);
cf_status cf_events_update_f64(const cf_events_f64 *rule, void *state, cf_time time, const double *probs,
                               cf_event *events, size_t *count);

#ifdef CF_TICKS
/* The same, for a clock of 32 bits that begins again, such as milliseconds since the start; and the probabilities are not
   checked, for they are those that a filter has just returned. */
cf_status cf_events_tick_f32(const cf_events_f32 *rule, void *state, uint32_t now, const float *probs, cf_event *events,
                             size_t *count);
cf_status cf_events_tick_f64(const cf_events_f64 *rule, void *state, uint32_t now, const double *probs,
                             cf_event *events, size_t *count);
#endif

/* Many rows, exactly as a loop of cf_events_update; but it stops where the next row needs more memory (cf_events_needed) or
   more than what is left of `room` events, which must be CF_EVENTS_ROOM at least. *taken rows are done then: go on after
   them. At a failure nothing has changed, and *taken is the row that fails. Not with CF_TICKS. */
cf_status cf_events_run_f32(const cf_events_f32 *rule, void *state, size_t rows, const cf_time *times,
                            const float *probs, cf_event *events, size_t room, size_t *count, size_t *taken);
cf_status cf_events_run_f64(const cf_events_f64 *rule, void *state, size_t rows, const cf_time *times,
                            const double *probs, cf_event *events, size_t room, size_t *count, size_t *taken);

/* Ends the stream: its last CF_EVENTS_ROOM events or fewer. Then the state is that of a new stream; but a clock of 32 bits,
   of cf_events_tick, counts on. */
cf_status cf_events_finish_f32(const cf_events_f32 *rule, void *state, cf_event *events, size_t *count);
cf_status cf_events_finish_f64(const cf_events_f64 *rule, void *state, cf_event *events, size_t *count);

/* The event that goes on at present: the last one if the stream ended now, where it lasts to that end; else *open is 0.
   *confirmed tells whether no later row changes its start. `copy` is memory for another state of this size; the state does not change. */
cf_status cf_events_current_f32(const cf_events_f32 *rule, const void *state, void *copy, cf_event *event, int *open,
                                int *confirmed);
cf_status cf_events_current_f64(const cf_events_f64 *rule, const void *state, void *copy, cf_event *event, int *open,
                                int *confirmed);

/* The starts that no later row changes, each once and in order: those of the events that the call before has handed out, as far
   as they are new, and that of the event which goes on, with its start as its end, where it is certain that it is one. An event
   has the start that was handed out for it: it is neither withdrawn nor moved. To be called after each cf_events_update,
   cf_events_run, or cf_events_finish, with its events; up to `count` + 1 go to `starts`, and their number is returned. */
size_t cf_events_starts_f32(const cf_events_f32 *rule, void *state, const cf_event *events, size_t count,
                            cf_event *starts);
size_t cf_events_starts_f64(const cf_events_f64 *rule, void *state, const cf_event *events, size_t count,
                            cf_event *starts);

/* Piece number i of an event that max_duration divides: pieces of max_duration, and the rest. 0 where there is none. An event
   of more than CF_EVENTS_PIECES, as after a clock that was set, has pieces of 2, 4, 8... times max_duration. */
#define CF_EVENTS_PIECES 100000
int cf_events_piece_f32(const cf_events_f32 *rule, const cf_event *event, size_t i, cf_event *piece);
int cf_events_piece_f64(const cf_events_f64 *rule, const cf_event *event, size_t i, cf_event *piece);

/* The nodes and slots of a state. */
void cf_events_memory_f32(const void *state, size_t *nodes, size_t *slots);
void cf_events_memory_f64(const void *state, size_t *nodes, size_t *slots);

/* The time of the last row, 0 where there was none. */
cf_time cf_events_last_f32(const void *state);
cf_time cf_events_last_f64(const void *state);

/* The bytes that a state should have before the next row: its own, or more where it is full. cf_events_grow copies it into a
   block of so many. These two and cf_events_check are not there with CF_TICKS. */
size_t cf_events_needed_f32(const cf_events_f32 *rule, const void *state);
size_t cf_events_needed_f64(const cf_events_f64 *rule, const void *state);
void cf_events_grow_f32(const cf_events_f32 *rule, const void *state, void *larger);
void cf_events_grow_f64(const cf_events_f64 *rule, const void *state, void *larger);

/* Tells whether these bytes, from anywhere, are a state that all functions above can take. */
cf_status cf_events_check_f32(const cf_events_f32 *rule, const void *state, size_t bytes);
cf_status cf_events_check_f64(const cf_events_f64 *rule, const void *state, size_t bytes);

#endif
