/* SPDX-License-Identifier: MIT */
/* The compiled part of StickyFilter. */
#include "binding.h"

typedef struct {
    Core core;
    union {
        cf_sticky_f32 f32;
        cf_sticky_f64 f64;
    } settings;
    void *table, *rates, *modes;
} Sticky;

static void *sticky_settings(Core *self) { return &((Sticky *)self)->settings; }

/* Without rates the K x K parts are left out. */
static size_t sticky_cache_size(size_t classes, int rates) { return rates ? CF_STICKY_CACHE(classes) : 1; }

static size_t sticky_scratch_size(size_t classes, int rates) {
    return rates ? CF_STICKY_SCRATCH(classes) : CF_STICKY_SCRATCH_STAY(classes);
}

static cf_status sticky_observe(Core *self, void *state, void *row, double beta, double dt) {
    cf_status status;
    if (self->single)
        status =
            cf_sticky_update_f32(sticky_settings(self), state, row, (float)beta, (float)dt, self->cache, self->scratch);
    else
        status = cf_sticky_update_f64(sticky_settings(self), state, row, beta, dt, self->cache, self->scratch);
    if (status == CF_OK) memcpy(row, state, self->classes * size_of(self));
    if (status == CF_OK && self->temperature != 1) temper_row(self, row);
    return status;
}

static cf_status sticky_rows(Core *self, const void *table, void *cache, void *scratch, size_t *row) {
    const cf_status status = CALL(self, cf_sticky_run, (sticky_settings(self), table, cache, scratch, row));
    if (status == CF_OK && self->temperature != 1) temper_rows(self, table);
    return status;
}

/* What a call that takes rows works with, in its own memory: a row that fails leaves the filter as it was. */
typedef struct {
    Rows rows;
    PyArrayObject *out;
    void *memory, *scratch, *state, *cache;
} Work;

static void end_work(Work *work) {
    PyMem_Free(work->memory);
    Py_XDECREF((PyObject *)work->out);
    release_rows(&work->rows);
}

static int begin_work(Core *self, PyObject *probs, PyObject *beta, PyObject *dt, Work *work) {
    memset(work, 0, sizeof *work);
    if (take_rows(self, probs, beta, dt, &work->rows) < 0) return -1;
    work->out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(work->rows.probs), type_of(self));
    if (work->out != NULL)
        work->memory = PyMem_Malloc(LINE + (self->scratch_size + self->classes + self->cache_size) * size_of(self));
    if (work->memory != NULL) {
        work->scratch = next_line(work->memory);
        work->state = element(self, work->scratch, self->scratch_size);
        work->cache = element(self, work->state, self->classes);
        memcpy(work->cache, self->cache,
               self->cache_size * size_of(self)); /* often the next dt is the last one again */
        return 0;
    }
    if (work->out != NULL) PyErr_NoMemory();
    end_work(work);
    return -1;
}

/* The results, or the error of the row where it failed. */
static PyObject *finish_work(Core *self, Work *work, cf_status status, size_t row) {
    PyObject *result = NULL;
    if (status == CF_OK) {
        result = (PyObject *)work->out;
        Py_INCREF(result);
    } else {
        raise_row(self, status, &work->rows, row);
    }
    end_work(work);
    return result;
}

static PyObject *sticky_run_plain(Core *self, PyObject *const inputs[3]) {
    Work work;
    Table table;
    size_t row = 0;
    cf_status status;
    if (begin_work(self, inputs[0], inputs[1], inputs[2], &work) < 0) return NULL;
    table = one_stream(&work.rows, work.state, work.out);
    memcpy(work.state, self->state, self->state_size * size_of(self));
    Py_BEGIN_ALLOW_THREADS
    status = sticky_rows(self, &table, work.cache, work.scratch, &row);
    Py_END_ALLOW_THREADS
    if (status == CF_OK) memcpy(self->state, work.state, self->state_size * size_of(self));
    return finish_work(self, &work, status, row);
}

static PyObject *sticky_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    return run_filter((Core *)object, args, nargs, names, sticky_run_plain);
}

