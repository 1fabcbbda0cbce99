/* SPDX-License-Identifier: MIT */
/* The module classfilter._core. */
#define CF_MODULE
#include "binding.h"

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_core", "The compiled core of classfilter.", -1, functions, NULL, NULL, NULL, NULL};

static int add_type(PyObject *to, PyType_Spec *of, const char *name) {
    PyObject *type = PyType_FromSpec(of);
    if (type == NULL || PyModule_AddObject(to, name, type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    return 0;
}

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *core;
    import_array();
    core = PyModule_Create(&module);
    if (core == NULL) return NULL;
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(core, Py_MOD_GIL_NOT_USED);
#endif
    if (add_type(core, &dirichlet_spec, "Dirichlet") < 0 || add_type(core, &sticky_spec, "Sticky") < 0 ||
        add_type(core, &adaptive_spec, "Adaptive") < 0 || add_type(core, &events_spec, "EventRule") < 0) {
        Py_DECREF(core);
        return NULL;
    }
    return core;
}
