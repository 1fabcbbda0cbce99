/* SPDX-License-Identifier: MIT */
/* The compiled part of DirichletFilter. */
#include "dirichlet.h"

#include <float.h>

static cf_status observe(Core *self, void *state, void *row, double beta, double dt) {
    cf_status status;
    if (self->single)
        status = cf_dirichlet_update_f32(settings_of(self), state, row, (float)beta, (float)dt, row, self->scratch);
    else
        status = cf_dirichlet_update_f64(settings_of(self), state, row, beta, dt, row, self->scratch);
    if (status == CF_OK && self->temperature != 1) temper_row(self, row);
    return status;
}

static cf_status run_rows(Core *self, const void *table, void *cache, void *scratch, size_t *row) {
    const cf_status status = CALL(self, cf_dirichlet_run, (settings_of(self), table, scratch, row, NULL));
    (void)cache;
    if (status == CF_OK && self->temperature != 1) temper_rows(self, table);
    return status;
}

static PyObject *run_plain(Core *self, PyObject *const inputs[3]) {
    PyObject *result = NULL;
    PyArrayObject *out;
    Rows rows;
    Table table;
    void *memory, *scratch, *state;
    size_t row = 0;
    cf_status status;
    if (take_rows(self, inputs[0], inputs[1], inputs[2], &rows) < 0) return NULL;
    out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(rows.probs), type_of(self));
    /* A copy of the state: a row that fails leaves the filter as it was. */
    memory = PyMem_Malloc(LINE + (self->state_size + CF_DIRICHLET_SCRATCH(self->classes)) * size_of(self));
    if (out == NULL || memory == NULL) {
        if (out != NULL) PyErr_NoMemory();
        goto done;
    }
    scratch = next_line(memory);
    state = element(self, scratch, CF_DIRICHLET_SCRATCH(self->classes));
    table = one_stream(&rows, state, out);
    memcpy(state, self->state, self->state_size * size_of(self));
    Py_BEGIN_ALLOW_THREADS
    status = run_rows(self, &table, NULL, scratch, &row);
    Py_END_ALLOW_THREADS
    if (status == CF_OK) {
        memcpy(self->state, state, self->state_size * size_of(self));
        result = (PyObject *)out;
        Py_INCREF(result);
    } else {
        raise_row(self, status, &rows, row);
    }
done:
    PyMem_Free(memory);
    Py_XDECREF((PyObject *)out);
    release_rows(&rows);
    return result;
}

static PyObject *run(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    return run_filter((Core *)object, args, nargs, names, run_plain);
}

/* A state as the filter itself may have reached it. Its eta grew by each weight, past the limit of one to start with, until
   a double no longer changes by adding 1; and rounding may leave an alpha just above max_concentration. */
static cf_status start_from(Core *self, void *alpha, double eta, void *state) {
    static const double most_to_start = 1e9, most_reached = 1e16;
    const Dirichlet *const filter = (const Dirichlet *)self;
    const double most =
        self->single ? (double)filter->settings.f32.max_concentration : filter->settings.f64.max_concentration;
    const double rounding = self->single ? 16 * FLT_EPSILON : 16 * DBL_EPSILON;
    const double to_start = eta > most_to_start && eta <= most_reached ? most_to_start : eta;
    void *const within = self->scratch;
    cf_status status;
    size_t k;
    for (k = 0; k < self->classes; k++) {
        const double a = get_number(self, alpha, k);
        set_number(self, within, k, a > most && a <= most * (1 + rounding) ? most : a);
    }
    status = self->single ? cf_dirichlet_start_f32(settings_of(self), within, (float)to_start, state)
                          : cf_dirichlet_start_f64(settings_of(self), within, to_start, state);
    if (status != CF_OK) return status;
    set_number(self, state, 0, eta);
    memcpy(element(self, state, 1), alpha, self->classes * size_of(self));
    return CF_OK;
}

