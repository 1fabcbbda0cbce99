/* SPDX-License-Identifier: MIT */
/* States in a table, a row of numbers for each stream: one stream or many of them observe their rows. */
#include "binding.h"

int is_array(PyObject *object, int dimensions, int type) {
    PyArrayObject *const array = (PyArrayObject *)object;
    return PyArray_Check(object) && PyArray_NDIM(array) == dimensions && PyArray_TYPE(array) == type &&
           PyArray_ISCARRAY_RO(array);
}

static size_t length(PyObject *array) { return (size_t)PyArray_DIM((PyArrayObject *)array, 0); }

static int is_writeable(PyObject *array) { return PyArray_ISWRITEABLE((PyArrayObject *)array); }

static int is_vector(PyObject *object, int type, size_t count) {
    return is_array(object, 1, type) && length(object) == count;
}

/* Rows of `count` numbers in the filter's precision. */
static int is_matrix(const Core *self, PyObject *object, size_t count) {
    return is_array(object, 2, type_of(self)) && (size_t)PyArray_DIM((PyArrayObject *)object, 1) == count;
}

int wrong_states(const Core *self, PyArrayObject *states) {
    if (is_matrix(self, (PyObject *)states, self->state_size)) return 0;
    PyErr_Format(PyExc_ValueError, "states must be a C array of the filter's precision, shape (N, %zu)",
                 self->state_size);
    return -1;
}

const char update_stream_doc[] =
    "_update_stream($self, states, times, slot, probs, beta, at, channel, counts=None, source=0, /)\n--\n\n"
    "Update one of many streams; return the estimate, or None where time goes back or is not finite.";

const char run_streams_doc[] =
    "_run_streams($self, states, slots, counts, order, probs, beta, dt, out, after, /)\n--\n\n"
    "Run over the rows of many streams, from `states` to `after`; see filters/runner.py.";

void *next_line(void *memory) { return (char *)memory + (LINE - (uintptr_t)memory % LINE) % LINE; }

/* ---- temperature ---- */

cf_status check_temperature(const Core *self) {
    const float f32 = 1;
    const double f64 = 1;
    float tempered_f32;
    double tempered_f64;
    return self->single ? cf_temper_f32(1, (float)self->temperature, &f32, &tempered_f32)
                        : cf_temper_f64(1, self->temperature, &f64, &tempered_f64);
}

/* Tempers an estimate in its place. The temperature was checked at the start, and a filter's estimate is one. */
void temper_row(const Core *self, void *row) {
    if (self->single)
        (void)cf_temper_f32(self->classes, (float)self->temperature, row, row);
    else
        (void)cf_temper_f64(self->classes, self->temperature, row, row);
}

/* Tempers the estimates of all rows of a table. */
void temper_rows(const Core *self, const void *table) {
    const cf_table_f32 *const f32 = table;
    const cf_table_f64 *const f64 = table;
    const size_t streams = self->single ? f32->streams : f64->streams;
    const size_t *const counts = self->single ? f32->counts : f64->counts;
    const size_t *const order = self->single ? f32->order : f64->order;
    void *const probs = self->single ? (void *)f32->probs : (void *)f64->probs;
    size_t total = streams, i;
    if (counts != NULL)
        for (total = i = 0; i < streams; i++) total += counts[i];
    for (i = 0; i < total; i++) temper_row(self, element(self, probs, (order == NULL ? i : order[i]) * self->classes));
}

/* ---- one row of one stream ---- */

/* Writes the error of a row, or returns it: it has the result then. */
static PyObject *result_of(const Core *self, cf_status status, PyObject *row, double beta, double dt) {
    if (status == CF_OK) return row;
    raise_status(self, status, -1, PyArray_DATA((PyArrayObject *)row), beta, dt);
    Py_DECREF(row);
    return NULL;
}

PyObject *update_filter(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    Core *const self = (Core *)object;
    double beta = 1, dt = 1;
    PyObject *const row = take_update(self, args, nargs, names, &beta, &dt);
    cf_status status;
    if (row == NULL) return NULL;
    LOCK(self)
    status = self->observe(self, self->state, PyArray_DATA((PyArrayObject *)row), beta, dt);
    UNLOCK
    return result_of(self, status, row, beta, dt);
}

