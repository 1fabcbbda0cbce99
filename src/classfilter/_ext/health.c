/* SPDX-License-Identifier: MIT */
/* What is counted of each source over all streams, a few numbers and three per class; streams/_health.py says what they
   mean, and has the same names in the same order. */
#include "binding.h"

enum {
    ALL_TIME,
    ALL_AT,
    ALL_STEP,
    ALL_STEPS,
    ALL_ROWS,
    CHECK_TIME,
    CHECK_AT,
    CHANGES
}; /* the first row: of all sources */
enum {
    ROWS,
    MISSING,
    AT,
    TIME,
    FIRST_TIME,
    TUNED,
    TUNED_INTERVAL,
    TUNED_AGREEMENT,
    JUDGED,
    AGREED,
    USUAL_JUDGED,
    USUAL_AGREED,
    LONGEST_GAP,
    RUN_CLASS,
    RUN_ROWS,
    RUN_SPAN,
    SPAN,
    DEFICIT,
    PEAK,
    LARGEST_DEFICIT,
    RECENT_JUDGED,
    RECENT_AGREED,
    NEUTRAL,
    STUCK,
    SILENT,
    DISAGREES,
    STUCK_TIMES,
    SILENT_TIMES,
    DISAGREES_TIMES,
    FIXED
};

static const double FACTOR = 4; /* so many times the largest seen is not usual */
static const double LEAST = 30; /* nor less than so many predictions, or usual intervals */
static const double PAUSE = 10; /* usual steps: a longer one is a pause of the stream, and counts as so many */
static const double ALLOWANCE = 0.1; /* an agreement that is lower by less is left alone */
static const double ENOUGH_GAPS = 100; /* without tuning, silence is judged after so many predictions, */
static const double ENOUGH = 5000; /* and the rest after the time of so many in one stream */
static const double ENOUGH_JUDGED = 200, NEVER_CHANGED = 1000;
static const double NEVER_AGREES = 0.8; /* or less: a source that never changed its class is stuck */

/* The index of the largest of K numbers, the first of several; -1 where they are NaN. */
Py_ssize_t class_of(const Core *self, const void *numbers) {
    size_t i, top = 0;
    if (self->single) {
        const float *const f32 = numbers;
        float best = f32[0];
        for (i = 1; i < self->classes; i++) {
            top = f32[i] > best ? i : top;
            best = f32[i] > best ? f32[i] : best;
        }
        return best == best ? (Py_ssize_t)top : -1;
    } else {
        const double *const f64 = numbers;
        double best = f64[0];
        for (i = 1; i < self->classes; i++) {
            top = f64[i] > best ? i : top;
            best = f64[i] > best ? f64[i] : best;
        }
        return best == best ? (Py_ssize_t)top : -1;
    }
}

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

static double predictions(const double *s) { return s[ROWS] - s[MISSING]; }

/* From one prediction to the next, in a stream: its own, once there are enough. */
static double interval(const double *s) {
    const double n = predictions(s);
    if (s[TUNED_INTERVAL] > 0 && n <= LEAST) return s[TUNED_INTERVAL];
    return n > 1 ? (s[TIME] - s[FIRST_TIME]) / (n - 1) : 0;
}

/* Limits; -1 where too little is known, and while all is learnt as usual (TUNED is -1). */
static double gap_limit(const double *s, double usual) {
    if (s[TUNED] < 0 || (s[TUNED] == 0 && predictions(s) <= ENOUGH_GAPS)) return -1;
    return most(LEAST * usual, FACTOR * s[LONGEST_GAP]);
}

/* Whether its own past says what is usual. */
static int knows_itself(const double *s, double usual) { return s[SPAN] >= ENOUGH * usual && s[SPAN] > 0; }

static double run_limit(const double *s, size_t classes, size_t k, double usual) {
    const double *const longest = s + FIXED + 2 * classes;
    double largest = 0;
    size_t i;
    if (s[TUNED] < 0 || (s[TUNED] == 0 && !knows_itself(s, usual))) return -1;
    for (i = 0; i < classes; i++) largest = most(largest, longest[i]);
    if (s[TUNED] != 0) largest = longest[k]; /* in its own past, a class may have been there in errors only */
    return most(LEAST * usual, FACTOR * largest);
}