/* _check_states(states): whether each row is a state. */
static PyObject *check_states(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyArrayObject *states;
    cf_status status = CF_OK;
    size_t i, count;
    void *copy;
    if (!ready(self) || !PyArg_ParseTuple(args, "O!:_check_states", &PyArray_Type, &states)) return NULL;
    if (wrong_states(self, states) < 0) return NULL;
    copy = PyMem_Malloc(self->state_size * size_of(self));
    if (copy == NULL) return PyErr_NoMemory();
    count = (size_t)PyArray_DIM(states, 0);
    for (i = 0; i < count && status == CF_OK; i++) {
        void *const state = element(self, PyArray_DATA(states), i * self->state_size);
        status = start_from(self, element(self, state, 1), get_number(self, state, 0), copy);
    }
    PyMem_Free(copy);
    if (status == CF_OK) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "the state of stream %zu: %s", i - 1, cf_strerror(status));
}

static PyObject *restore(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    double eta;
    PyObject *alpha;
    PyArrayObject *array;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "dO:_restore", &eta, &alpha)) return NULL;
    array = take_vector(self, alpha, "alpha");
    if (array == NULL) return NULL;
    status = start_from(self, PyArray_DATA(array), eta, self->state);
    Py_DECREF(array);
    if (status != CF_OK) {
        raise_settings_error(status, NULL);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *get_probs(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    PyObject *out = ready(self) ? new_row(self) : NULL;
    (void)nothing;
    if (out == NULL) return NULL;
    CALL(self, cf_dirichlet_read, (settings_of(self), self->state, PyArray_DATA((PyArrayObject *)out)));
    if (self->temperature != 1) temper_row(self, PyArray_DATA((PyArrayObject *)out));
    return out;
}

static PyObject *get_nu(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    PyObject *out = ready(self) ? new_row(self) : NULL;
    (void)nothing;
    if (out == NULL) return NULL;
    CALL(self, cf_dirichlet_nu, (settings_of(self), self->state, PyArray_DATA((PyArrayObject *)out)));
    return out;
}

static PyObject *get_alpha(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    PyObject *alpha = ready(self) ? new_row(self) : NULL;
    (void)nothing;
    if (alpha == NULL) return NULL;
    memcpy(PyArray_DATA((PyArrayObject *)alpha), element(self, self->state, 1), self->classes * size_of(self));
    return alpha;
}

static PyObject *get_eta(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    (void)nothing;
    return ready(self) ? PyFloat_FromDouble(get_number(self, self->state, 0)) : NULL;
}

static PyObject *get_bound(PyObject *object, void *nothing) {
    Core *self = (Core *)object;
    const Dirichlet *filter = (const Dirichlet *)object;
    (void)nothing;
    if (!ready(self)) return NULL;
    return PyFloat_FromDouble(self->single ? (double)filter->settings.f32.bound : filter->settings.f64.bound);
}

static int init(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"prior", "prior_weight", "gamma",   "floor",       "anchor", "max_concentration",
                            "mean",  "tolerance",    "bounded", "temperature", "single", NULL};
    PyObject *prior;
    double prior_weight, gamma, floor, anchor, max_concentration, tolerance, temperature;
    int mean, bounded, single;
    Dirichlet fresh;
    Core *const self = &fresh.core;
    PyArrayObject *array;
    size_t state, scratch;
    cf_status status;
    if (!is_new((Core *)object)) return -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Odddddpdpdp:Dirichlet", names, &prior, &prior_weight, &gamma,
                                     &floor, &anchor, &max_concentration, &mean, &tolerance, &bounded, &temperature,
                                     &single))
        return -1;
    memset(&fresh, 0, sizeof fresh);
    self->single = single;
    self->temperature = temperature;
    array = as_array(self, prior, "prior", 1, 1);
    if (array == NULL) return -1;
    self->classes = (size_t)PyArray_DIM(array, 0);
    state = self->state_size = CF_DIRICHLET_STATE(self->classes);
    scratch = CF_DIRICHLET_SCRATCH(self->classes);
    self->scratch_size = CF_DIRICHLET_SCRATCH_MANY(self->classes);
    self->observe = observe;
    self->run = run_rows;
    self->memory = PyMem_Malloc(LINE + (2 * state + self->classes + scratch) * size_of(self));
    if (self->memory == NULL) {
        Py_DECREF(array);
        PyErr_NoMemory();
        return -1;
    }
    self->state = self->memory;
    self->start = element(self, self->state, state);
    fresh.prior_nu = element(self, self->start, state);
    self->scratch = next_line(element(self, fresh.prior_nu, self->classes));
    /* The settings point into the memory, never into the object, so both may be moved together. */
    if (single) {
        cf_dirichlet_f32 *f = &fresh.settings.f32;
        f->classes = self->classes;
        f->gamma = (float)gamma;
        f->floor = (float)floor;
        f->anchor = (float)anchor;
        f->max_concentration = (float)max_concentration;
        f->mean = mean;
        f->tolerance = (float)tolerance;
        f->bounded = bounded;
    } else {
        cf_dirichlet_f64 *f = &fresh.settings.f64;
        f->classes = self->classes;
        f->gamma = gamma;
        f->floor = floor;
        f->anchor = anchor;
        f->max_concentration = max_concentration;
        f->mean = mean;
        f->tolerance = tolerance;
        f->bounded = bounded;
    }
    status = CALL(self, cf_dirichlet_prepare, ((void *)&fresh.settings, PyArray_DATA(array), fresh.prior_nu));
    if (status == CF_OK) {
        if (single)
            status = cf_dirichlet_start_f32(&fresh.settings.f32, PyArray_DATA(array), (float)prior_weight, self->start);
        else
            status = cf_dirichlet_start_f64(&fresh.settings.f64, PyArray_DATA(array), prior_weight, self->start);
    }
    if (status == CF_OK) status = check_temperature(self);
    Py_DECREF(array);
    if (status != CF_OK) {
        PyMem_Free(self->memory);
        raise_settings_error(status, kwargs);
        return -1;
    }
    memcpy(self->state, self->start, state * size_of(self));
    return take_over((Core *)object, self, sizeof fresh);
}

