/* SPDX-License-Identifier: MIT */
/* The functions of the module: special functions, the check of rows, the channel. */
#include "binding.h"

/* ---- the special functions, for tests ---- */

static PyObject *special(PyObject *x, double (*f64)(double), float (*f32)(float)) {
    PyArrayObject *in, *out;
    npy_intp i, size;
    int single = PyArray_Check(x) && PyArray_TYPE((PyArrayObject *)x) == NPY_FLOAT;
    in = (PyArrayObject *)PyArray_FROMANY(x, single ? NPY_FLOAT : NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
    if (in == NULL) return NULL;
    out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(in), PyArray_DIMS(in), single ? NPY_FLOAT : NPY_DOUBLE);
    if (out != NULL) {
        size = PyArray_SIZE(in);
        for (i = 0; i < size; i++) {
            if (single)
                ((float *)PyArray_DATA(out))[i] = f32(((const float *)PyArray_DATA(in))[i]);
            else
                ((double *)PyArray_DATA(out))[i] = f64(((const double *)PyArray_DATA(in))[i]);
        }
    }
    Py_DECREF(in);
    return (PyObject *)out;
}

static PyObject *log_(PyObject *m, PyObject *x) { return (void)m, special(x, cf_log_f64, cf_log_f32); }
static PyObject *exp_(PyObject *m, PyObject *x) { return (void)m, special(x, cf_exp_f64, cf_exp_f32); }
static PyObject *digamma(PyObject *m, PyObject *x) { return (void)m, special(x, cf_digamma_f64, cf_digamma_f32); }
static PyObject *trigamma(PyObject *m, PyObject *x) { return (void)m, special(x, cf_trigamma_f64, cf_trigamma_f32); }

/* ---- the check of rows, for filters written in Python ---- */

static PyObject *check_row(PyObject *m, PyObject *args) {
    Core of;
    Py_ssize_t classes;
    PyObject *probs, *beta_object, *dt_object, *out;
    double beta, dt, *values;
    size_t row;
    cf_status status;
    (void)m;
    memset(&of, 0, sizeof of);
    if (!PyArg_ParseTuple(args, "nOOO:check_row", &classes, &probs, &beta_object, &dt_object)) return NULL;
    if (take_number(beta_object, "beta", &beta) < 0 || take_number(dt_object, "dt", &dt) < 0) return NULL;
    of.classes = (size_t)classes;
    out = new_row(&of);
    if (out == NULL) return NULL;
    values = PyArray_DATA((PyArrayObject *)out);
    if (take_row(&of, probs, values) == 0) {
        status = cf_check_f64(of.classes, 1, values, &beta, 0, &dt, 0, &row);
        if (status == CF_OK) return Py_BuildValue("Ndd", out, beta, dt);
        raise_status(&of, status, -1, values, beta, dt);
    }
    Py_DECREF(out);
    return NULL;
}

static PyObject *check_rows(PyObject *m, PyObject *args) {
    Core of;
    Rows rows;
    Py_ssize_t classes;
    PyObject *probs, *beta, *dt, *out = NULL;
    size_t row = 0;
    cf_status status;
    (void)m;
    memset(&of, 0, sizeof of);
    if (!PyArg_ParseTuple(args, "nOOO:check_rows", &classes, &probs, &beta, &dt)) return NULL;
    of.classes = (size_t)classes;
    if (take_rows(&of, probs, beta, dt, &rows) < 0) return NULL;
    status = cf_check_f64(of.classes, rows.count, PyArray_DATA(rows.probs), PyArray_DATA(rows.beta), rows.beta_stride,
                          PyArray_DATA(rows.dt), rows.dt_stride, &row);
    if (status == CF_OK)
        out = Py_BuildValue("OOO", rows.probs, rows.beta, rows.dt);
    else
        raise_row(&of, status, &rows, row);
    release_rows(&rows);
    return out;
}