static PyObject *sticky_backward(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyObject *likelihood, *dt;
    Work work;
    const Rows *const rows = &work.rows;
    size_t row = 0;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "OO:_backward", &likelihood, &dt)) return NULL;
    if (begin_work(self, likelihood, NULL, dt, &work) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = CALL(self, cf_sticky_backward,
                  (sticky_settings(self), rows->count, PyArray_DATA(rows->probs), PyArray_DATA(rows->dt),
                   rows->dt_stride, PyArray_DATA(work.out), work.cache, work.scratch, &row));
    Py_END_ALLOW_THREADS
    return finish_work(self, &work, status, row);
}

cf_status sticky_messages(Core *self, size_t rows, const double *likelihoods, const double *steps, double *messages,
                          double *scratch) {
    size_t row;
    return cf_sticky_backward_f64(sticky_settings(self), rows, likelihoods, steps, 1, messages, self->cache, scratch,
                                  &row);
}

/* Whether each window, rows first[i] to last[i] - 1, is there and not empty. */
static int are_windows(PyObject *first, PyObject *last, size_t rows) {
    const npy_intp *from, *to;
    size_t count, i;
    if (!PyArray_Check(first) || PyArray_NDIM((PyArrayObject *)first) != 1) return 0;
    count = (size_t)PyArray_DIM((PyArrayObject *)first, 0);
    if (last == Py_None || !are_indices(first, count, rows) || !are_indices(last, count, rows + 1)) return 0;
    from = PyArray_DATA((PyArrayObject *)first);
    to = PyArray_DATA((PyArrayObject *)last);
    for (i = 0; i < count && from[i] < to[i]; i++) continue;
    return i == count;
}

/* _backward_windows(likelihood, dt, first, last): the message at the first row of each window. */
static PyObject *sticky_windows(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyObject *likelihood, *dt, *first, *last;
    PyArrayObject *result;
    Work work;
    const Rows *const rows = &work.rows;
    const npy_intp *from, *to;
    npy_intp shape[2], i;
    size_t row = 0;
    cf_status status = CF_OK;
    if (!ready(self) || !PyArg_ParseTuple(args, "OOOO:_backward_windows", &likelihood, &dt, &first, &last)) return NULL;
    if (begin_work(self, likelihood, NULL, dt, &work) < 0) return NULL;
    if (!are_windows(first, last, rows->count)) {
        end_work(&work);
        PyErr_SetString(PyExc_ValueError, "_backward_windows() takes windows of rows that are there, and not empty");
        return NULL;
    }
    shape[0] = PyArray_DIM((PyArrayObject *)first, 0);
    shape[1] = (npy_intp)self->classes;
    result = (PyArrayObject *)PyArray_SimpleNew(2, shape, type_of(self));
    if (result == NULL) {
        end_work(&work);
        return NULL;
    }
    from = PyArray_DATA((PyArrayObject *)first);
    to = PyArray_DATA((PyArrayObject *)last);
    Py_BEGIN_ALLOW_THREADS
    for (i = 0; i < shape[0] && status == CF_OK; i++) {
        const size_t start = (size_t)from[i];
        status =
            CALL(self, cf_sticky_backward,
                 (sticky_settings(self), (size_t)(to[i] - from[i]), probs_at(self, rows, start),
                  dt_at(self, rows, start), rows->dt_stride, PyArray_DATA(work.out), work.cache, work.scratch, &row));
        memcpy(element(self, PyArray_DATA(result), (size_t)i * self->classes), PyArray_DATA(work.out),
               self->classes * size_of(self));
        row += start;
    }
    Py_END_ALLOW_THREADS
    if (status != CF_OK) {
        Py_DECREF(result);
        return finish_work(self, &work, status, row);
    }
    end_work(&work);
    return (PyObject *)result;
}

/* _check_states(states): whether each row is a state. */
static PyObject *sticky_check_states(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyArrayObject *states;
    cf_status status = CF_OK;
    size_t i, count;
    void *copy;
    if (!ready(self) || !PyArg_ParseTuple(args, "O!:_check_states", &PyArray_Type, &states)) return NULL;
    if (wrong_states(self, states) < 0) return NULL;
    copy = PyMem_Malloc(self->classes * size_of(self));
    if (copy == NULL) return PyErr_NoMemory();
    count = (size_t)PyArray_DIM(states, 0);
    for (i = 0; i < count && status == CF_OK; i++)
        status = CALL(self, cf_sticky_start,
                      (sticky_settings(self), element(self, PyArray_DATA(states), i * self->classes), copy));
    PyMem_Free(copy);
    if (status == CF_OK) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "the state of stream %zu: %s", i - 1, cf_strerror(status));
}

