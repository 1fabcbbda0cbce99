/* SPDX-License-Identifier: MIT */
/* The compiled part of smoothing with DirichletFilter; filters/dirichlet_smoothing.py calls it. */
#include "dirichlet.h"

#include "dirichlet_joined.h"

/* Wave after wave, the state of row i becomes that of place before[i], updated: a row before the wave, or a start after all
   rows. Smoothing is in double precision only. */
static cf_status follow(Core *self, const Rows *rows, double *states, const size_t *before, double *scratch,
                        size_t *row) {
    const double *const probs = PyArray_DATA(rows->probs), *const beta = PyArray_DATA(rows->beta);
    const double *const dt = PyArray_DATA(rows->dt);
    cf_status status = CF_OK;
    size_t i = 0, end = 0;
    for (; i < rows->count && status == CF_OK; i = end) {
        while (end < rows->count && (end == i || before[end] < i || before[end] >= rows->count)) end++;
        {
            const cf_table_f64 wave = {end - i,
                                       before + i,
                                       NULL,
                                       NULL,
                                       states,
                                       states + i * self->state_size,
                                       probs + i * self->classes,
                                       beta + i * rows->beta_stride,
                                       dt + i * rows->dt_stride,
                                       rows->beta_stride,
                                       rows->dt_stride,
                                       NULL};
            status = cf_dirichlet_run_f64(settings_of(self), &wave, scratch, row, NULL);
        }
        *row += i;
    }
    return status;
}

/* Whether each row follows from one before it, or from a start. */
static int are_in_order(const size_t *before, size_t count) {
    size_t i;
    for (i = 0; i < count && (before[i] < i || before[i] >= count);) i++;
    return i == count;
}

PyObject *update_dirichlet_chain(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyArrayObject *states, *before;
    PyObject *probs, *beta, *dt, *result = NULL;
    Rows rows;
    cf_status status;
    void *scratch;
    size_t row = 0;
    if (!ready(self) || !PyArg_ParseTuple(args, "O!O!OOO:_update_chain", &PyArray_Type, &states, &PyArray_Type, &before,
                                          &probs, &beta, &dt))
        return NULL;
    if (take_rows(self, probs, beta, dt, &rows) < 0) return NULL;
    scratch = PyMem_Malloc(LINE + CF_DIRICHLET_SCRATCH_MANY(self->classes) * size_of(self));
    if (scratch == NULL) {
        PyErr_NoMemory();
    } else if (self->single || wrong_states(self, states) < 0 || !PyArray_ISWRITEABLE(states) ||
               (size_t)PyArray_DIM(states, 0) < rows.count ||
               !are_indices((PyObject *)before, rows.count, (size_t)PyArray_DIM(states, 0)) ||
               !are_in_order(PyArray_DATA(before), rows.count)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError,
                            "_update_chain() takes a state for each row of probs and more to start from, in double "
                            "precision, and the place of the state before each row");
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = follow(self, &rows, PyArray_DATA(states), PyArray_DATA(before), next_line(scratch), &row);
        Py_END_ALLOW_THREADS
        if (status == CF_OK)
            result = Py_None;
        else
            raise_row(self, status, &rows, row);
    }
    PyMem_Free(scratch);
    release_rows(&rows);
    Py_XINCREF(result);
    return result;
}

/* Whether an array has `size` numbers for each of some rows. */
static int are_doubles(PyArrayObject *array, npy_intp rows, size_t size) {
    return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) > 0 &&
           PyArray_DIM(array, 0) == rows && PyArray_SIZE(array) == rows * (npy_intp)size;
}

/* _join(states, slots, dt, eta, nu, probs, beta, out): see cf_dirichlet_join_f64; returns which rows were found. */
PyObject *join_dirichlet(PyObject *object, PyObject *args) {
    Core *self = (Core *)object;
    PyArrayObject *states, *slots, *given[6], *found = NULL;
    npy_intp rows;
    void *memory;
    size_t i;
    if (!ready(self) || !PyArg_ParseTuple(args, "O!O!O!O!O!O!O!O!:_join", &PyArray_Type, &states, &PyArray_Type, &slots,
                                          &PyArray_Type, given, &PyArray_Type, given + 1, &PyArray_Type, given + 2,
                                          &PyArray_Type, given + 3, &PyArray_Type, given + 4, &PyArray_Type, given + 5))
        return NULL;
    rows = PyArray_SIZE(slots);
    for (i = 0; i < 6 && are_doubles(given[i], rows, i == 2 || i == 3 || i == 5 ? self->classes : 1);) i++;
    if (self->single || i < 6 ||
        !are_doubles(states, PyArray_SIZE(states) / (npy_intp)self->state_size, self->state_size) ||
        !PyArray_ISWRITEABLE(given[5]) ||
        !are_indices((PyObject *)slots, (size_t)rows, (size_t)PyArray_SIZE(states) / self->state_size)) {
        PyErr_SetString(
            PyExc_ValueError,
            "_join() takes C arrays in double precision: states, and for each row its slot, dt, eta, nu, probs, "
            "beta and out");
        return NULL;
    }
    found = (PyArrayObject *)PyArray_SimpleNew(1, &rows, NPY_BOOL);
    memory = PyMem_Malloc(LINE + CF_DIRICHLET_SCRATCH_MANY(self->classes) * sizeof(double));
    if (found == NULL || memory == NULL) {
        if (found != NULL) PyErr_NoMemory();
        Py_CLEAR(found);
    } else {
        const cf_joined joined = {(size_t)rows,           PyArray_DATA(states),   PyArray_DATA(slots),
                                  PyArray_DATA(given[0]), PyArray_DATA(given[1]), PyArray_DATA(given[2]),
                                  PyArray_DATA(given[3]), PyArray_DATA(given[4])};
        Py_BEGIN_ALLOW_THREADS
        cf_dirichlet_join_f64(settings_of(self), &joined, PyArray_DATA(given[5]), PyArray_DATA(found),
                              next_line(memory));
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(memory);
    return (PyObject *)found;
}

/* _means(states): see cf_dirichlet_means_f64. */
PyObject *dirichlet_means(PyObject *object, PyObject *states) {
    Core *self = (Core *)object;
    PyArrayObject *const array = (PyArrayObject *)states;
    PyObject *out;
    npy_intp shape[2];
    if (!ready(self)) return NULL;
    if (self->single || !PyArray_Check(states) || wrong_states(self, array) < 0) {
        PyErr_SetString(PyExc_ValueError, "_means() takes a C array of states in double precision");
        return NULL;
    }
    shape[0] = PyArray_DIM(array, 0);
    shape[1] = (npy_intp)self->classes;
    out = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    if (out == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    cf_dirichlet_means_f64(settings_of(self), (size_t)shape[0], PyArray_DATA(array),
                           PyArray_DATA((PyArrayObject *)out));
    Py_END_ALLOW_THREADS
    return out;
}