static double usual_agreement(const double *s) {
    if (s[TUNED_AGREEMENT] == s[TUNED_AGREEMENT]) return s[TUNED_AGREEMENT];
    return s[USUAL_JUDGED] >= ENOUGH_JUDGED ? s[USUAL_AGREED] / s[USUAL_JUDGED] : -1;
}

static double deficit_limit(const double *s, double agreement, double usual) {
    if (s[TUNED] < 0 || (s[TUNED] == 0 && !knows_itself(s, usual))) return Py_HUGE_VAL;
    return most(LEAST * usual * (agreement - ALLOWANCE), FACTOR * s[LARGEST_DEFICIT]);
}

static void set_verdict(double *all, double *s, int verdict, int holds) {
    if ((s[verdict] != 0) == holds) return;
    s[verdict] = holds;
    s[verdict + STUCK_TIMES - STUCK] += holds;
    all[CHANGES] += 1;
}

static double gap_of(const double *all, const double *s, double at) {
    return most(0, least(at - s[AT], all[ALL_TIME] - s[TIME]));
}

/* Looks which sources are silent, and when the next one could be. */
static void find_silent(double *all, size_t sources, size_t width, double at) {
    size_t i;
    all[CHECK_TIME] = all[CHECK_AT] = Py_HUGE_VAL;
    for (i = 1; i <= sources; i++) {
        double *const s = all + i * width;
        const double limit = gap_limit(s, interval(s));
        if (limit < 0 || s[SILENT] != 0) continue;
        if (gap_of(all, s, at) > limit) {
            set_verdict(all, s, SILENT, 1);
        } else {
            all[CHECK_TIME] = least(all[CHECK_TIME], s[TIME] + limit);
            all[CHECK_AT] = least(all[CHECK_AT], s[AT] + limit);
        }
    }
}

static void count_run(double *all, double *s, size_t classes, size_t k, double span, double usual) {
    double *const counts = s + FIXED, *const runs = counts + classes, *const longest = runs + classes;
    double limit;
    counts[k] += 1;
    if (s[RUN_ROWS] > 0 && s[RUN_CLASS] != (double)k) {
        const size_t before = (size_t)s[RUN_CLASS];
        limit = run_limit(s, classes, before, usual);
        /* What was reported is not usual from now on: it counts up to the limit. */
        longest[before] = most(longest[before], limit < 0 ? s[RUN_SPAN] : least(s[RUN_SPAN], limit));
        runs[before] += 1;
        s[RUN_ROWS] = s[RUN_SPAN] = 0;
        set_verdict(all, s, STUCK, 0);
        span = 0;
    }
    s[RUN_CLASS] = (double)k;
    s[RUN_ROWS] += 1;
    s[RUN_SPAN] += span;
    if (s[RUN_ROWS] < LEAST || s[STUCK] != 0 || s[RUN_SPAN] < LEAST * usual) return;
    limit = run_limit(s, classes, k, usual);
    if (limit >= 0 ? s[RUN_SPAN] > limit
                   : s[RUN_ROWS] >= NEVER_CHANGED && s[RUN_ROWS] == predictions(s) && s[JUDGED] > 0 &&
                         s[AGREED] <= NEVER_AGREES * s[JUDGED])
        set_verdict(all, s, STUCK, 1);
}

/* A cumulative sum (Page, 1954) of how much less it agrees than usual, in time. */
static void count_agreement(double *all, double *s, int agrees, double span, double usual) {
    const double agreement = usual_agreement(s);
    s[JUDGED] += 1;
    s[AGREED] += agrees;
    if (s[DISAGREES] == 0) {
        s[USUAL_JUDGED] += 1;
        s[USUAL_AGREED] += agrees;
    }
    if (agreement <= ALLOWANCE) return;
    s[DEFICIT] += span * ((s[DISAGREES] != 0 ? s[NEUTRAL] : agreement - ALLOWANCE) - agrees);
    s[RECENT_JUDGED] += 1;
    s[RECENT_AGREED] += agrees;
    if (s[DEFICIT] <= 0) {
        s[LARGEST_DEFICIT] = most(s[LARGEST_DEFICIT], least(s[PEAK], deficit_limit(s, agreement, usual)));
        s[DEFICIT] = s[PEAK] = s[RECENT_JUDGED] = s[RECENT_AGREED] = 0;
        set_verdict(all, s, DISAGREES, 0);
        return;
    }
    s[PEAK] = most(s[PEAK], s[DEFICIT]);
    if (s[DISAGREES] != 0) {
        s[DEFICIT] = least(s[DEFICIT], deficit_limit(s, agreement, usual));
    } else if (s[RECENT_JUDGED] >= LEAST && s[DEFICIT] > deficit_limit(s, agreement, usual)) {
        s[NEUTRAL] = (agreement + s[RECENT_AGREED] / s[RECENT_JUDGED]) / 2; /* half-way, so that it ends as fast */
        set_verdict(all, s, DISAGREES, 1);
    }
}