static PyMethodDef methods[] = {
    {"update", (PyCFunction)(void (*)(void))update_filter, METH_FASTCALL | METH_KEYWORDS, update_doc},
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL | METH_KEYWORDS, run_doc},
    {"reset", reset, METH_NOARGS, "reset($self, /)\n--\n\nReturn to the state before any data."},
    {"_run_streams", (PyCFunction)(void (*)(void))run_streams, METH_FASTCALL, run_streams_doc},
    {"_update_stream", (PyCFunction)(void (*)(void))update_stream, METH_FASTCALL, update_stream_doc},
    {"_update_chain", update_dirichlet_chain, METH_VARARGS,
     "_update_chain($self, states, before, probs, beta, dt, /)\n--\n\n"
     "Update the state after an earlier row, or a start, for each row; see filters/dirichlet_smoothing.py."},
    {"_join", join_dirichlet, METH_VARARGS,
     "_join($self, states, slots, dt, eta, nu, probs, beta, out, /)\n--\n\n"
     "Estimates of states with eta and nu added, after rows; return where there are any; see csrc/dirichlet_joined.h."},
    {"_means", dirichlet_means, METH_O, "_means($self, states, /)\n--\n\nnu / eta of states (N, K + 1), shape (N, K)."},
    {"_check_states", check_states, METH_VARARGS,
     "_check_states($self, states, /)\n--\n\nCheck the states of a bank, shape (N, K + 1)."},
    {"_restore", restore, METH_VARARGS, "_restore($self, eta, alpha, /)\n--\n\nSet the state."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"probs", get_probs, NULL, "The current class probabilities, shape (K,).", NULL},
    {"alpha", get_alpha, NULL, "Parameters of the current Dirichlet distribution, shape (K,).", NULL},
    {"eta", get_eta, NULL, "How many observations the memory is worth.", NULL},
    {"nu", get_nu, NULL, "nu_i = eta (digamma(sum alpha) - digamma(alpha_i)), shape (K,).", NULL},
    {"_bound", get_bound, NULL, "Largest nu_i / eta, where bounded.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The compiled part of DirichletFilter."},
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec dirichlet_spec = {"classfilter._core.Dirichlet", sizeof(Dirichlet), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
