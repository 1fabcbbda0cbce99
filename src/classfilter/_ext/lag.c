/* SPDX-License-Identifier: MIT */
/* The compiled part of LagStage: it takes one row of a stream, which completes the row `lag` rows before. engine/lag.py does
   the same for many rows, and says what a state holds. Firmware does not smooth, so the little arithmetic of it is here. */
#include "dirichlet.h"

#include "dirichlet_joined.h"

/* Where the states of heads begin, after the number of rows; and what a row begins with. */
enum { COUNTS = 1, NUMBER = 0, TIME, STEP, COLUMNS };

typedef struct {
    Core *filter, *smoother; /* in the precision of the results, and in double precision */
    PyObject *search; /* of a Dirichlet filter, for what the core does not find */
    double *prior; /* of a Dirichlet filter, nu / eta at its start; NULL of a sticky one */
} Head;

/* `core` counts nothing; its memory holds the heads, and their priors. */
typedef struct {
    Core core;
    size_t count, width, lag; /* of the heads, of the largest, and how many rows wait */
    PyObject *filters;
} Lag;

/* What a row brings: its time and step, and of every head, (H, K) or (H,), what engine/lag.py computes of it. */
typedef struct {
    double time, dt;
    const double *probs, *weights, *likelihoods, *decays;
} Row;

/* The rows of a stream, those held and the new one; in `after`, its new state. */
typedef struct {
    const double *before, *rows;
    double *after, *row;
    size_t held;
} Stream;

static Head *heads_of(const Lag *self) { return self->core.memory; }

static size_t head_size(const Lag *self) { return self->width + 1; }

static size_t first_row(const Lag *self) { return COUNTS + self->count * head_size(self); }

static size_t row_size(const Lag *self) { return COLUMNS + 2 * self->width * self->count; }

/* Row i of a stream: one that is held, or the new one. */
static const double *row_of(const Lag *self, const Stream *s, size_t i) {
    return i < s->held ? s->rows + i * row_size(self) : s->row;
}

static size_t columns_of(const Lag *self, size_t h) { return COLUMNS + 2 * self->width * h; }

/* ---- the sticky filter: of each row its likelihood, and the filter's estimate; the state is the filter's ---- */

/* The sum as NumPy adds up a row. */
static double sum_of(size_t count, const double *x) {
    double parts[8], sum = 0;
    size_t i, k;
    if (count > 128) {
        const size_t half = count / 2 - count / 2 % 8;
        return sum_of(half, x) + sum_of(count - half, x + half);
    }
    if (count < 8) {
        for (i = 0; i < count; i++) sum += x[i];
        return sum;
    }
    for (k = 0; k < 8; k++) parts[k] = x[k];
    for (i = 8; i + 8 <= count; i += 8)
        for (k = 0; k < 8; k++) parts[k] += x[i + k];
    sum = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
    for (; i < count; i++) sum += x[i];
    return sum;
}

void smooth_estimate(size_t classes, const double *estimate, const double *message, double *out) {
    static const double least = 1e-30; /* as in the sticky filter: no class becomes impossible */
    double sum;
    size_t k;
    for (k = 0; k < classes; k++) out[k] = estimate[k] * message[k];
    sum = sum_of(classes, out);
    for (k = 0; k < classes; k++) {
        out[k] /= sum;
        out[k] = out[k] > least ? out[k] : least;
    }
}

/* The filter takes the row: its state follows, and the row's columns. `memory` has room for two rows and a state. */
static cf_status take_sticky(const Lag *self, const Head *head, size_t h, const Row *new, const Stream *s,
                             double *memory) {
    Core *const f = head->filter;
    const size_t K = f->classes;
    double *const columns = s->row + columns_of(self, h), *const state = s->after + COUNTS + h * head_size(self);
    void *const numbers = memory, *const row = memory + K;
    const int missing = new->probs[0] != new->probs[0];
    cf_status status;
    size_t k;
    for (k = 0; k < K; k++) {
        set_number(f, numbers, k, state[k]);
        set_number(f, row, k, new->probs[k]);
        columns[k] = missing ? 1 : new->likelihoods[k];
    }
    LOCK(f)
    status = f->observe(f, numbers, row, *new->weights, new->dt);
    UNLOCK
    for (k = 0; k < K; k++) columns[K + k] = state[k] = get_number(f, numbers, k);
    return status;
}

