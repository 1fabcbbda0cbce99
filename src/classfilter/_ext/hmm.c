/* SPDX-License-Identifier: MIT */
/* Passes of a hidden Markov model over likelihoods, for the fit of tuning. */
#include "binding.h"

typedef struct {
    size_t rows, classes;
    const double *start, *powers, *likelihood;
    const npy_intp *kind;
} Passes;

/* from P or, backward, P from. */
static void step(size_t K, const double *P, const double *from, double *to, int backward) {
    size_t i, j;
    for (j = 0; j < K; j++) to[j] = 0;
    for (i = 0; i < K; i++)
        for (j = 0; j < K; j++)
            if (backward)
                to[i] += P[i * K + j] * from[j];
            else
                to[j] += P[i * K + j] * from[i];
}

static void normalise(size_t K, double *p) {
    double sum = 0;
    size_t k;
    for (k = 0; k < K; k++) sum += p[k];
    for (k = 0; k < K; k++) p[k] = sum > 0 ? p[k] / sum : 1.0 / (double)K;
}

static void forward(const Passes *of, double *out) {
    const size_t K = of->classes;
    size_t t, k;
    for (t = 0; t < of->rows; t++, out += K) {
        if (of->kind[t] < 0)
            memcpy(out, of->start, K * sizeof *out);
        else
            step(K, of->powers + (size_t)of->kind[t] * K * K, out - K, out, 0);
        for (k = 0; k < K; k++) out[k] *= of->likelihood[t * K + k];
        normalise(K, out);
    }
}

/* The message at row t: how likely the later rows of its stream are in each class; own is K numbers. */
static void backward(const Passes *of, double *out, double *own) {
    const size_t K = of->classes;
    size_t t = of->rows, k;
    while (t-- > 0) {
        double *const message = out + t * K;
        if (t + 1 == of->rows || of->kind[t + 1] < 0) {
            for (k = 0; k < K; k++) message[k] = 1;
        } else {
            for (k = 0; k < K; k++) own[k] = message[K + k] * of->likelihood[(t + 1) * K + k];
            step(K, of->powers + (size_t)of->kind[t + 1] * K * K, own, message, 1);
        }
        normalise(K, message);
    }
}

/* hmm_pass(start, powers, kind, likelihood, backward): filtered rows or, backward, the messages of later rows. */
PyObject *hmm_pass(PyObject *m, PyObject *args) {
    Core core;
    Passes of;
    PyObject *objects[4];
    PyArrayObject *start = NULL, *powers = NULL, *kind = NULL, *likelihood = NULL, *out = NULL;
    double *own = NULL;
    npy_intp K, t;
    int later;
    (void)m;
    memset(&core, 0, sizeof core);
    if (!PyArg_ParseTuple(args, "OOOOp:hmm_pass", objects, objects + 1, objects + 2, objects + 3, &later)) return NULL;
    start = as_array(&core, objects[0], "start", 1, 1);
    powers = start == NULL ? NULL : as_array(&core, objects[1], "powers", 3, 3);
    kind = powers == NULL ? NULL : (PyArrayObject *)PyArray_FROMANY(objects[2], NPY_INTP, 1, 1, NPY_ARRAY_CARRAY_RO);
    likelihood = kind == NULL ? NULL : as_array(&core, objects[3], "likelihood", 2, 2);
    if (likelihood == NULL) goto done;
    K = PyArray_SIZE(start);
    if (PyArray_DIM(powers, 1) != K || PyArray_DIM(powers, 2) != K || PyArray_DIM(likelihood, 1) != K ||
        PyArray_DIM(likelihood, 0) != PyArray_SIZE(kind)) {
        PyErr_SetString(PyExc_ValueError, "give start (K,), powers (N, K, K), kind (T,) and likelihood (T, K)");
        goto done;
    }
    of.rows = (size_t)PyArray_SIZE(kind);
    of.classes = (size_t)K;
    of.start = PyArray_DATA(start);
    of.powers = PyArray_DATA(powers);
    of.kind = PyArray_DATA(kind);
    of.likelihood = PyArray_DATA(likelihood);
    for (t = 0; t < (npy_intp)of.rows; t++)
        if (of.kind[t] >= PyArray_DIM(powers, 0) || (t == 0 && of.kind[t] >= 0)) {
            PyErr_SetString(PyExc_ValueError, "kind has no power for a row, or one for the first");
            goto done;
        }
    own = PyMem_Malloc(of.classes * sizeof *own);
    out = own == NULL ? (PyArrayObject *)PyErr_NoMemory()
                      : (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(likelihood), NPY_DOUBLE);
    if (out == NULL) goto done;
    Py_BEGIN_ALLOW_THREADS
    if (later)
        backward(&of, PyArray_DATA(out), own);
    else
        forward(&of, PyArray_DATA(out));
    Py_END_ALLOW_THREADS
done:
    PyMem_Free(own);
    Py_XDECREF((PyObject *)start);
    Py_XDECREF((PyObject *)powers);
    Py_XDECREF((PyObject *)kind);
    Py_XDECREF((PyObject *)likelihood);
    return (PyObject *)out;
}
