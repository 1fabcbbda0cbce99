/* The binding: argument checks, conversions and messages; no mathematics. */
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"
#define CF_FLOAT
#include "cf.h"
#undef CF_FLOAT

/* A call of either precision: what points to numbers is void here, so one text serves both. */
#define CALL(self, name, arguments) ((self)->single ? name##_f32 arguments : name##_f64 arguments)

typedef struct {
    PyObject_HEAD
    int single; /* float, not double */
    size_t classes;
    union {
        cf_dirichlet_f32 f32;
        cf_dirichlet_f64 f64;
    } settings;
    void *memory; /* one block, for all the rest */
    void *state, *start, *prior_nu, *observed, *scratch;
} Dirichlet;

static double get(const Dirichlet *self, const void *numbers, size_t i) {
    return self->single ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

static void set(const Dirichlet *self, void *numbers, size_t i, double value) {
    if (self->single)
        ((float *)numbers)[i] = (float)value;
    else
        ((double *)numbers)[i] = value;
}

static size_t size_of(const Dirichlet *self) { return self->single ? sizeof(float) : sizeof(double); }

static int type_of(const Dirichlet *self) { return self->single ? NPY_FLOAT : NPY_DOUBLE; }

static void *at(const Dirichlet *self, void *numbers, size_t i) { return (char *)numbers + i * size_of(self); }

/* ---- messages ---- */

static PyObject *raise_number(const char *format, const char *place, double value) {
    PyObject *number = PyFloat_FromDouble(value);
    if (number != NULL) {
        PyErr_Format(PyExc_ValueError, format, place, number);
        Py_DECREF(number);
    }
    return NULL;
}

/* The error of a failed update, in words that name the argument, its value, its place and the remedy. `row` is negative
   for a single update. */
static PyObject *raise_status(const Dirichlet *self, cf_status status, Py_ssize_t row, const void *probs, double beta,
                              double dt) {
    char place[64];
    double sum = 0;
    size_t k;
    if (row < 0)
        place[0] = 0;
    else
        PyOS_snprintf(place, sizeof place, " in row %zd", row);
    switch (status) {
    case CF_BAD_BETA:
        return raise_number("beta%s is %R; it must lie in [0, 1]: 0 ignores the observation, 1 trusts it fully", place,
                            beta);
    case CF_BAD_DT:
        return raise_number("dt%s is %R; it must be finite and not negative: put the observations in order of time",
                            place, dt);
    case CF_PROBS_SUM:
        for (k = 0; k < self->classes; k++) sum += get(self, probs, k);
        return raise_number("probs%s sums to %R; it must be within 0.05 of 1: normalise it (scores and logits need a "
                            "softmax first)",
                            place, sum);
    case CF_PROBS_NEGATIVE:
    case CF_PROBS_INFINITE:
    case CF_PROBS_SOME_NAN:
        for (k = 0; k < self->classes; k++) {
            double p = get(self, probs, k);
            if (status == CF_PROBS_NEGATIVE ? p < 0 : status == CF_PROBS_SOME_NAN ? p != p : p > 1e30) break;
        }
        if (row < 0)
            PyOS_snprintf(place, sizeof place, "[%zu]", k);
        else
            PyOS_snprintf(place, sizeof place, "[%zd, %zu]", row, k);
        return raise_number(status == CF_PROBS_SOME_NAN
                                ? "probs%s is %R while other entries of the row are not; a missing observation is a "
                                  "row of NaN only"
                                : "probs%s is %R; a probability must be finite and not negative",
                            place, get(self, probs, k));
    default:
        PyErr_Format(status == CF_NOT_CONVERGED ? PyExc_ArithmeticError : PyExc_ValueError, "%s%s", cf_strerror(status),
                     place);
        return NULL;
    }
}

static int ready(const Dirichlet *self) {
    if (self->memory != NULL) return 1;
    PyErr_SetString(PyExc_RuntimeError, "the filter was not initialised: call __init__ first");
    return 0;
}

/* ---- arguments ---- */

/* An argument as a C array of the filter's precision, of at most `most` dimensions. */
static PyArrayObject *as_array(const Dirichlet *self, PyObject *object, const char *name, int least, int most) {
    PyArrayObject *array =
        (PyArrayObject *)PyArray_FROMANY(object, type_of(self), 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
    if (array == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s must hold numbers, got %R", name, object);
        }
        return NULL;
    }
    if (PyArray_NDIM(array) < least || PyArray_NDIM(array) > most) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions; it must have %d", name, PyArray_NDIM(array), most);
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

static int wrong_length(const Dirichlet *self, Py_ssize_t length) {
    PyErr_Format(PyExc_ValueError, "probs has %zd entries, but the filter has %zd classes; give one probability a class",
                 length, (Py_ssize_t)self->classes);
    return -1;
}

/* Copies one row of probabilities into self->observed. */
static int take_row(Dirichlet *self, PyObject *object) {
    const Py_ssize_t classes = (Py_ssize_t)self->classes;
    PyArrayObject *array;
    Py_ssize_t k;
    if (PyList_CheckExact(object)) {
        if (PyList_Size(object) != classes) return wrong_length(self, PyList_Size(object));
        for (k = 0; k < classes; k++) {
            double value = PyFloat_AsDouble(PyList_GetItem(object, k));
            if (value == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                break; /* nested or odd contents: the general way has the words for it */
            }
            set(self, self->observed, (size_t)k, value);
        }
        if (k == classes) return 0;
    }
    array = as_array(self, object, "probs", 1, 1);
    if (array == NULL) return -1;
    if (PyArray_DIM(array, 0) != classes) {
        wrong_length(self, PyArray_DIM(array, 0));
        Py_DECREF(array);
        return -1;
    }
    memcpy(self->observed, PyArray_DATA(array), self->classes * size_of(self));
    Py_DECREF(array);
    return 0;
}

/* Sorts probs, beta and dt out of a vectorcall; beta and dt stay NULL where not given. */
static int three_arguments(const char *method, PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject *out[3]) {
    static const char *const expected[3] = {"probs", "beta", "dt"};
    Py_ssize_t given = names == NULL ? 0 : PyTuple_Size(names), i;
    int j;
    out[0] = out[1] = out[2] = NULL;
    if (nargs > 3) {
        PyErr_Format(PyExc_TypeError, "%s() takes probs, beta and dt, but got %zd positional arguments", method, nargs);
        return -1;
    }
    for (i = 0; i < nargs; i++) out[i] = args[i];
    for (i = 0; i < given; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        for (j = 0; j < 3; j++)
            if (PyUnicode_CompareWithASCIIString(name, expected[j]) == 0) break;
        if (j == 3) {
            PyErr_Format(PyExc_TypeError, "%s() has no argument %R; it takes probs, beta and dt", method, name);
            return -1;
        }
        if (out[j] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got two values for %s", method, expected[j]);
            return -1;
        }
        out[j] = args[nargs + i];
    }
    if (out[0] == NULL) {
        PyErr_Format(PyExc_TypeError, "%s() needs the argument probs", method);
        return -1;
    }
    return 0;
}

static int take_number(PyObject *object, const char *name, double *value) {
    if (object == NULL) return 0;
    *value = PyFloat_AsDouble(object);
    if (*value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s must be a number, got %R", name, object);
        return -1;
    }
    return 0;
}

/* A number for all rows (stride 0) or one a row (stride 1). */
static PyArrayObject *take_numbers(const Dirichlet *self, PyObject *object, const char *name, Py_ssize_t rows,
                                   size_t *stride) {
    PyObject *one = object == NULL ? PyFloat_FromDouble(1.0) : object;
    PyArrayObject *array;
    if (one == NULL) return NULL;
    array = as_array(self, one, name, 0, 1);
    if (object == NULL) Py_DECREF(one);
    if (array == NULL) return NULL;
    *stride = (size_t)PyArray_NDIM(array);
    if (*stride == 1 && PyArray_DIM(array, 0) != rows) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries, but probs has %zd rows; give one number, or one a row", name,
                     (Py_ssize_t)PyArray_DIM(array, 0), rows);
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

/* ---- methods ---- */

static PyObject *new_row(const Dirichlet *self) {
    npy_intp size = (npy_intp)self->classes;
    return PyArray_SimpleNew(1, &size, type_of(self));
}

static PyObject *update(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    Dirichlet *self = (Dirichlet *)object;
    PyObject *given[3], *out;
    double beta = 1, dt = 1;
    cf_status status;
    if (!ready(self) || three_arguments("update", args, nargs, names, given) < 0) return NULL;
    if (take_row(self, given[0]) < 0 || take_number(given[1], "beta", &beta) < 0 || take_number(given[2], "dt", &dt) < 0)
        return NULL;
    out = new_row(self);
    if (out == NULL) return NULL;
    if (self->single)
        status = cf_dirichlet_update_f32(&self->settings.f32, self->state, self->observed, (float)beta, (float)dt,
                                         PyArray_DATA((PyArrayObject *)out), self->scratch);
    else
        status = cf_dirichlet_update_f64(&self->settings.f64, self->state, self->observed, beta, dt,
                                         PyArray_DATA((PyArrayObject *)out), self->scratch);
    if (status == CF_OK) return out;
    Py_DECREF(out);
    return raise_status(self, status, -1, self->observed, beta, dt);
}

static PyObject *run(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    Dirichlet *self = (Dirichlet *)object;
    PyObject *given[3], *result = NULL;
    PyArrayObject *probs = NULL, *beta = NULL, *dt = NULL, *out = NULL;
    void *scratch = NULL, *state;
    size_t beta_stride, dt_stride, rows, row = 0;
    cf_status status;
    if (!ready(self) || three_arguments("run", args, nargs, names, given) < 0) return NULL;
    probs = as_array(self, given[0], "probs", 2, 2);
    if (probs == NULL) return NULL;
    if (PyArray_DIM(probs, 1) != (npy_intp)self->classes) {
        wrong_length(self, PyArray_DIM(probs, 1));
        goto done;
    }
    rows = (size_t)PyArray_DIM(probs, 0);
    beta = take_numbers(self, given[1], "beta", (Py_ssize_t)rows, &beta_stride);
    if (beta == NULL) goto done;
    dt = take_numbers(self, given[2], "dt", (Py_ssize_t)rows, &dt_stride);
    if (dt == NULL) goto done;
    out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(probs), type_of(self));
    if (out == NULL) goto done;
    /* Its own memory: while the GIL is free, others may use the filter. */
    scratch = PyMem_Malloc((CF_DIRICHLET_STATE(self->classes) + CF_DIRICHLET_SCRATCH(self->classes)) * size_of(self));
    if (scratch == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    state = at(self, scratch, CF_DIRICHLET_SCRATCH(self->classes));
    memcpy(state, self->state, CF_DIRICHLET_STATE(self->classes) * size_of(self));
    Py_BEGIN_ALLOW_THREADS
    status = CALL(self, cf_dirichlet_run,
                  ((void *)&self->settings, state, rows, PyArray_DATA(probs), PyArray_DATA(beta), beta_stride,
                   PyArray_DATA(dt), dt_stride, PyArray_DATA(out), scratch, &row));
    Py_END_ALLOW_THREADS
    if (status == CF_OK) {
        memcpy(self->state, state, CF_DIRICHLET_STATE(self->classes) * size_of(self));
        result = (PyObject *)out;
        Py_INCREF(result);
    } else {
        raise_status(self, status, (Py_ssize_t)row, at(self, PyArray_DATA(probs), row * self->classes),
                     get(self, PyArray_DATA(beta), row * beta_stride), get(self, PyArray_DATA(dt), row * dt_stride));
    }
done:
    PyMem_Free(scratch);
    Py_XDECREF(probs);
    Py_XDECREF(beta);
    Py_XDECREF(dt);
    Py_XDECREF(out);
    return result;
}

static PyObject *reset(PyObject *object, PyObject *nothing) {
    Dirichlet *self = (Dirichlet *)object;
    (void)nothing;
    if (!ready(self)) return NULL;
    memcpy(self->state, self->start, CF_DIRICHLET_STATE(self->classes) * size_of(self));
    Py_RETURN_NONE;
}

static PyObject *restore(PyObject *object, PyObject *args) {
    Dirichlet *self = (Dirichlet *)object;
    double eta;
    PyObject *alpha;
    PyArrayObject *array;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "dO:_restore", &eta, &alpha)) return NULL;
    array = as_array(self, alpha, "alpha", 1, 1);
    if (array == NULL) return NULL;
    if (PyArray_DIM(array, 0) != (npy_intp)self->classes) {
        PyErr_Format(PyExc_ValueError, "alpha has %zd entries, but the filter has %zd classes",
                     (Py_ssize_t)PyArray_DIM(array, 0), (Py_ssize_t)self->classes);
        Py_DECREF(array);
        return NULL;
    }
    if (self->single)
        status = cf_dirichlet_start_f32(&self->settings.f32, PyArray_DATA(array), (float)eta, self->state);
    else
        status = cf_dirichlet_start_f64(&self->settings.f64, PyArray_DATA(array), eta, self->state);
    Py_DECREF(array);
    if (status != CF_OK) {
        PyErr_SetString(PyExc_ValueError, cf_strerror(status));
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *get_probs(PyObject *object, void *nothing) {
    Dirichlet *self = (Dirichlet *)object;
    PyObject *out = ready(self) ? new_row(self) : NULL;
    (void)nothing;
    if (out != NULL)
        CALL(self, cf_dirichlet_read, ((void *)&self->settings, self->state, PyArray_DATA((PyArrayObject *)out)));
    return out;
}

static PyObject *get_nu(PyObject *object, void *nothing) {
    Dirichlet *self = (Dirichlet *)object;
    PyObject *out = ready(self) ? new_row(self) : NULL;
    (void)nothing;
    if (out != NULL)
        CALL(self, cf_dirichlet_nu, ((void *)&self->settings, self->state, PyArray_DATA((PyArrayObject *)out)));
    return out;
}

static PyObject *get_alpha(PyObject *object, void *nothing) {
    Dirichlet *self = (Dirichlet *)object;
    PyObject *out = ready(self) ? new_row(self) : NULL;
    (void)nothing;
    if (out != NULL)
        memcpy(PyArray_DATA((PyArrayObject *)out), at(self, self->state, 1), self->classes * size_of(self));
    return out;
}

static PyObject *get_eta(PyObject *object, void *nothing) {
    Dirichlet *self = (Dirichlet *)object;
    (void)nothing;
    return ready(self) ? PyFloat_FromDouble(get(self, self->state, 0)) : NULL;
}

/* ---- the type ---- */

static int init(PyObject *object, PyObject *args, PyObject *kwargs) {
    Dirichlet *self = (Dirichlet *)object;
    static char *names[] = {"prior", "prior_weight", "gamma", "floor", "anchor", "max_concentration", "mean", "single", NULL};
    PyObject *prior;
    double prior_weight, gamma, floor, anchor, max_concentration;
    int mean, single;
    Dirichlet made;
    PyArrayObject *array;
    size_t state, scratch;
    cf_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Odddddpp:Dirichlet", names, &prior, &prior_weight, &gamma, &floor,
                                     &anchor, &max_concentration, &mean, &single))
        return -1;
    made = *self;
    made.single = single;
    array = as_array(&made, prior, "prior", 1, 1);
    if (array == NULL) return -1;
    made.classes = (size_t)PyArray_DIM(array, 0);
    state = CF_DIRICHLET_STATE(made.classes);
    scratch = CF_DIRICHLET_SCRATCH(made.classes);
    made.memory = PyMem_Malloc((2 * state + 2 * made.classes + scratch) * size_of(&made));
    if (made.memory == NULL) {
        Py_DECREF(array);
        PyErr_NoMemory();
        return -1;
    }
    made.state = made.memory;
    made.start = at(&made, made.state, state);
    made.prior_nu = at(&made, made.start, state);
    made.observed = at(&made, made.prior_nu, made.classes);
    made.scratch = at(&made, made.observed, made.classes);
    /* The settings point into the memory, never into the object, so both may be moved together. */
    memset(&made.settings, 0, sizeof made.settings);
    if (single) {
        cf_dirichlet_f32 *f = &made.settings.f32;
        f->classes = made.classes;
        f->gamma = (float)gamma;
        f->floor = (float)floor;
        f->anchor = (float)anchor;
        f->max_concentration = (float)max_concentration;
        f->mean = mean;
    } else {
        cf_dirichlet_f64 *f = &made.settings.f64;
        f->classes = made.classes;
        f->gamma = gamma;
        f->floor = floor;
        f->anchor = anchor;
        f->max_concentration = max_concentration;
        f->mean = mean;
    }
    status = CALL(&made, cf_dirichlet_prepare, ((void *)&made.settings, PyArray_DATA(array), made.prior_nu));
    if (status == CF_OK) {
        if (single)
            status = cf_dirichlet_start_f32(&made.settings.f32, PyArray_DATA(array), (float)prior_weight, made.start);
        else
            status = cf_dirichlet_start_f64(&made.settings.f64, PyArray_DATA(array), prior_weight, made.start);
    }
    Py_DECREF(array);
    if (status != CF_OK) {
        PyMem_Free(made.memory);
        PyErr_SetString(PyExc_ValueError, cf_strerror(status));
        return -1;
    }
    memcpy(made.state, made.start, state * size_of(&made));
    PyMem_Free(self->memory);
    self->single = made.single;
    self->classes = made.classes;
    self->settings = made.settings;
    self->memory = made.memory;
    self->state = made.state;
    self->start = made.start;
    self->prior_nu = made.prior_nu;
    self->observed = made.observed;
    self->scratch = made.scratch;
    return 0;
}