/* The first row by those after it. `memory` has room for the likelihoods and messages of all, and their steps. */
static cf_status smooth_sticky(const Lag *self, const Head *head, size_t h, const Stream *s, double *out,
                               double *memory) {
    const size_t K = head->filter->classes, rows = self->lag + 1;
    double *const likelihoods = memory, *const messages = likelihoods + rows * K, *const steps = messages + rows * K;
    cf_status status;
    size_t i;
    for (i = 0; i < rows; i++) {
        memcpy(likelihoods + i * K, row_of(self, s, i) + columns_of(self, h), K * sizeof *likelihoods);
        steps[i] = row_of(self, s, i)[STEP];
    }
    LOCK(head->smoother)
    status = sticky_messages(head->smoother, rows, likelihoods, steps, messages, next_line(steps + rows));
    UNLOCK
    smooth_estimate(K, row_of(self, s, 0) + columns_of(self, h) + K, messages, out);
    return status;
}

/* ---- the Dirichlet filter: of each row its weight, what its step leaves, and the row itself; the state is that before the
   first row held ---- */

static cf_status take_dirichlet(const Lag *self, const Head *head, size_t h, const Row *new, const Stream *s) {
    double *const columns = s->row + columns_of(self, h);
    columns[0] = new->probs[0] == new->probs[0] ? *new->weights : 0;
    columns[1] = *new->decays;
    memcpy(columns + 2, new->probs, head->filter->classes * sizeof *columns);
    return CF_OK;
}

/* An array of some numbers. */
static PyObject *copied(const double *numbers, size_t size) {
    npy_intp count = (npy_intp)size;
    PyObject *const array = PyArray_SimpleNew(1, &count, NPY_DOUBLE);
    if (array != NULL) memcpy(PyArray_DATA((PyArrayObject *)array), numbers, size * sizeof *numbers);
    return array;
}

/* What the core does not find; 0, or -1 after a failure. */
static int search_joined(const Head *head, const cf_joined *joined, double *out) {
    const size_t K = head->smoother->classes;
    PyObject *const numbers[6] = {copied(joined->states, K + 1), copied(joined->dt, 1),       copied(joined->eta, 1),
                                  copied(joined->nu, K),         copied(joined->observed, K), copied(joined->beta, 1)};
    PyObject *const row = PyErr_Occurred()
                              ? NULL
                              : PyObject_CallFunctionObjArgs(head->search, numbers[0], numbers[1], numbers[2],
                                                             numbers[3], numbers[4], numbers[5], NULL);
    PyArrayObject *const result = row == NULL ? NULL : take_vector(head->smoother, row, "search");
    size_t i;
    if (result != NULL) memcpy(out, PyArray_DATA(result), K * sizeof *out);
    for (i = 0; i < 6; i++) Py_XDECREF(numbers[i]);
    Py_XDECREF(row);
    Py_XDECREF((PyObject *)result);
    return -(result == NULL);
}

/* The first row by those after it, which are observed from the last to the second, from the prior; how much of that is left
   does not depend on them, so it can be subtracted. */