static PyObject *sticky_restore(PyObject *object, PyObject *probs) {
    Core *self = (Core *)object;
    PyArrayObject *array;
    cf_status status;
    if (!ready(self)) return NULL;
    array = take_vector(self, probs, "probs");
    if (array == NULL) return NULL;
    status = CALL(self, cf_sticky_start, (sticky_settings(self), PyArray_DATA(array), self->state));
    Py_DECREF(array);
    if (status != CF_OK) {
        raise_settings_error(status, NULL);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *sticky_transitions(PyObject *object, PyObject *dt_object) {
    Core *self = (Core *)object;
    double dt = 1;
    npy_intp shape[2];
    PyObject *out;
    void *matrix;
    cf_status status;
    if (!ready(self) || take_number(dt_object, "dt", &dt) < 0) return NULL;
    shape[0] = shape[1] = (npy_intp)self->classes;
    out = PyArray_SimpleNew(2, shape, type_of(self));
    if (out == NULL) return NULL;
    matrix = PyArray_DATA((PyArrayObject *)out);
    if (self->single)
        status = cf_sticky_transitions_f32(sticky_settings(self), (float)dt, matrix, self->cache, self->scratch);
    else
        status = cf_sticky_transitions_f64(sticky_settings(self), dt, matrix, self->cache, self->scratch);
    if (status == CF_OK) return out;
    Py_DECREF(out);
    return raise_status(self, status, -1, NULL, 1, dt);
}

/* _set_modes(numbers, pairs): numbers is (2 + 2 K, K), the rows of CF_STICKY_MODES but for those of one time unit. It is
   for a filter that no other thread has yet: the settings do not change afterwards. */
static PyObject *sticky_set_modes(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    Sticky *of = (Sticky *)object;
    PyArrayObject *numbers;
    Py_ssize_t pairs;
    double *modes;
    size_t classes, width, rows, i;
    if (!ready(self) || !PyArg_ParseTuple(args, "O!n:_set_modes", &PyArray_Type, &numbers, &pairs)) return NULL;
    classes = self->classes;
    width = CF_STICKY_ROW(classes);
    rows = 2 + 2 * classes;
    if (of->modes == NULL || PyArray_TYPE(numbers) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(numbers) ||
        PyArray_SIZE(numbers) != (npy_intp)(rows * classes) || pairs < 0 || 2 * (size_t)pairs > classes) {
        PyErr_SetString(PyExc_ValueError, "modes are for rates in double precision, shape (2 + 2 K, K)");
        return NULL;
    }
    modes = of->modes;
    memset(modes, 0, CF_STICKY_MODES(classes) * sizeof *modes);
    for (i = 0; i < rows; i++)
        memcpy(modes + i * width, (const double *)PyArray_DATA(numbers) + i * classes, classes * sizeof *modes);
    /* the transitions of one time unit, K x K at first, then in rows */
    (void)cf_sticky_transitions_f64(&of->settings.f64, 1.0, modes + rows * width, self->cache, self->scratch);
    for (i = classes - 1; i > 0; i--) {
        double *const row = modes + (rows + i) * width;
        memmove(row, modes + rows * width + i * classes, classes * sizeof *modes);
    }
    for (i = 0; i < classes; i++) memset(modes + (rows + i) * width + classes, 0, (width - classes) * sizeof *modes);
    of->settings.f64.modes = modes;
    of->settings.f64.pairs = (size_t)pairs;
    set_number(self, self->cache, 0, -1.0); /* with modes it keeps something else */
    Py_RETURN_NONE;
}

static PyObject *sticky_row(Core *self, const void *numbers) {
    PyObject *out = new_row(self);
    if (out == NULL) return NULL;
    memcpy(PyArray_DATA((PyArrayObject *)out), numbers, self->classes * size_of(self));
    return out;
}

static PyObject *sticky_state(PyObject *object, void *nothing) {
    (void)nothing;
    return ready((Core *)object) ? sticky_row((Core *)object, ((Core *)object)->state) : NULL;
}

static PyObject *sticky_probs(PyObject *object, void *nothing) {
    PyObject *const out = sticky_state(object, nothing);
    if (out != NULL && ((Core *)object)->temperature != 1)
        temper_row((Core *)object, PyArray_DATA((PyArrayObject *)out));
    return out;
}

static PyObject *sticky_prior(PyObject *object, void *nothing) {
    (void)nothing;
    return ready((Core *)object) ? sticky_row((Core *)object, ((Sticky *)object)->table) : NULL;
}

/* What cf_sticky_prepare computed: log_stay, fastest, the table (3, K), and the rates (K, K) or None. */
static PyObject *sticky_prepared(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    Sticky *of = (Sticky *)object;
    PyObject *table, *rates;
    npy_intp shape[2];
    size_t i, row;
    (void)nothing;
    if (!ready(self)) return NULL;
    shape[0] = 3;
    shape[1] = (npy_intp)self->classes;
    table = PyArray_SimpleNew(2, shape, type_of(self));
    shape[0] = shape[1];
    rates = of->rates == NULL ? Py_None : PyArray_SimpleNew(2, shape, type_of(self));
    if (table == NULL || rates == NULL) {
        Py_XDECREF(table);
        if (rates != Py_None) Py_XDECREF(rates);
        return NULL;
    }
    row = self->classes * size_of(self);
    for (i = 0; i < 3; i++)
        memcpy((char *)PyArray_DATA((PyArrayObject *)table) + i * row,
               element(self, of->table, i * CF_STICKY_ROW(self->classes)), row);
    if (of->rates == NULL)
        Py_INCREF(rates);
    else
        memcpy(PyArray_DATA((PyArrayObject *)rates), of->rates, self->classes * row);
    return Py_BuildValue("ddNN", self->single ? (double)of->settings.f32.log_stay : of->settings.f64.log_stay,
                         self->single ? (double)of->settings.f32.fastest : of->settings.f64.fastest, table, rates);
}

static int sticky_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"prior", "stay", "rates", "floor", "temperature", "single", NULL};
    Sticky fresh;
    Core *const self = &fresh.core;
    PyObject *prior_object, *rates_object;
    PyArrayObject *prior, *rates = NULL;
    double stay, floor, temperature;
    int single;
    size_t classes, table, cache, scratch, modes;
    cf_status status;
    if (!is_new((Core *)object)) return -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OdOddp:Sticky", names, &prior_object, &stay, &rates_object, &floor,
                                     &temperature, &single))
        return -1;
    memset(&fresh, 0, sizeof fresh);
    self->single = single;
    self->temperature = temperature;
    prior = as_array(self, prior_object, "prior", 1, 1);
    if (prior == NULL) return -1;
    classes = self->classes = self->state_size = (size_t)PyArray_DIM(prior, 0);
    if (rates_object != Py_None) {
        rates = as_array(self, rates_object, "rates", 2, 2);
        if (rates != NULL &&
            (PyArray_DIM(rates, 0) != (npy_intp)classes || PyArray_DIM(rates, 1) != (npy_intp)classes)) {
            PyErr_SetString(PyExc_ValueError, "rates must have one row and one column per class");
            Py_DECREF(rates);
            rates = NULL;
        }
        if (rates == NULL) {
            Py_DECREF(prior);
            return -1;
        }
    }
    table = CF_STICKY_TABLE(classes);
    cache = self->cache_size = sticky_cache_size(classes, rates != NULL);
    scratch = self->scratch_size = sticky_scratch_size(classes, rates != NULL);
    self->observe = sticky_observe;
    self->run = sticky_rows;
    modes = rates != NULL && !single ? CF_STICKY_MODES(classes) : 0;
    self->memory =
        PyMem_Malloc(LINE + (2 * classes + table + cache + scratch + modes + (rates != NULL ? classes * classes : 0)) *
                                size_of(self));
    if (self->memory == NULL) {
        Py_DECREF(prior);
        Py_XDECREF((PyObject *)rates);
        PyErr_NoMemory();
        return -1;
    }
    self->state = self->memory;
    self->start = element(self, self->state, classes);
    fresh.table = element(self, self->start, classes);
    self->cache = element(self, fresh.table, table);
    self->scratch = next_line(element(self, self->cache, cache));
    set_number(self, self->cache, 0, -1.0);
    if (rates != NULL) {
        fresh.rates = element(self, self->scratch, scratch);
        memcpy(fresh.rates, PyArray_DATA(rates), classes * classes * size_of(self));
        if (modes > 0) fresh.modes = element(self, fresh.rates, classes * classes);
    }
    /* The settings point into the memory, never into the object, so both may be moved together. */
    if (single) {
        fresh.settings.f32.classes = classes;
        fresh.settings.f32.stay = (float)stay;
        fresh.settings.f32.floor = (float)floor;
        fresh.settings.f32.rates = fresh.rates;
    } else {
        fresh.settings.f64.classes = classes;
        fresh.settings.f64.stay = stay;
        fresh.settings.f64.floor = floor;
        fresh.settings.f64.rates = fresh.rates;
    }
    status = CALL(self, cf_sticky_prepare, ((void *)&fresh.settings, PyArray_DATA(prior), fresh.table));
    if (status == CF_OK) status = CALL(self, cf_sticky_start, ((void *)&fresh.settings, fresh.table, self->start));
    if (status == CF_OK) status = check_temperature(self);
    Py_DECREF(prior);
    Py_XDECREF((PyObject *)rates);
    if (status != CF_OK) {
        PyMem_Free(self->memory);
        raise_settings_error(status, kwargs);
        return -1;
    }
    memcpy(self->state, self->start, classes * size_of(self));
    return take_over((Core *)object, self, sizeof fresh);
}

