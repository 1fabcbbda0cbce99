/* SPDX-License-Identifier: MIT */
/* Plain counts of each source over all streams; engine/health.py has their names, in the same order, and judges. */
#include "binding.h"

enum { ALL_TIME, ALL_AT, ALL_FIRST_AT, ALL_STEP, ALL_STEPS }; /* the first row: of all sources */
enum {
    ROWS,
    SEEN,
    FIRST,
    TIME,
    AT,
    SPAN,
    LONGEST_GAP,
    RUN_CLASS,
    RUN_ROWS,
    RUN_START,
    JUDGED,
    AGREED,
    DEFICIT,
    LARGEST_DEFICIT,
    RECENT_JUDGED,
    RECENT_AGREED,
    USUAL_INTERVAL,
    USUAL_AGREEMENT,
    MAX_DEFICIT,
    FIXED /* then the longest run of each class */
};

static const double PAUSE = 10; /* usual steps: a longer one is a pause of the stream, and counts as so many */
static const double ALLOWANCE = 0.1; /* an agreement that is lower by less is left alone */
static const double ENOUGH_JUDGED = 200; /* without tuning, the usual agreement is known after so many predictions */

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

/* The index of the largest of K numbers, the first of several; -1 where they are NaN. */
Py_ssize_t class_of(const Core *self, const void *numbers) {
    const float *const f32 = numbers;
    const double *const f64 = numbers;
    double best = self->single ? (double)f32[0] : f64[0];
    size_t i, top = 0;
    for (i = 1; i < self->classes; i++) {
        const double number = self->single ? (double)f32[i] : f64[i];
        top = number > best ? i : top;
        best = number > best ? number : best;
    }
    return best == best ? (Py_ssize_t)top : -1;
}

/* How often it agrees with the estimate before it: a cumulative sum (Page, 1954) of how much less than usual. */
static void count_agreement(double *s, int agrees, double weight) {
    const double known = s[JUDGED] >= ENOUGH_JUDGED ? s[AGREED] / s[JUDGED] : 0;
    const double usual = s[USUAL_AGREEMENT] == s[USUAL_AGREEMENT] ? s[USUAL_AGREEMENT] : known;
    s[JUDGED] += 1;
    s[AGREED] += agrees;
    s[DEFICIT] = least(s[DEFICIT] + weight * (most(usual - ALLOWANCE, 0) - agrees), s[MAX_DEFICIT]);
    s[LARGEST_DEFICIT] = most(s[LARGEST_DEFICIT], s[DEFICIT]);
    s[RECENT_JUDGED] += 1;
    s[RECENT_AGREED] += agrees;
    if (s[DEFICIT] <= 0) s[DEFICIT] = s[RECENT_JUDGED] = s[RECENT_AGREED] = 0;
}

/* Counts a row: `predicted` is its class, or negative where it has none, `before` that of the estimate before it, or
   negative; `dt` the time since the row before of its stream. */