static cf_status smooth_dirichlet(const Lag *self, const Head *head, size_t h, const Stream *s, double *out,
                                  double *memory) {
    Core *const f = head->smoother;
    const cf_dirichlet_f64 *const settings = settings_of(f);
    const size_t K = f->classes, at = columns_of(self, h), slot = 0;
    double *const state = memory, *const nu = state + K + 1, *const scratch = next_line(nu + K);
    const double *const first = row_of(self, s, 0), *const second = row_of(self, s, 1);
    const double *const before = s->before + COUNTS + h * head_size(self);
    double *const after = s->after + COUNTS + h * head_size(self);
    double data = 0, prior = *(const double *)f->start, eta;
    const cf_joined joined = {1, before, &slot, first + STEP, &eta, nu, first + at + 2, first + at};
    cf_status status = CF_OK;
    unsigned char is_there = 0;
    size_t j, k;
    memcpy(state, f->start, (K + 1) * sizeof *state);
    for (j = self->lag; j > 0 && status == CF_OK; j--) {
        const double *const row = row_of(self, s, j), *const next = j < self->lag ? row_of(self, s, j + 1) : NULL;
        const double pause = next == NULL ? 0 : next[STEP], decay = next == NULL ? 1 : next[at + 1];
        status = cf_dirichlet_update_f64(settings, state, row + at + 2, row[at], pause, NULL, scratch);
        data = decay * data + row[at];
        prior = decay * prior + (1 - decay) * settings->anchor;
    }
    eta = data * second[at + 1];
    cf_dirichlet_means_f64(settings, 1, state, nu);
    for (k = 0; k < K; k++) nu[k] = (state[0] * nu[k] - prior * head->prior[k]) * second[at + 1];
    if (status == CF_OK)
        status = cf_dirichlet_update_f64(settings, after, first + at + 2, first[at], first[STEP], NULL, scratch);
    if (status != CF_OK) return status;
    cf_dirichlet_join_f64(settings, &joined, out, &is_there, scratch);
    if (!is_there) (void)search_joined(head, &joined, out);
    return CF_OK;
}

/* ---- a row of all heads ---- */

/* The new row of a stream, and the smoothed one in `results`, (H, K), if there is one. The head that fails goes to *h; after
   a failure in Python, the status is that of success. */
static cf_status take_heads(const Lag *self, const Row *new, const Stream *s, void *results, double *memory,
                            size_t *h) {
    cf_status status = CF_OK;
    for (*h = 0; *h < self->count; ++*h) {
        const Head *const head = &heads_of(self)[*h];
        const size_t K = head->filter->classes, place = *h * self->width;
        const Row own = {new->time,       new->dt, new->probs + place, new->weights + *h, new->likelihoods + place,
                         new->decays + *h};
        double *const out = memory, *const work = memory + self->width;
        void *const row = results == NULL ? NULL : element(head->filter, results, place);
        size_t k;
        status =
            head->prior == NULL ? take_sticky(self, head, *h, &own, s, work) : take_dirichlet(self, head, *h, &own, s);
        if (status == CF_OK && row != NULL)
            status = head->prior == NULL ? smooth_sticky(self, head, *h, s, out, work)
                                         : smooth_dirichlet(self, head, *h, s, out, work);
        if (status != CF_OK || PyErr_Occurred()) break;
        for (k = 0; row != NULL && k < K; k++) set_number(head->filter, row, k, out[k]);
        if (row != NULL && head->filter->temperature != 1) temper_row(head->filter, row);
    }
    return status;
}

/* How many numbers of memory the largest head needs for so many rows. */
static size_t memory_size(const Lag *self, size_t rows) {
    size_t most = 0, h;
    for (h = 0; h < self->count; h++) {
        const Core *const f = heads_of(self)[h].smoother;
        most = f->scratch_size > most ? f->scratch_size : most;
    }
    return 4 * self->width + 1 + rows * (2 * self->width + 1) + most + LINE;
}

/* An argument (H,) or (H, K) of numbers, or of more than that. */
static const double *numbers_of(PyObject *object, size_t least) {
    PyArrayObject *const array = (PyArrayObject *)object;
    if (PyArray_Check(object) && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array) &&
        (size_t)PyArray_SIZE(array) >= least)
        return PyArray_DATA(array);
    PyErr_Format(PyExc_ValueError, "update() takes C arrays in double precision, here of %zu numbers", least);
    return NULL;
}