static PyMethodDef sticky_methods[] = {
    {"update", (PyCFunction)(void (*)(void))update_filter, METH_FASTCALL | METH_KEYWORDS, update_doc},
    {"run", (PyCFunction)(void (*)(void))sticky_run, METH_FASTCALL | METH_KEYWORDS, run_doc},
    {"_backward", sticky_backward, METH_VARARGS,
     "_backward($self, likelihood, dt, /)\n--\n\nWhat the later rows say of the class at each row, shape (T, K)."},
    {"_backward_windows", sticky_windows, METH_VARARGS,
     "_backward_windows($self, likelihood, dt, first, last, /)\n--\n\n"
     "What the later rows of each window say of the class at its first row, shape (N, K)."},
    {"reset", reset, METH_NOARGS, "reset($self, /)\n--\n\nReturn to the state before any data."},
    {"_transitions", sticky_transitions, METH_O,
     "_transitions($self, dt, /)\n--\n\nProbability of each class (column) dt after each class (row)."},
    {"_run_streams", (PyCFunction)(void (*)(void))run_streams, METH_FASTCALL, run_streams_doc},
    {"_update_stream", (PyCFunction)(void (*)(void))update_stream, METH_FASTCALL, update_stream_doc},
    {"_check_states", sticky_check_states, METH_VARARGS,
     "_check_states($self, states, /)\n--\n\nCheck the states of a bank, shape (N, K)."},
    {"_set_modes", sticky_set_modes, METH_VARARGS,
     "_set_modes($self, numbers, pairs, /)\n--\n\nUse the modes of the rates; see filters/rates.py."},
    {"_restore", sticky_restore, METH_O, "_restore($self, probs, /)\n--\n\nSet the state."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef sticky_properties[] = {
    {"probs", sticky_probs, NULL, "The current class probabilities, shape (K,).", NULL},
    {"_state", sticky_state, NULL, "The state: class probabilities without temperature, shape (K,).", NULL},
    {"prior", sticky_prior, NULL, "The classes' probabilities without any data, shape (K,).", NULL},
    {"_prepared", sticky_prepared, NULL, "What the core computed of the settings; see embedded/folder.py.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot sticky_slots[] = {
    {Py_tp_doc, "The compiled part of StickyFilter."},
    {Py_tp_init, sticky_init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, sticky_methods},
    {Py_tp_getset, sticky_properties},
    {0, NULL},
};

PyType_Spec sticky_spec = {"classfilter._core.Sticky", sizeof(Sticky), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           sticky_slots};