/* Counts a row: `predicted` is its class, or negative where it has none, `before` that of the estimate before it, or
   negative; `dt` the time since the row before of its stream. */
void count_row(const Health *health, double at, double dt, Py_ssize_t predicted, Py_ssize_t before) {
    double *const all = health->numbers, *const s = all + (health->source + 1) * health->width;
    double limit, gap, span, usual;
    size_t i;
    if (all[ALL_ROWS] == 0)
        for (i = 1; i <= health->sources; i++) all[i * health->width + AT] = at;
    all[ALL_ROWS] += 1;
    all[ALL_AT] = at;
    if (dt > 0) {
        const double usual = all[ALL_STEPS] > 0 ? least(dt, PAUSE * all[ALL_STEP]) : dt;
        all[ALL_STEPS] += 1;
        all[ALL_STEP] += (usual - all[ALL_STEP]) / least(all[ALL_STEPS], 1000);
        all[ALL_TIME] +=
            predicted < 0 ? dt : usual; /* a row without a prediction says that nothing was seen till then */
    }
    if (predicted < 0) {
        s[MISSING] += 1;
        s[ROWS] += 1;
    } else {
        span = 0;
        usual = interval(s);
        if (predictions(s) > 0) {
            limit = gap_limit(s, usual);
            gap = gap_of(all, s, at);
            s[LONGEST_GAP] = most(s[LONGEST_GAP], limit < 0 ? gap : least(gap, limit));
            span = usual > 0 ? least(gap, 2 * usual) : gap;
        } else {
            s[FIRST_TIME] = all[ALL_TIME];
        }
        s[ROWS] += 1;
        s[SPAN] += span;
        s[AT] = at;
        s[TIME] = all[ALL_TIME];
        if (s[SILENT] != 0 || predictions(s) <= ENOUGH_GAPS + 1) all[CHECK_TIME] = all[CHECK_AT] = -Py_HUGE_VAL;
        set_verdict(all, s, SILENT, 0);
        count_run(all, s, health->classes, (size_t)predicted, span, usual);
        if (before >= 0) count_agreement(all, s, predicted == before, span, usual);
    }
    if (all[ALL_TIME] > all[CHECK_TIME] && at > all[CHECK_AT]) find_silent(all, health->sources, health->width, at);
}

int take_health(PyObject *array, PyObject *source, size_t classes, Health *health) {
    const size_t width = FIXED + 3 * classes;
    PyArrayObject *const numbers = (PyArrayObject *)array;
    Py_ssize_t number;
    health->numbers = NULL;
    if (array == Py_None) return 0;
    number = source == NULL ? 0 : PyLong_AsSsize_t(source); /* of many rows, each has its own */
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number < 0) return 0; /* there are too many sources to count them all */
    health->source = (size_t)number;
    if (!PyArray_Check(array) || PyArray_NDIM(numbers) != 2 || PyArray_TYPE(numbers) != NPY_DOUBLE ||
        !PyArray_ISCARRAY(numbers) || (size_t)PyArray_DIM(numbers, 1) != width ||
        (source != NULL && health->source + 1 >= (size_t)PyArray_DIM(numbers, 0))) {
        PyErr_Format(PyExc_ValueError, "health must be None, or float64 numbers (1 + sources, %zu), with that source",
                     width);
        return -1;
    }
    health->numbers = PyArray_DATA(numbers);
    health->sources = (size_t)PyArray_DIM(numbers, 0) - 1;
    health->width = width;
    health->classes = classes;
    return 0;
}

/* count_rows(health, classes, source, stream, predicted, after, last, begins, at, dt): the rows of arrays, one after the
   other. `after` is the class of the estimate of each row, `last` that of each stream before its first row; it follows. */