/* Whether the channel of _update_stream is neither None nor (log_matrix, log_prior) in the filter's precision. */
int wrong_channel(const Core *self, PyObject *channel) {
    if (channel == Py_None) return 0;
    if (PyTuple_CheckExact(channel) && PyTuple_Size(channel) == 2 &&
        is_matrix(self, PyTuple_GetItem(channel, 0), self->classes) &&
        length(PyTuple_GetItem(channel, 0)) == self->classes &&
        is_vector(PyTuple_GetItem(channel, 1), type_of(self), self->classes))
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "channel must be None, or logarithms in the filter's precision, (%zu, %zu) and (%zu,)", self->classes,
                 self->classes, self->classes);
    return -1;
}

static int wrong_slot(const Core *self, PyObject *states, PyObject *times, size_t slot) {
    if (is_matrix(self, states, self->state_size) && is_writeable(states) && slot < length(states) &&
        is_vector(times, NPY_DOUBLE, length(states)) && is_writeable(times))
        return 0;
    PyErr_Format(PyExc_ValueError, "states and times have no stream %zu of %zu numbers and a time", slot,
                 self->state_size);
    return -1;
}

/* Corrects a row in its place. */
cf_status correct(Core *self, PyObject *channel, void *row) {
    const void *const log_matrix = PyArray_DATA((PyArrayObject *)PyTuple_GetItem(channel, 0));
    const void *const log_prior = PyArray_DATA((PyArrayObject *)PyTuple_GetItem(channel, 1));
    cf_status status;
    if (self->single) {
        const cf_channel_f32 f32 = {self->classes, log_prior, log_matrix};
        status = cf_channel_apply_f32(&f32, row, self->scratch);
    } else {
        const cf_channel_f64 f64 = {self->classes, log_prior, log_matrix};
        status = cf_channel_apply_f64(&f64, row, self->scratch);
    }
    if (status == CF_OK) memcpy(row, self->scratch, self->classes * size_of(self));
    return status;
}

/* The place of a stream, by states, times and slot: 1, or 0 where time goes back or is not finite; -1 after a failure.
   From here on no Python code may run. */
int find_place(const Core *self, PyObject *const *args, double at, Place *place) {
    const size_t slot = PyLong_AsSize_t(args[2]);
    if (slot == (size_t)-1 && PyErr_Occurred()) return -1;
    if (wrong_slot(self, args[0], args[1], slot) < 0) return -1;
    place->state = element(self, PyArray_DATA((PyArrayObject *)args[0]), slot * self->state_size);
    place->time = (double *)PyArray_DATA((PyArrayObject *)args[1]) + slot;
    place->dt = *place->time != *place->time ? 0 : at - *place->time;
    return place->dt >= 0 && place->dt < Py_HUGE_VAL && at - at == 0;
}

/* _update_stream(states, times, slot, probs, beta, at, channel, counts, source): the state and the time of a stream
   follow, and what is counted of the source, or nothing; None where time goes back or is not finite. From the first
   check to the end no Python code runs. */