static PyObject *check_no_booleans(PyObject *m, PyObject *probs) {
    (void)m;
    if (refuse_booleans(probs, -1) < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- sums that decay ---- */

/* decayed_sums(start, before, decay, added): out[i] = decay[i] out[before[i]] + added[i], from `start` where there is no row
   before[i]. */
static PyObject *decayed_sums(PyObject *m, PyObject *args) {
    PyObject *before, *decay, *added, *out = NULL;
    PyArrayObject *g = NULL, *b = NULL;
    Core of;
    double start;
    (void)m;
    memset(&of, 0, sizeof of);
    if (!PyArg_ParseTuple(args, "dO!OO:decayed_sums", &start, &PyArray_Type, &before, &decay, &added)) return NULL;
    g = as_array(&of, decay, "decay", 1, 1);
    b = g == NULL ? NULL : as_array(&of, added, "added", 1, 1);
    if (b != NULL) {
        const npy_intp count = PyArray_SIZE(g);
        if (PyArray_SIZE(b) != count || !are_indices(before, (size_t)count, NPY_MAX_INTP))
            PyErr_SetString(PyExc_ValueError, "before, decay and added must have the same length");
        else
            out = PyArray_SimpleNew(1, &count, NPY_DOUBLE);
    }
    if (out != NULL) {
        const npy_intp count = PyArray_SIZE(g), *const last = PyArray_DATA((PyArrayObject *)before);
        const double *const factor = PyArray_DATA(g), *const more = PyArray_DATA(b);
        double *const sums = PyArray_DATA((PyArrayObject *)out);
        npy_intp i;
        for (i = 0; i < count; i++) sums[i] = factor[i] * (last[i] < i ? sums[last[i]] : start) + more[i];
    }
    Py_XDECREF((PyObject *)g);
    Py_XDECREF((PyObject *)b);
    return out;
}

/* smooth_estimates(estimates, messages): see smooth_estimate, of many rows. */
static PyObject *smooth_estimates(PyObject *m, PyObject *args) {
    PyObject *estimates, *messages;
    PyArrayObject *e, *g, *out = NULL;
    Core of;
    (void)m;
    memset(&of, 0, sizeof of);
    if (!PyArg_ParseTuple(args, "OO:smooth_estimates", &estimates, &messages)) return NULL;
    e = as_array(&of, estimates, "estimates", 2, 2);
    g = e == NULL ? NULL : as_array(&of, messages, "messages", 2, 2);
    if (g != NULL && PyArray_DIM(e, 0) == PyArray_DIM(g, 0) && PyArray_DIM(e, 1) == PyArray_DIM(g, 1))
        out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(e), NPY_DOUBLE);
    else if (g != NULL)
        PyErr_SetString(PyExc_ValueError, "estimates and messages must have the same shape");
    if (out != NULL) {
        const npy_intp rows = PyArray_DIM(e, 0), classes = PyArray_DIM(e, 1);
        const double *const estimate = PyArray_DATA(e), *const message = PyArray_DATA(g);
        npy_intp i;
        for (i = 0; i < rows * classes; i += classes)
            smooth_estimate((size_t)classes, estimate + i, message + i, (double *)PyArray_DATA(out) + i);
    }
    Py_XDECREF((PyObject *)e);
    Py_XDECREF((PyObject *)g);
    return (PyObject *)out;
}

/* ---- the channel ---- */

static PyObject *apply_channel(PyObject *m, PyObject *args) {
    Core of;
    PyObject *matrix_object, *prior_object, *probs_object;
    PyArrayObject *matrix = NULL, *prior = NULL, *probs = NULL, *out = NULL;
    cf_channel_f32 f32;
    cf_channel_f64 f64;
    size_t i, rows = 0;
    (void)m;
    memset(&of, 0, sizeof of);
    if (!PyArg_ParseTuple(args, "OOO:apply_channel", &matrix_object, &prior_object, &probs_object)) return NULL;
    of.single = PyArray_Check(probs_object) && PyArray_TYPE((PyArrayObject *)probs_object) == NPY_FLOAT;
    prior = as_array(&of, prior_object, "log_prior", 1, 1);
    if (prior == NULL) return NULL;
    matrix = as_array(&of, matrix_object, "log_matrix", 2, 2);
    probs = matrix == NULL ? NULL : as_array(&of, probs_object, "probs", 2, 2);
    if (probs == NULL) goto done;
    of.classes = (size_t)PyArray_SIZE(prior); /* now that no argument runs Python code any more */
    if (PyArray_SIZE(matrix) != (npy_intp)(of.classes * of.classes)) {
        PyErr_SetString(PyExc_ValueError, "log_matrix must have one row and one column per class");
        goto done;
    }
    if (PyArray_DIM(probs, 1) != (npy_intp)of.classes) {
        wrong_length(&of, PyArray_DIM(probs, 1));
        goto done;
    }
    out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(probs), type_of(&of));
    rows = out == NULL ? 0 : (size_t)PyArray_DIM(probs, 0);
    f32.classes = f64.classes = of.classes;
    f32.log_prior = PyArray_DATA(prior);
    f64.log_prior = PyArray_DATA(prior);
    f32.log_matrix = PyArray_DATA(matrix);
    f64.log_matrix = PyArray_DATA(matrix);
    for (i = 0; i < rows; i++) {
        const void *from = element(&of, PyArray_DATA(probs), i * of.classes);
        void *to = element(&of, PyArray_DATA(out), i * of.classes);
        const cf_status status =
            of.single ? cf_channel_apply_f32(&f32, from, to) : cf_channel_apply_f64(&f64, from, to);
        if (status != CF_OK) {
            raise_status(&of, status, (Py_ssize_t)i, from, 1, 1);
            Py_CLEAR(out);
            break;
        }
    }
done:
    Py_XDECREF((PyObject *)prior);
    Py_XDECREF((PyObject *)matrix);
    Py_XDECREF((PyObject *)probs);
    return (PyObject *)out;
}

/* ---- temperature ---- */