static void dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyMem_Free(((Dirichlet *)object)->memory);
    release(object);
    Py_DECREF(type);
}

PyDoc_STRVAR(update_doc, "update(probs, beta=1.0, dt=1.0)\n--\n\n"
"Let `dt` time units pass, then take one observation.\n\n"
"Parameters\n----------\n"
"probs : array_like, shape (K,)\n    Class probabilities reported by a classifier. All NaN: nothing seen, only time passes.\n"
"beta : float\n    Weight of the classifier, 0 (ignore) to 1 (trust fully).\n"
"dt : float\n    Time since the last update.\n\n"
"Returns\n-------\nndarray, shape (K,)\n    The filtered class probabilities.\n");

PyDoc_STRVAR(run_doc, "run(probs, beta=1.0, dt=1.0)\n--\n\n"
"Update with every row in turn: exactly a loop of `update`, to the bit.\n\n"
"Parameters\n----------\n"
"probs : array_like, shape (T, K)\n    One observation a row.\n"
"beta, dt : float or array_like, shape (T,)\n    For all rows, or one a row; as in `update`.\n\n"
"Returns\n-------\nndarray, shape (T, K)\n    The filtered class probabilities after each row.\n");

static PyMethodDef methods[] = {
    {"update", (PyCFunction)(void (*)(void))update, METH_FASTCALL | METH_KEYWORDS, update_doc},
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL | METH_KEYWORDS, run_doc},
    {"reset", reset, METH_NOARGS, "reset()\n--\n\nReturn to the state before any data."},
    {"_restore", restore, METH_VARARGS, "_restore(eta, alpha)\n--\n\nSet the state."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"probs", get_probs, NULL, "The current class probabilities, shape (K,).", NULL},
    {"alpha", get_alpha, NULL, "Parameters of the current Dirichlet distribution, shape (K,).", NULL},
    {"eta", get_eta, NULL, "How many observations the memory is worth.", NULL},
    {"nu", get_nu, NULL, "nu_i = eta (digamma(sum alpha) - digamma(alpha_i)), shape (K,).", NULL},
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

static PyType_Spec spec = {"classfilter._core.Dirichlet", sizeof(Dirichlet), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           slots};

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

static PyMethodDef functions[] = {
    {"log", log_, METH_O, "log(x)\n--\n\nThe core's logarithm, in the precision of x."},
    {"exp", exp_, METH_O, "exp(x)\n--\n\nThe core's exponential of x <= 0, in the precision of x."},
    {"digamma", digamma, METH_O, "digamma(x)\n--\n\nThe core's digamma function, in the precision of x."},
    {"trigamma", trigamma, METH_O, "trigamma(x)\n--\n\nThe core's trigamma function, in the precision of x."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_core", "The compiled core of classfilter.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *made, *type;
    import_array();
    made = PyModule_Create(&module);
    if (made == NULL) return NULL;
    type = PyType_FromSpec(&spec);
    if (type == NULL || PyModule_AddObject(made, "Dirichlet", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