PyObject *count_rows(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    static const int types[] = {NPY_INTP, NPY_INTP, NPY_INTP, NPY_INTP, NPY_INTP, NPY_BOOL, NPY_DOUBLE, NPY_DOUBLE};
    enum { SOURCE, STREAM, PREDICTED, AFTER, LAST, BEGINS, TIMES, STEPS, COLUMNS };
    const void *columns[COLUMNS];
    const npy_intp *source, *stream, *predicted;
    Health health = {NULL, 0, 0, 0, 0};
    size_t classes = 0, i, count = 0, streams = 0;
    npy_intp *last;
    int k, fits = nargs == 2 + COLUMNS;
    (void)m;
    for (k = 0; fits && k < COLUMNS; k++) {
        PyArrayObject *const array = (PyArrayObject *)args[2 + k];
        fits = PyArray_Check(args[2 + k]) && PyArray_NDIM(array) == 1 && PyArray_TYPE(array) == types[k] &&
               PyArray_ISCARRAY_RO(array) && (k != LAST || PyArray_ISWRITEABLE(array));
        if (!fits) break;
        columns[k] = PyArray_DATA(array);
        if (k == SOURCE) count = (size_t)PyArray_DIM(array, 0);
        if (k == LAST) streams = (size_t)PyArray_DIM(array, 0);
        fits = k == LAST || (size_t)PyArray_DIM(array, 0) == count;
    }
    if (fits) {
        classes = PyLong_AsSize_t(args[1]);
        if (classes == (size_t)-1 && PyErr_Occurred()) return NULL;
        if (take_health(args[0], NULL, classes, &health) < 0) return NULL;
        source = columns[SOURCE];
        stream = columns[STREAM];
        predicted = columns[PREDICTED];
        for (i = 0; i < count && fits; i++)
            fits = source[i] < (npy_intp)health.sources && predicted[i] < (npy_intp)classes && stream[i] >= 0 &&
                   (size_t)stream[i] < streams;
    }
    if (!fits || health.numbers == NULL) {
        PyErr_SetString(PyExc_ValueError, "count_rows() takes health, classes, and of each row source, stream, "
                                          "predicted, after, last, begins, at and dt");
        return NULL;
    }
    last = PyArray_DATA((PyArrayObject *)args[2 + LAST]);
    for (i = 0; i < count; i++) {
        const npy_intp before = ((const npy_bool *)columns[BEGINS])[i] ? -1 : last[stream[i]];
        last[stream[i]] = ((const npy_intp *)columns[AFTER])[i];
        if (source[i] < 0) continue; /* there are too many sources to count them all */
        health.source = (size_t)source[i];
        count_row(&health, ((const double *)columns[TIMES])[i], ((const double *)columns[STEPS])[i], predicted[i],
                  before);
    }
    Py_RETURN_NONE;
}

/* classes_of(numbers, K): of each row the largest of its last K numbers, the first of several; -1 where they are NaN. */
PyObject *classes_of(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    PyArrayObject *const numbers = nargs == 2 ? (PyArrayObject *)args[0] : NULL;
    PyObject *out;
    Core of;
    size_t i, width;
    npy_intp count;
    (void)m;
    memset(&of, 0, sizeof of);
    if (nargs == 2) of.classes = PyLong_AsSize_t(args[1]);
    if (nargs == 2 && of.classes == (size_t)-1 && PyErr_Occurred()) return NULL;
    if (numbers == NULL || !PyArray_Check(args[0]) || PyArray_NDIM(numbers) != 2 || !PyArray_ISCARRAY_RO(numbers) ||
        (PyArray_TYPE(numbers) != NPY_DOUBLE && PyArray_TYPE(numbers) != NPY_FLOAT) || of.classes < 1 ||
        (size_t)PyArray_DIM(numbers, 1) < of.classes) {
        PyErr_SetString(PyExc_ValueError,
                        "classes_of() takes a C array (N, S) of floats, and how many of S are classes");
        return NULL;
    }
    of.single = PyArray_TYPE(numbers) == NPY_FLOAT;
    width = (size_t)PyArray_DIM(numbers, 1);
    count = PyArray_DIM(numbers, 0);
    out = PyArray_SimpleNew(1, &count, NPY_INTP);
    if (out == NULL) return NULL;
    for (i = 0; i < (size_t)count; i++) {
        const void *const row = element(&of, PyArray_DATA(numbers), i * width + width - of.classes);
        ((npy_intp *)PyArray_DATA((PyArrayObject *)out))[i] = class_of(&of, row);
    }
    return out;
}