static PyObject *temper(PyObject *m, PyObject *args) {
    Core of;
    PyObject *object;
    PyArrayObject *probs, *out;
    size_t i, rows = 0;
    cf_status status = CF_OK;
    (void)m;
    memset(&of, 0, sizeof of);
    if (!PyArg_ParseTuple(args, "Od:temper", &object, &of.temperature)) return NULL;
    of.single = PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_FLOAT;
    probs = as_array(&of, object, "probs", 2, 2);
    if (probs == NULL) return NULL;
    of.classes = (size_t)PyArray_DIM(probs, 1);
    out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(probs), type_of(&of));
    if (out != NULL) {
        rows = (size_t)PyArray_DIM(probs, 0);
        status = check_temperature(&of);
    }
    for (i = 0; i < rows && status == CF_OK; i++) {
        const void *const from = element(&of, PyArray_DATA(probs), i * of.classes);
        void *const to = element(&of, PyArray_DATA(out), i * of.classes);
        status = of.single ? cf_temper_f32(of.classes, (float)of.temperature, from, to)
                           : cf_temper_f64(of.classes, of.temperature, from, to);
    }
    if (status != CF_OK) {
        PyErr_SetString(PyExc_ValueError, cf_strerror(status));
        Py_CLEAR(out);
    }
    Py_DECREF(probs);
    return (PyObject *)out;
}

PyMethodDef functions[] = {
    {"temper", temper, METH_VARARGS,
     "temper($module, probs, temperature, /)\n--\n\nRows of probabilities to the power 1 / temperature, normalised, in "
     "the precision of probs."},
    {"apply_channel", apply_channel, METH_VARARGS,
     "apply_channel($module, log_matrix, log_prior, probs, /)\n--\n\nOutputs of a classifier corrected by a channel, "
     "in the precision of probs."},
    {"hmm_pass", hmm_pass, METH_VARARGS,
     "hmm_pass($module, start, powers, kind, likelihood, backward, /)\n--\n\nThe filtered rows of a hidden Markov "
     "model or, backward, the messages of later rows, (T, K); row t follows by powers[kind[t]], or begins a stream "
     "where that is -1."},
    {"check_row", check_row, METH_VARARGS,
     "check_row($module, classes, probs, beta, dt, /)\n--\n\nThe arguments of `update` as numbers, or the error of bad "
     "ones."},
    {"check_rows", check_rows, METH_VARARGS,
     "check_rows($module, classes, probs, beta, dt, /)\n--\n\nThe arguments of `run` as arrays, or the error of bad "
     "ones."},
    {"decayed_sums", decayed_sums, METH_VARARGS,
     "decayed_sums($module, start, before, decay, added, /)\n--\n\nSums of what is added, decaying from row to row."},
    {"smooth_estimates", smooth_estimates, METH_VARARGS,
     "smooth_estimates($module, estimates, messages, /)\n--\n\nEstimates by what the later rows say of the class, (T, "
     "K)."},
    {"check_no_booleans", check_no_booleans, METH_O,
     "check_no_booleans($module, probs, /)\n--\n\nRaise for a True or False in a row, or in a list of rows."},
    {"as_streams", as_streams, METH_O,
     "as_streams($module, rows, /)\n--\n\nStream numbers as an array; see engine/bank.py."},
    {"check_streams", check_streams, METH_VARARGS,
     "check_streams($module, which, streams, /)\n--\n\nCheck numbers of streams, none twice."},
    {"as_batch", (PyCFunction)(void (*)(void))as_batch, METH_FASTCALL,
     "as_batch($module, classes, single, probs, beta, dt, rows, /)\n--\n\nThe arguments of `Bank.update` as arrays."},
    {"check_batch", (PyCFunction)(void (*)(void))check_batch, METH_FASTCALL,
     "check_batch($module, streams, single, probs, beta, dt, which, /)\n--\n\nCheck the shapes of what as_batch "
     "returned; return an array for the results."},
    {"commit", (PyCFunction)(void (*)(void))commit, METH_FASTCALL,
     "commit($module, states, times, slots, after, last, /)\n--\n\nWrite new states and times of some streams, all at "
     "once."},
    {"count_rows", (PyCFunction)(void (*)(void))count_rows, METH_FASTCALL,
     "count_rows($module, counts, classes, rows, /)\n--\n\nCount rows of sources; see engine/health.py."},
    {"log", log_, METH_O, "log($module, x, /)\n--\n\nThe core's logarithm, in the precision of x."},
    {"exp", exp_, METH_O, "exp($module, x, /)\n--\n\nThe core's exponential of x <= 0, in the precision of x."},
    {"digamma", digamma, METH_O, "digamma($module, x, /)\n--\n\nThe core's digamma function, in the precision of x."},
    {"trigamma", trigamma, METH_O,
     "trigamma($module, x, /)\n--\n\nThe core's trigamma function, in the precision of x."},
    {NULL, NULL, 0, NULL},
};
