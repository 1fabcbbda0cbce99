/* The binding: argument checks, conversions and messages; no mathematics. */
#include "_binding.h"

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
    PyArrayObject *out;
    Rows rows;
    void *scratch, *state;
    size_t row = 0;
    cf_status status;
    if (!ready(self) || three_arguments("run", args, nargs, names, given) < 0) return NULL;
    if (take_rows(self, given[0], given[1], given[2], &rows) < 0) return NULL;
    out = (PyArrayObject *)PyArray_SimpleNew(2, PyArray_DIMS(rows.probs), type_of(self));
    /* Its own memory: while the GIL is free, others may use the filter. */
    scratch = PyMem_Malloc((CF_DIRICHLET_STATE(self->classes) + CF_DIRICHLET_SCRATCH(self->classes)) * size_of(self));
    if (out == NULL || scratch == NULL) {
        if (out != NULL) PyErr_NoMemory();
        goto done;
    }
    state = at(self, scratch, CF_DIRICHLET_SCRATCH(self->classes));
    memcpy(state, self->state, CF_DIRICHLET_STATE(self->classes) * size_of(self));
    Py_BEGIN_ALLOW_THREADS
    status = CALL(self, cf_dirichlet_run,
                  ((void *)&self->settings, state, rows.count, PyArray_DATA(rows.probs), PyArray_DATA(rows.beta),
                   rows.beta_stride, PyArray_DATA(rows.dt), rows.dt_stride, PyArray_DATA(out), scratch, &row));
    Py_END_ALLOW_THREADS
    if (status == CF_OK) {
        memcpy(self->state, state, CF_DIRICHLET_STATE(self->classes) * size_of(self));
        result = (PyObject *)out;
        Py_INCREF(result);
    } else {
        raise_row(self, status, &rows, row);
    }
done:
    PyMem_Free(scratch);
    Py_XDECREF(out);
    release_rows(&rows);
    return result;
}

/* _update_many(states, which, probs, beta, dt, out, start, stop): rows start to stop of an update of many streams. With
   states None the rows are only checked. */
static PyObject *update_many(PyObject *object, PyObject *args) {
    Dirichlet *self = (Dirichlet *)object;
    PyObject *states, *which, *probs, *beta, *dt, *out;
    Py_ssize_t start, stop;
    Rows rows;
    size_t first, count, row = 0;
    void *scratch;
    cf_status status;
    if (!ready(self) || !PyArg_ParseTuple(args, "OOOOOOnn:_update_many", &states, &which, &probs, &beta, &dt, &out, &start,
                                          &stop))
        return NULL;
    scratch = PyMem_Malloc(CF_DIRICHLET_SCRATCH_MANY(self->classes) * size_of(self));
    if (scratch == NULL) return PyErr_NoMemory();
    if (take_rows(self, probs, beta, dt, &rows) < 0) {
        PyMem_Free(scratch);
        return NULL;
    }
    first = (size_t)start;
    count = (size_t)(stop - start);
    Py_BEGIN_ALLOW_THREADS
    if (states == Py_None) {
        status = CALL(self, cf_dirichlet_check,
                      ((void *)&self->settings, count, probs_at(self, &rows, first), beta_at(self, &rows, first),
                       rows.beta_stride, dt_at(self, &rows, first), rows.dt_stride, &row));
    } else {
        const size_t *numbers = which == Py_None ? NULL : (const size_t *)PyArray_DATA((PyArrayObject *)which) + first;
        void *block = at(self, PyArray_DATA((PyArrayObject *)states),
                         numbers == NULL ? first * CF_DIRICHLET_STATE(self->classes) : 0);
        status = CALL(self, cf_dirichlet_many,
                      ((void *)&self->settings, block, numbers, count, probs_at(self, &rows, first),
                       beta_at(self, &rows, first), rows.beta_stride, dt_at(self, &rows, first), rows.dt_stride,
                       at(self, PyArray_DATA((PyArrayObject *)out), first * self->classes), scratch, &row));
    }
    Py_END_ALLOW_THREADS
    if (status != CF_OK) raise_row(self, status, &rows, first + row);
    PyMem_Free(scratch);
    release_rows(&rows);
    if (status != CF_OK) return NULL;
    Py_RETURN_NONE;
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

PyDoc_STRVAR(update_doc, "update($self, probs, beta=1.0, dt=1.0)\n--\n\n"
"Let `dt` time units pass, then take one observation.\n\n"
"Parameters\n----------\n"
"probs : array_like, shape (K,)\n    Class probabilities reported by a classifier. All NaN: nothing seen, only time passes.\n"
"beta : float\n    Weight of the classifier, 0 (ignore) to 1 (trust fully).\n"
"dt : float\n    Time since the last update.\n\n"
"Returns\n-------\nndarray, shape (K,)\n    The filtered class probabilities.\n");

PyDoc_STRVAR(run_doc, "run($self, probs, beta=1.0, dt=1.0)\n--\n\n"
"Update with every row in turn: exactly a loop of `update`, to the bit.\n\n"
"Parameters\n----------\n"
"probs : array_like, shape (T, K)\n    One observation a row.\n"
"beta, dt : float or array_like, shape (T,)\n    For all rows, or one a row; as in `update`.\n\n"
"Returns\n-------\nndarray, shape (T, K)\n    The filtered class probabilities after each row.\n");

static PyMethodDef methods[] = {
    {"update", (PyCFunction)(void (*)(void))update, METH_FASTCALL | METH_KEYWORDS, update_doc},
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL | METH_KEYWORDS, run_doc},
    {"reset", reset, METH_NOARGS, "reset($self, /)\n--\n\nReturn to the state before any data."},
    {"_update_many", update_many, METH_VARARGS,
     "_update_many($self, states, which, probs, beta, dt, out, start, stop, /)\n--\n\nUpdate some of many streams; see bank.py."},
    {"_restore", restore, METH_VARARGS, "_restore($self, eta, alpha, /)\n--\n\nSet the state."},
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
    {"log", log_, METH_O, "log($module, x, /)\n--\n\nThe core's logarithm, in the precision of x."},
    {"exp", exp_, METH_O, "exp($module, x, /)\n--\n\nThe core's exponential of x <= 0, in the precision of x."},
    {"digamma", digamma, METH_O, "digamma($module, x, /)\n--\n\nThe core's digamma function, in the precision of x."},
    {"trigamma", trigamma, METH_O, "trigamma($module, x, /)\n--\n\nThe core's trigamma function, in the precision of x."},
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