PyObject *update_stream(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    Core *const self = (Core *)object;
    PyObject *row;
    Place place;
    double beta = 1, at = 0;
    void *numbers;
    cf_status status = CF_OK;
    double *all, *own;
    int there;
    Py_ssize_t predicted = -1, before = -1;
    if (!ready(self)) return NULL;
    if (nargs != 7 && nargs != 9) {
        PyErr_SetString(PyExc_TypeError,
                        "_update_stream() takes states, times, slot, probs, beta, at and channel; counts and source");
        return NULL;
    }
    if (take_number(args[4], "beta", &beta) < 0 || take_number(args[5], "at", &at) < 0) return NULL;
    row = new_row(self);
    if (row == NULL) return NULL;
    numbers = PyArray_DATA((PyArrayObject *)row);
    there = take_row(self, args[3], numbers) < 0 || wrong_channel(self, args[6]) < 0 ||
                    take_counts(nargs == 9 ? args[7] : Py_None, args[nargs - 1], self->classes, &all, &own) < 0
                ? -1
                : find_place(self, args, at, &place);
    if (there <= 0) {
        Py_DECREF(row);
        return there < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (own != NULL) {
        predicted = class_of(self, numbers);
        /* A state ends with a number for each class, the largest for that of the estimate: alpha, or a probability. */
        if (*place.time == *place.time)
            before = class_of(self, element(self, place.state, self->state_size - self->classes));
    }
    if (args[6] != Py_None) status = correct(self, args[6], numbers);
    if (status == CF_OK) status = self->observe(self, place.state, numbers, beta, place.dt);
    if (status == CF_OK) *place.time = at;
    if (status == CF_OK && own != NULL) count_row(all, own, at, place.dt, predicted, before);
    return result_of(self, status, row, beta, place.dt);
}

/* ---- rows of many streams ---- */

Table make_table(int single, size_t streams, const size_t *slots, const size_t *counts, const size_t *order,
                 const void *states, void *after, const void *probs, const void *beta, const void *dt,
                 size_t beta_stride, size_t dt_stride, void *out) {
    Table table;
    if (single) {
        const cf_table_f32 f32 = {streams, slots, counts, order,       states,    after,
                                  probs,   beta,  dt,     beta_stride, dt_stride, out};
        table.f32 = f32;
    } else {
        const cf_table_f64 f64 = {streams, slots, counts, order,       states,    after,
                                  probs,   beta,  dt,     beta_stride, dt_stride, out};
        table.f64 = f64;
    }
    return table;
}

/* All rows are of one stream, whose state follows. */
Table one_stream(const Rows *rows, void *state, PyArrayObject *out) {
    return make_table(PyArray_TYPE(out) == NPY_FLOAT, 1, NULL, &rows->count, NULL, state, state,
                      PyArray_DATA(rows->probs), PyArray_DATA(rows->beta), PyArray_DATA(rows->dt), rows->beta_stride,
                      rows->dt_stride, PyArray_DATA(out));
}

/* Whether an optional argument is an array of `count` numbers, each below `end`. */
int are_indices(PyObject *object, size_t count, size_t end) {
    const npy_intp *numbers;
    npy_intp least = 0, most = -1;
    size_t i;
    if (object == Py_None) return 1;
    if (!is_vector(object, NPY_INTP, count)) return 0;
    numbers = PyArray_DATA((PyArrayObject *)object);
    for (i = 0; i < count; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    return least == 0 && most < (npy_intp)end;
}

/* Whether `counts`, by default one for each stream, have this sum. */
static int add_up(PyObject *counts, size_t streams, size_t sum) {
    const npy_intp *numbers;
    size_t i;
    if (counts == Py_None) return sum == streams;
    if (!are_indices(counts, streams, sum + 1)) return 0;
    numbers = PyArray_DATA((PyArrayObject *)counts);
    for (i = 0; i < streams && (size_t)numbers[i] <= sum; i++) sum -= (size_t)numbers[i];
    return i == streams && sum == 0;
}

const size_t *indices(PyObject *object) {
    return object == Py_None ? NULL : (const size_t *)PyArray_DATA((PyArrayObject *)object);
}

/* Whether the arguments of _run_streams do not fit each other; *total is the number of rows. */
int wrong_table(const Core *self, PyObject *const *args, size_t rows, size_t *total) {
    PyObject *const states = args[0], *const slots = args[1], *const order = args[3], *const out = args[7];
    PyObject *const after = args[8];
    if (is_matrix(self, states, self->state_size) && is_matrix(self, after, self->state_size) && is_writeable(after) &&
        is_matrix(self, out, self->classes) && is_writeable(out) && length(out) == rows &&
        (slots != Py_None || length(after) <= length(states)) && are_indices(slots, length(after), length(states))) {
        *total = is_array(order, 1, NPY_INTP) ? length(order) : rows;
        if (are_indices(order, *total, rows) && add_up(args[2], length(after), *total)) return 0;
    }
    PyErr_Format(
        PyExc_ValueError,
        "_run_streams() takes C arrays in the filter's precision: states (N, %zu), slots (M,) or None, counts "
        "(M,) or None, order (T,) or None, probs (R, %zu), beta and dt () or (R,), out (R, %zu), after (M, %zu)",
        self->state_size, self->classes, self->classes, self->state_size);
    return -1;
}

/* Few rows: letting the GIL go, and waiting for it, would take longer than the work. */
static cf_status run_few(Core *self, const Table *table, void *scratch, size_t *row) {
    cf_status status;
    LOCK(self)
    status = self->run(self, table, self->cache, scratch, row);
    UNLOCK
    return status;
}

/* Many rows: other threads run over theirs with the same filter meanwhile, so the cache is a copy. */
static cf_status run_many(Core *self, const Table *table, void *scratch, void *cache, size_t *row) {
    const size_t size = self->cache_size * size_of(self);
    cf_status status;
    LOCK(self)
    if (size > 0) memcpy(cache, self->cache, size);
    UNLOCK
    Py_BEGIN_ALLOW_THREADS
    status = self->run(self, table, cache, scratch, row);
    Py_END_ALLOW_THREADS
    LOCK(self)
    if (size > 0) memcpy(self->cache, cache, size);
    UNLOCK
    return status;
}

/* _run_streams(states, slots, counts, order, probs, beta, dt, out, after): see cf_table_f64. */
PyObject *run_streams(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    Core *const self = (Core *)object;
    Rows rows;
    size_t total = 0, row = 0;
    cf_status status = CF_OK;
    void *memory = NULL;
    if (!ready(self)) return NULL;
    if (nargs != 9) {
        PyErr_SetString(PyExc_TypeError,
                        "_run_streams() takes states, slots, counts, order, probs, beta, dt, out and after");
        return NULL;
    }
    if (take_rows(self, args[4], args[5], args[6], &rows) < 0) return NULL;
    if (wrong_table(self, args, rows.count, &total) == 0) {
        memory = PyMem_Malloc(LINE + (self->scratch_size + self->cache_size) * size_of(self));
        if (memory == NULL) PyErr_NoMemory();
    }
    if (memory != NULL) {
        void *const scratch = next_line(memory);
        const Table table =
            make_table(self->single, length(args[8]), indices(args[1]), indices(args[2]), indices(args[3]),
                       PyArray_DATA((PyArrayObject *)args[0]), PyArray_DATA((PyArrayObject *)args[8]),
                       PyArray_DATA(rows.probs), PyArray_DATA(rows.beta), PyArray_DATA(rows.dt), rows.beta_stride,
                       rows.dt_stride, PyArray_DATA((PyArrayObject *)args[7]));
        status = total < FEW_ROWS ? run_few(self, &table, scratch, &row)
                                  : run_many(self, &table, scratch, element(self, scratch, self->scratch_size), &row);
        if (status != CF_OK) raise_row(self, status, &rows, row);
        PyMem_Free(memory);
    }
    release_rows(&rows);
    if (memory == NULL || status != CF_OK) return NULL;
    Py_RETURN_NONE;
}

/* Whether the times of commit do not fit: both are None, or there is one per stream. */
static int wrong_times(PyObject *times, PyObject *last, size_t streams, size_t count) {
    if (times == Py_None && last == Py_None) return 0;
    return !(is_vector(times, NPY_DOUBLE, streams) && is_writeable(times) && is_vector(last, NPY_DOUBLE, count));
}

/* commit(states, times, slots, after, last): what a run computed becomes the state of each stream, and the last time its
   time. Nothing can come between the first and the last of them. */
PyObject *commit(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    Core of;
    size_t i, count, size;
    const size_t *slots;
    char *states;
    const char *after;
    (void)m;
    memset(&of, 0, sizeof of);
    if (nargs == 5 && PyArray_Check(args[0]) && PyArray_NDIM((PyArrayObject *)args[0]) == 2) {
        of.single = PyArray_TYPE((PyArrayObject *)args[0]) == NPY_FLOAT;
        of.state_size = (size_t)PyArray_DIM((PyArrayObject *)args[0], 1);
    }
    if (of.state_size == 0 || !is_matrix(&of, args[0], of.state_size) || !is_writeable(args[0]) ||
        !is_matrix(&of, args[3], of.state_size) || args[2] == Py_None ||
        !are_indices(args[2], length(args[3]), length(args[0])) ||
        wrong_times(args[1], args[4], length(args[0]), length(args[3]))) {
        PyErr_SetString(PyExc_ValueError,
                        "commit() takes C arrays: states (N, S), times (N,) or None, slots (M,), after (M, S) and last "
                        "(M,) or None");
        return NULL;
    }
    count = length(args[3]);
    size = of.state_size * size_of(&of);
    states = PyArray_DATA((PyArrayObject *)args[0]);
    slots = indices(args[2]);
    after = PyArray_DATA((PyArrayObject *)args[3]);
    for (i = 0; i < count; i++) memcpy(states + slots[i] * size, after + i * size, size);
    if (args[1] != Py_None) {
        double *const times = PyArray_DATA((PyArrayObject *)args[1]);
        const double *const last = PyArray_DATA((PyArrayObject *)args[4]);
        for (i = 0; i < count; i++) times[slots[i]] = last[i];
    }
    Py_RETURN_NONE;
}