/* How many rows a state holds, or -1. */
static Py_ssize_t held_rows(const Lag *self, PyObject *state) {
    const size_t size = PyBytes_Check(state) ? (size_t)PyBytes_Size(state) / sizeof(double) : 0;
    const double count = size < first_row(self) ? -1 : *(const double *)(const void *)PyBytes_AsString(state);
    const size_t held = !(count >= 0) ? 0 : count < (double)self->lag ? (size_t)count : self->lag;
    if (count >= 0 && size == first_row(self) + held * row_size(self)) return (Py_ssize_t)held;
    PyErr_SetString(PyExc_ValueError, "the state is none of this stage");
    return -1;
}

/* Takes a row: the new state, and the smoothed row or None; NULL after a failure. */
static PyObject *take_row_of(const Lag *self, PyObject *state, size_t held, const Row *new) {
    const int full = held == self->lag;
    const size_t top = first_row(self), size = row_size(self), kept = (full ? held - 1 : held) * size;
    npy_intp shape[3] = {1, (npy_intp)self->count, (npy_intp)self->width};
    const Core *const core = &self->core;
    PyObject *after = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((top + kept + size) * sizeof(double)));
    PyObject *row = full ? PyArray_Zeros(3, shape, PyArray_DescrFromType(type_of(core)), 0) : Py_NewRef(Py_None);
    double *const memory = PyMem_Malloc(memory_size(self, held + 1) * sizeof(double));
    PyObject *result = NULL;
    if (after != NULL && row != NULL && memory != NULL) {
        const double *const old = (const double *)(const void *)PyBytes_AsString(state);
        double *const numbers = (double *)(void *)PyBytes_AsString(after);
        const Stream s = {old, old + top, numbers, numbers + top + kept, held};
        size_t h;
        cf_status status;
        memcpy(numbers, old, top * sizeof *numbers);
        memcpy(numbers + top, s.rows + (full ? size : 0), kept * sizeof *numbers);
        memset(s.row, 0, size * sizeof *numbers);
        numbers[0] += 1;
        s.row[TIME] = new->time;
        s.row[STEP] = new->dt;
        status = take_heads(self, new, &s, full ? PyArray_DATA((PyArrayObject *)row) : NULL, memory, &h);
        if (status != CF_OK)
            raise_status(heads_of(self)[h].smoother, status, -1, new->probs + h * self->width, new->weights[h],
                         new->dt);
        else if (!PyErr_Occurred())
            result = Py_BuildValue("OdO", after, full ? s.rows[TIME] : new->time, row);
    } else if (after != NULL && row != NULL) {
        PyErr_NoMemory();
    }
    PyMem_Free(memory);
    Py_XDECREF(after);
    Py_XDECREF(row);
    return result;
}

static PyObject *lag_update(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    Lag *const self = (Lag *)object;
    const size_t numbers = self->count * self->width;
    Py_ssize_t held;
    Row row;
    if (!ready(&self->core)) return NULL;
    if (nargs != 7) {
        PyErr_SetString(PyExc_TypeError, "update() takes state, time, dt, probs, weights, likelihoods and decays");
        return NULL;
    }
    if ((held = held_rows(self, args[0])) < 0 || take_number(args[1], "time", &row.time) < 0 ||
        take_number(args[2], "dt", &row.dt) < 0 || (row.probs = numbers_of(args[3], numbers)) == NULL ||
        (row.weights = numbers_of(args[4], self->count)) == NULL ||
        (row.likelihoods = numbers_of(args[5], numbers)) == NULL ||
        (row.decays = numbers_of(args[6], self->count)) == NULL)
        return NULL;
    return take_row_of(self, args[0], (size_t)held, &row);
}

/* ---- the object ---- */

