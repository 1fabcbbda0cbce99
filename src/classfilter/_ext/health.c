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

static const double FACTOR = 3; /* so many times the largest seen is not usual */
static const double LEAST = 30; /* nor less than so many predictions, or usual intervals */
static const double PAUSE = 10; /* usual steps: a longer one is a pause of the stream, and counts as so many */
static const double ALLOWANCE = 0.1; /* an agreement that is lower by less is left alone */
static const double ENOUGH_RUNS = 20, ENOUGH_OF_CLASS = 10, ENOUGH_JUDGED = 1000, NEVER_CHANGED = 1000;
static const double NEVER_AGREES = 0.8; /* or less: a source that never changed its class is stuck */

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

static double predictions(const double *s) { return s[ROWS] - s[MISSING]; }

/* From one prediction to the next, in a stream: its own, once there are enough. */
static double interval(const double *s) {
    const double n = predictions(s);
    if (s[TUNED_INTERVAL] > 0 && n <= LEAST) return s[TUNED_INTERVAL];
    return n > 1 ? (s[TIME] - s[FIRST_TIME]) / (n - 1) : 0;
}

/* Limits; -1 where too little is known. */
static double gap_limit(const double *s) {
    if (s[TUNED] == 0 && predictions(s) <= LEAST) return -1;
    return most(LEAST * interval(s), FACTOR * s[LONGEST_GAP]);
}

static double run_limit(const double *s, size_t classes, size_t k) {
    const double *const runs = s + FIXED + classes, *const longest = runs + classes;
    double total = 0, largest = 0;
    size_t i;
    for (i = 0; i < classes; i++) {
        total += runs[i];
        largest = most(largest, longest[i]);
    }
    if (s[TUNED] == 0 && total < ENOUGH_RUNS) return -1;
    if (runs[k] >= ENOUGH_OF_CLASS || (s[TUNED] != 0 && longest[k] > 0)) largest = longest[k];
    return most(LEAST * interval(s), FACTOR * largest);
}

static double usual_agreement(const double *s) {
    if (s[TUNED_AGREEMENT] == s[TUNED_AGREEMENT]) return s[TUNED_AGREEMENT];
    return s[USUAL_JUDGED] >= ENOUGH_JUDGED ? s[USUAL_AGREED] / s[USUAL_JUDGED] : -1;
}

static double deficit_limit(const double *s, double usual) {
    return most(LEAST * interval(s) * (usual - ALLOWANCE), FACTOR * s[LARGEST_DEFICIT]);
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
        const double limit = gap_limit(s);
        if (limit < 0 || s[SILENT] != 0) continue;
        if (gap_of(all, s, at) > limit) {
            set_verdict(all, s, SILENT, 1);
        } else {
            all[CHECK_TIME] = least(all[CHECK_TIME], s[TIME] + limit);
            all[CHECK_AT] = least(all[CHECK_AT], s[AT] + limit);
        }
    }
}

static void count_run(double *all, double *s, size_t classes, size_t k, double span) {
    double *const counts = s + FIXED, *const runs = counts + classes, *const longest = runs + classes;
    double limit;
    counts[k] += 1;
    if (s[RUN_ROWS] > 0 && s[RUN_CLASS] != (double)k) {
        const size_t before = (size_t)s[RUN_CLASS];
        limit = run_limit(s, classes, before);
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
    if (s[RUN_ROWS] < LEAST || s[STUCK] != 0) return;
    limit = run_limit(s, classes, k);
    if (limit >= 0 ? s[RUN_SPAN] > limit
                   : s[RUN_ROWS] >= NEVER_CHANGED && s[RUN_ROWS] == predictions(s) && s[JUDGED] > 0 &&
                         s[AGREED] <= NEVER_AGREES * s[JUDGED])
        set_verdict(all, s, STUCK, 1);
}

/* A cumulative sum (Page, 1954) of how much less it agrees than usual, in time. */
static void count_agreement(double *all, double *s, int agrees, double span) {
    const double usual = usual_agreement(s);
    s[JUDGED] += 1;
    s[AGREED] += agrees;
    if (s[DISAGREES] == 0) {
        s[USUAL_JUDGED] += 1;
        s[USUAL_AGREED] += agrees;
    }
    if (usual <= ALLOWANCE) return;
    s[DEFICIT] += span * ((s[DISAGREES] != 0 ? s[NEUTRAL] : usual - ALLOWANCE) - agrees);
    s[RECENT_JUDGED] += 1;
    s[RECENT_AGREED] += agrees;
    if (s[DEFICIT] <= 0) {
        s[LARGEST_DEFICIT] = most(s[LARGEST_DEFICIT], least(s[PEAK], deficit_limit(s, usual)));
        s[DEFICIT] = s[PEAK] = s[RECENT_JUDGED] = s[RECENT_AGREED] = 0;
        set_verdict(all, s, DISAGREES, 0);
        return;
    }
    s[PEAK] = most(s[PEAK], s[DEFICIT]);
    if (s[DISAGREES] != 0) {
        s[DEFICIT] = least(s[DEFICIT], deficit_limit(s, usual));
    } else if (s[RECENT_JUDGED] >= LEAST && s[DEFICIT] > deficit_limit(s, usual)) {
        s[NEUTRAL] = (usual + s[RECENT_AGREED] / s[RECENT_JUDGED]) / 2; /* half-way, so that it ends as fast */
        set_verdict(all, s, DISAGREES, 1);
    }
}

/* Counts a row: `predicted` is its class, or negative where it has none, `before` that of the estimate before it, or
   negative; `dt` the time since the row before of its stream. */
void count_row(const Health *health, double at, double dt, Py_ssize_t predicted, Py_ssize_t before) {
    double *const all = health->numbers, *const s = all + (health->source + 1) * health->width;
    double limit, gap, span;
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
        if (predictions(s) > 0) {
            limit = gap_limit(s);
            gap = gap_of(all, s, at);
            s[LONGEST_GAP] = most(s[LONGEST_GAP], limit < 0 ? gap : least(gap, limit));
            span = interval(s) > 0 ? least(gap, 2 * interval(s)) : gap;
        } else {
            s[FIRST_TIME] = all[ALL_TIME];
        }
        s[ROWS] += 1;
        s[AT] = at;
        s[TIME] = all[ALL_TIME];
        if (s[SILENT] != 0 || predictions(s) <= LEAST + 1) all[CHECK_TIME] = all[CHECK_AT] = -Py_HUGE_VAL;
        set_verdict(all, s, SILENT, 0);
        count_run(all, s, health->classes, (size_t)predicted, span);
        if (before >= 0) count_agreement(all, s, predicted == before, span);
    }
    if (all[ALL_TIME] > all[CHECK_TIME] && at > all[CHECK_AT]) find_silent(all, health->sources, health->width, at);
}