void count_row(double *all, double *s, double at, double dt, Py_ssize_t predicted, Py_ssize_t before) {
    double gap, usual, span;
    if (all[ALL_AT] != all[ALL_AT]) all[ALL_FIRST_AT] = at;
    all[ALL_AT] = at;
    if (dt > 0) {
        const double step = all[ALL_STEPS] > 0 ? least(dt, PAUSE * all[ALL_STEP]) : dt;
        all[ALL_STEPS] += 1;
        all[ALL_STEP] += (step - all[ALL_STEP]) / least(all[ALL_STEPS], 1000);
        all[ALL_TIME] += predicted < 0 ? dt : step; /* without a prediction, nothing was seen till then */
    }
    s[ROWS] += 1;
    if (predicted < 0) return;
    if (s[SEEN] == 0) {
        s[FIRST] = s[TIME] = all[ALL_TIME];
        s[AT] = at;
    }
    usual = s[USUAL_INTERVAL];
    if (!(usual > 0)) usual = s[SEEN] > 1 ? (s[TIME] - s[FIRST]) / (s[SEEN] - 1) : 0;
    gap = most(0, least(at - s[AT], all[ALL_TIME] - s[TIME]));
    span = usual > 0 ? least(gap, 2 * usual) : gap;
    if (s[RUN_CLASS] != (double)predicted) {
        if (s[RUN_CLASS] >= 0) {
            double *const longest = s + FIXED + (size_t)s[RUN_CLASS];
            *longest = most(*longest, s[SPAN] - s[RUN_START]);
        }
        s[RUN_CLASS] = (double)predicted;
        s[RUN_ROWS] = 0;
        s[RUN_START] = s[SPAN] + span;
    }
    s[RUN_ROWS] += 1;
    s[SPAN] += span;
    s[LONGEST_GAP] = most(s[LONGEST_GAP], gap);
    s[SEEN] += 1;
    s[TIME] = all[ALL_TIME];
    s[AT] = at;
    if (before >= 0) count_agreement(s, predicted == before, usual > 0 ? span / usual : 1);
}

static int are_counts(PyObject *array, size_t classes) {
    PyArrayObject *const numbers = (PyArrayObject *)array;
    return PyArray_Check(array) && PyArray_NDIM(numbers) == 2 && PyArray_TYPE(numbers) == NPY_DOUBLE &&
           PyArray_ISCARRAY(numbers) && (size_t)PyArray_DIM(numbers, 1) == FIXED + classes;
}

int take_counts(PyObject *array, PyObject *source, size_t classes, double **all, double **own) {
    Py_ssize_t number;
    *all = *own = NULL;
    if (array == Py_None) return 0;
    number = PyLong_AsSsize_t(source);
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number < 0) return 0; /* there are too many sources to count them all */
    if (!are_counts(array, classes) || number + 1 >= PyArray_DIM((PyArrayObject *)array, 0)) {
        PyErr_Format(PyExc_ValueError, "counts must be None, or float64 numbers (1 + sources, %zu), with that source",
                     FIXED + classes);
        return -1;
    }
    *all = PyArray_DATA((PyArrayObject *)array);
    *own = *all + (size_t)(number + 1) * (FIXED + classes);
    return 0;
}

/* count_rows(counts, classes, rows): rows one after the other, (5, T): source, at, dt, predicted, before. */
PyObject *count_rows(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    const size_t classes = nargs == 3 ? PyLong_AsSize_t(args[1]) : 0;
    PyArrayObject *const rows = nargs == 3 ? (PyArrayObject *)args[2] : NULL;
    const double *row, *end;
    double *all, sources;
    npy_intp T;
    (void)m;
    if (classes == (size_t)-1 && PyErr_Occurred()) return NULL;
    if (rows == NULL || !are_counts(args[0], classes) || !PyArray_Check(args[2]) || PyArray_NDIM(rows) != 2 ||
        PyArray_TYPE(rows) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(rows) || PyArray_DIM(rows, 0) != 5) {
        PyErr_SetString(PyExc_ValueError, "count_rows() takes counts, classes, and float64 rows (5, T)");
        return NULL;
    }
    all = PyArray_DATA((PyArrayObject *)args[0]);
    sources = (double)PyArray_DIM((PyArrayObject *)args[0], 0) - 1;
    T = PyArray_DIM(rows, 1);
    for (row = PyArray_DATA(rows), end = row + T; row < end; row++) {
        const double predicted = row[3 * T];
        if (!(row[0] >= 0 && row[0] < sources && predicted >= -1 && predicted < (double)classes)) continue;
        count_row(all, all + ((size_t)row[0] + 1) * (FIXED + classes), row[T], row[2 * T], (Py_ssize_t)predicted,
                  (Py_ssize_t)row[4 * T]);
    }
    Py_RETURN_NONE;
}