/* Whether `filters` are tuples: a filter in the precision of the results, the same in double precision, and the search. */
static int wrong_filters(PyObject *filters, size_t *width) {
    const Py_ssize_t count = PyTuple_Size(filters);
    Py_ssize_t h;
    int right = count > 0;
    for (h = 0; h < count && right; h++) {
        PyObject *const pair = PyTuple_GetItem(filters, h);
        Core *one, *other;
        if (!PyTuple_CheckExact(pair) || PyTuple_Size(pair) != 3) {
            right = 0;
            break;
        }
        one = (Core *)PyTuple_GetItem(pair, 0);
        other = (Core *)PyTuple_GetItem(pair, 1);
        right =
            (PyObject_TypeCheck((PyObject *)one, sticky_type) && PyObject_TypeCheck((PyObject *)other, sticky_type)) ||
            (PyObject_TypeCheck((PyObject *)one, dirichlet_type) &&
             PyObject_TypeCheck((PyObject *)other, dirichlet_type));
        right =
            right && one->memory != NULL && other->memory != NULL && !other->single && one->classes == other->classes;
        if (right) *width = one->classes > *width ? one->classes : *width;
    }
    if (!right)
        PyErr_SetString(PyExc_ValueError,
                        "Lag() takes for each head a filter of the core, the same in double precision, and its search");
    return -!right;
}

static int lag_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"filters", "lag", NULL};
    Lag fresh;
    Core *const core = &fresh.core;
    Py_ssize_t lag;
    double *priors;
    size_t h, k;
    if (!is_new((Core *)object)) return -1;
    memset(&fresh, 0, sizeof fresh);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!n:Lag", names, &PyTuple_Type, &fresh.filters, &lag) ||
        wrong_filters(fresh.filters, &fresh.width) < 0)
        return -1;
    if (lag < 1) {
        PyErr_Format(PyExc_ValueError, "lag is %zd; it must be 1 or more", lag);
        return -1;
    }
    fresh.lag = (size_t)lag;
    fresh.count = (size_t)PyTuple_Size(fresh.filters);
    core->memory = PyMem_Malloc(fresh.count * (sizeof(Head) + fresh.width * sizeof(double)));
    if (core->memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    priors = (double *)(void *)(heads_of(&fresh) + fresh.count);
    for (h = 0; h < fresh.count; h++) {
        PyObject *const pair = PyTuple_GetItem(fresh.filters, (Py_ssize_t)h);
        Head *const head = &heads_of(&fresh)[h];
        head->filter = (Core *)PyTuple_GetItem(pair, 0);
        head->smoother = (Core *)PyTuple_GetItem(pair, 1);
        head->search = PyTuple_GetItem(pair, 2);
        core->single = head->filter->single;
        head->prior = NULL;
        if (!PyObject_TypeCheck((PyObject *)head->filter, dirichlet_type)) continue;
        head->prior = priors + h * fresh.width;
        cf_dirichlet_nu_f64(settings_of(head->smoother), head->smoother->start, head->prior);
        for (k = 0; k < head->smoother->classes; k++) head->prior[k] /= *(const double *)head->smoother->start;
    }
    if (take_over((Core *)object, core, sizeof fresh) < 0) return -1;
    Py_INCREF(fresh.filters);
    return 0;
}

static int lag_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((Lag *)object)->filters);
    return 0;
}

static int lag_clear(PyObject *object) {
    Py_CLEAR(((Lag *)object)->filters);
    return 0;
}

static void lag_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    (void)lag_clear(object);
    dealloc(object);
}

static PyMethodDef lag_methods[] = {
    {"update", (PyCFunction)(void (*)(void))lag_update, METH_FASTCALL,
     "update($self, state, time, dt, probs, weights, likelihoods, decays, /)\n--\n\n"
     "Take a row; return the new state, and the time and the smoothed row (1, H, K) of the one that is complete now, "
     "or "
     "None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot lag_slots[] = {
    {Py_tp_doc, "The compiled part of LagStage."},
    {Py_tp_init, lag_init},
    {Py_tp_dealloc, lag_dealloc},
    {Py_tp_traverse, lag_traverse},
    {Py_tp_clear, lag_clear},
    {Py_tp_methods, lag_methods},
    {0, NULL},
};

PyType_Spec lag_spec = {"classfilter._core.Lag", sizeof(Lag), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, lag_slots};