int take_health(PyObject *array, PyObject *source, size_t classes, Health *health) {
    const size_t width = FIXED + 3 * classes;
    PyArrayObject *const numbers = (PyArrayObject *)array;
    Py_ssize_t number;
    health->numbers = NULL;
    if (array == Py_None) return 0;
    number = PyLong_AsSsize_t(source);
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number < 0) return 0; /* there are too many sources to count them all */
    health->source = (size_t)number;
    if (!PyArray_Check(array) || PyArray_NDIM(numbers) != 2 || PyArray_TYPE(numbers) != NPY_DOUBLE ||
        !PyArray_ISCARRAY(numbers) || (size_t)PyArray_DIM(numbers, 1) != width ||
        health->source + 1 >= (size_t)PyArray_DIM(numbers, 0)) {
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

/* count_rows(health, classes, source, predicted, before, at, dt): the rows of arrays, one after the other. */
PyObject *count_rows(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    Health health;
    PyArrayObject *arrays[5];
    PyObject *first;
    size_t classes = 0, i, count;
    int k, fits = nargs == 7;
    (void)m;
    for (k = 0; fits && k < 5; k++) {
        arrays[k] = (PyArrayObject *)args[2 + k];
        fits = PyArray_Check(args[2 + k]) && PyArray_NDIM(arrays[k]) == 1 && PyArray_ISCARRAY_RO(arrays[k]) &&
               PyArray_TYPE(arrays[k]) == (k < 3 ? NPY_INTP : NPY_DOUBLE) &&
               PyArray_DIM(arrays[k], 0) == PyArray_DIM(arrays[0], 0);
    }
    if (fits) {
        classes = PyLong_AsSize_t(args[1]);
        if (classes == (size_t)-1 && PyErr_Occurred()) return NULL;
    }
    first = PyLong_FromLong(0);
    if (first == NULL || (fits && take_health(args[0], first, classes, &health) < 0)) {
        Py_XDECREF(first);
        return NULL;
    }
    Py_DECREF(first);
    fits = fits && health.numbers != NULL;
    count = fits ? (size_t)PyArray_DIM(arrays[0], 0) : 0;
    for (i = 0; i < count; i++) {
        const npy_intp *const source = PyArray_DATA(arrays[0]), *const predicted = PyArray_DATA(arrays[1]);
        fits = fits && source[i] >= 0 && (size_t)source[i] < health.sources && predicted[i] < (npy_intp)classes;
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError,
                        "count_rows() takes health, classes, and of each row source, predicted, before, at and dt");
        return NULL;
    }
    for (i = 0; i < count; i++) {
        health.source = (size_t)((const npy_intp *)PyArray_DATA(arrays[0]))[i];
        count_row(&health, ((const double *)PyArray_DATA(arrays[3]))[i], ((const double *)PyArray_DATA(arrays[4]))[i],
                  ((const npy_intp *)PyArray_DATA(arrays[1]))[i], ((const npy_intp *)PyArray_DATA(arrays[2]))[i]);
    }
    Py_RETURN_NONE;
}
