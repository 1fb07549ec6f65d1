// Copyright 2026 The ilr_dynamics contributors
// SPDX-License-Identifier: Apache-2.0
//
// The predictive mixture for Python: arrays in and out, over the mathematics in mixture.h.
//
// Arrays are used where they lie, also in a file that is mapped into memory, and never written to. No
// memory is allocated for few inputs: an object has scratch memory, and a thread that calls while
// another one works takes its own. Many rows are worked on without the interpreter's lock, few with
// it: to give it away and get it back may take longer than these.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "mixture_arrays.h"
#include "mixture_rows.h"

// ilr_dynamics.exceptions.InvalidDataError.
static PyObject *InvalidDataError;

typedef struct {
    PyObject_HEAD
    Mixture mixture;
    Py_buffer views[N_ARRAYS];
    Scratch *spare;
} MixtureObject;

// Of inputs in standard units. Torques of an arm are products of two velocities, their variances of
// four, and polynomials of more: sums of all these, and of their squares, stay finite.
static const double LARGEST_INPUT = 1e30;
enum { CACHE_LINE = 64 };

// ---------------------------------------------------------------- scratch memory

// The next so many numbers of some memory, on a cache line of their own.
static double *take(char **memory, size_t n)
{
    double *taken = (double *)*memory;
    *memory += (n * sizeof(double) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return taken;
}

static Scratch *new_scratch(const Mixture *self)
{
    // As many as blocks have room for, should a damaged file name some twice.
    size_t k = (size_t)self->k + LANES, n_inputs = size_of_inputs(self, LANES);
    size_t n_means = k * (size_t)(self->d * LANES);
    size_t n_candidates = k * sizeof(Candidate) / sizeof(double);
    size_t n_ranks = k * sizeof(Rank) / sizeof(double), n_numbers = (size_t)(self->b * LANES);
    size_t n = n_inputs + n_means + n_candidates + n_ranks + n_numbers;
    Scratch *scratch = PyMem_RawMalloc(sizeof *scratch + n * sizeof(double) + 8 * CACHE_LINE);
    if (!scratch) {
        PyErr_NoMemory();
        return NULL;
    }
    char *memory = (char *)(((uintptr_t)(scratch + 1) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    scratch->inputs.memory = take(&memory, n_inputs);
    scratch->candidates.candidates = (Candidate *)take(&memory, n_candidates);
    scratch->candidates.means = take(&memory, n_means);
    scratch->screened.numbers = (ptrdiff_t *)take(&memory, n_numbers);
    scratch->ranks = (Rank *)take(&memory, n_ranks);
    return scratch;
}

// Holding the interpreter's lock: the spare one, or a new one if that is in use.
static Scratch *take_scratch(MixtureObject *object)
{
    Scratch *scratch = object->spare;
    object->spare = NULL;
    return scratch ? scratch : new_scratch(&object->mixture);
}

static void give_scratch(MixtureObject *object, Scratch *scratch)
{
    if (object->spare) PyMem_RawFree(scratch);
    else object->spare = scratch;
}

// ---------------------------------------------------------------- methods

PyDoc_STRVAR(check_doc,
"check(X)\n--\n\nRaise InvalidDataError if an input, in physical units, is not finite or too large.");

static PyObject *Mixture_check(PyObject *self, PyObject *X_)
{
    const Mixture *mixture = &((MixtureObject *)self)->mixture;
    const double *location = mixture->of[INPUT_LOCATION], *scale = mixture->of[INPUT_SCALE];
    Py_buffer view;
    if (!view_of(X_, "X", "d", -1, 0, &view)) return NULL;
    const double *x = view.buf;
    ptrdiff_t n = view.len / (ptrdiff_t)sizeof(double) / mixture->m, row = 0;
    for (int is_sound = 1; row < n && is_sound; row += is_sound, x += mixture->m)
        for (ptrdiff_t i = 0; i < mixture->m; i++)
            is_sound &= fabs((x[i] - location[i]) / scale[i]) < LARGEST_INPUT;
    PyBuffer_Release(&view);
    if (row == n) Py_RETURN_NONE;
    return PyErr_Format(InvalidDataError, "inputs must be finite and lie less than 1e+30 scales from "
                        "the location; row %zd does not", row);
}

// Answer what is given; 0 with an error if there is no memory for it.
static int answer(MixtureObject *object, const GivenViews *from, Answers *answers)
{
    const Mixture *mixture = &object->mixture;
    Scratch *scratch = take_scratch(object);
    if (!scratch) return 0;
    if (from->n <= LANES) {
        answer_rows(mixture, scratch, &from->given, NULL, from->n, answers);
    } else {
        Py_BEGIN_ALLOW_THREADS
        Place *places = ordered(mixture, from->given.of[X], from->n);
        answer_rows(mixture, scratch, &from->given, places, from->n, answers);
        free(places);
        Py_END_ALLOW_THREADS
    }
    give_scratch(object, scratch);
    return 1;
}

PyDoc_STRVAR(moments_doc,
"moments(X, features, mean, factor, doubt, unlearnable, most_probable, answer)\n--\n\n"
"Moments of the mixture, or of its most probable component, at rows of inputs in physical units.\n\n"
"Inputs must have passed `check`. Fills rows of `answer` with mean, standard deviation and doubt of\n"
"each output, weight of the unseen component and number of the heaviest (-1: the unseen). What a\n"
"global model predicts, or None, is as in GlobalPrediction.");

static PyObject *Mixture_moments(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    MixtureObject *object = (MixtureObject *)self;
    const Mixture *mixture = &object->mixture;
    GivenViews from;
    Py_buffer view;
    if (n_arguments != 8) return PyErr_Format(PyExc_TypeError, "expected 8 arguments, got %zd", n_arguments);
    Answers answers = {.most_probable = PyObject_IsTrue(arguments[6])};
    if (answers.most_probable < 0 || !take_given(mixture, arguments, &from)) return NULL;
    ptrdiff_t n_items = from.n * (3 * mixture->d + 2);
    int is_done = view_of(arguments[7], "answer", "d", n_items, PyBUF_WRITABLE, &view);
    if (is_done) {
        answers.moments = view.buf;
        is_done = answer(object, &from, &answers);
        PyBuffer_Release(&view);
    }
    release_given(&from);
    if (!is_done) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(components_doc,
"components(X, features, mean, factor, doubt, unlearnable, least_weight, numbers, log_weights,\n"
"           factors, means, added)\n--\n\n"
"What components predict at rows of inputs, in standard units: all in order if `least_weight` is None,\n"
"else those of that weight, heaviest first, and of weight zero for the rest of a row.\n\n"
"Inputs must have passed `check`. Fills arrays of as many components a row as these have room for.\n"
"Returns how many any row has.");

static PyObject *Mixture_components(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments)
{
    static const char *NAMES[5] = {"numbers", "log_weights", "factors", "means", "added"};
    MixtureObject *object = (MixtureObject *)self;
    const Mixture *mixture = &object->mixture;
    if (n_arguments != 12) return PyErr_Format(PyExc_TypeError, "expected 12 arguments, got %zd", n_arguments);
    Answers answers = {.all = arguments[6] == Py_None};
    if (!answers.all) {
        double least = PyFloat_AsDouble(arguments[6]);
        if (PyErr_Occurred()) return NULL;
        answers.least_log_weight = log(least);
    }
    GivenViews from;
    if (!take_given(mixture, arguments, &from)) return NULL;
    Py_buffer views[5];
    int n_views = 0, is_done = 1;
    for (; n_views < 5 && is_done; n_views += is_done) {
        ptrdiff_t each = n_views < 3 ? 1 : mixture->d;
        is_done = view_of(arguments[7 + n_views], NAMES[n_views], n_views ? "d" : "q",
                          n_views ? from.n * answers.room * each : -1, PyBUF_WRITABLE, &views[n_views]);
        if (is_done && !n_views) {
            answers.room = from.n ? views[0].len / (ptrdiff_t)sizeof(int64_t) / from.n : 0;
            if (answers.room * from.n * (ptrdiff_t)sizeof(int64_t) != views[0].len) {
                PyErr_SetString(PyExc_ValueError, "numbers must have as many rows as X");
                PyBuffer_Release(&views[0]);
                is_done = 0;
            }
        }
    }
    if (is_done) {
        answers.numbers = views[0].buf;
        answers.log_weights = views[1].buf;
        answers.factors = views[2].buf;
        answers.means = views[3].buf;
        answers.added = views[4].buf;
        is_done = answer(object, &from, &answers);
    }
    while (n_views > 0) PyBuffer_Release(&views[--n_views]);
    release_given(&from);
    return is_done ? PyLong_FromSsize_t(answers.needed) : NULL;
}

// ---------------------------------------------------------------- making one

static PyObject *Mixture_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *arrays;
    int learns_residual;
    double unseen_spread;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "expected no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O!pd", &PyDict_Type, &arrays, &learns_residual, &unseen_spread))
        return NULL;
    MixtureObject *object = (MixtureObject *)type->tp_alloc(type, 0);
    if (!object) return NULL;
    Mixture *mixture = &object->mixture;
    for (int index = 0; index < N_ARRAYS; index++) {
        PyObject *array = PyDict_GetItemString(arrays, ARRAYS[index].name);
        if (!array && index == RESIDUAL_RATES) continue;
        if (!array) PyErr_Format(PyExc_ValueError, "%s is missing", ARRAYS[index].name);
        if (!array || !take_array(mixture, index, array, &object->views[index])) goto refused;
    }
    if (mixture->q <= mixture->m) PyErr_SetString(PyExc_ValueError, "maps have too few columns");
    if (mixture->q <= mixture->m || !check_indices(mixture)) goto refused;
    size_t n_bounds = (size_t)(mixture->k + mixture->d + mixture->b + LANES);
    double *memory = PyMem_RawMalloc(n_bounds * sizeof(double));
    if (!memory) PyErr_NoMemory();
    if (!memory) goto refused;
    bound_impacts(mixture, memory);
    mixture->unseen_variance = unseen_spread * unseen_spread;
    mixture->learns_residual = learns_residual;
    object->spare = new_scratch(mixture);
    if (object->spare) return (PyObject *)object;
refused:
    Py_DECREF(object);
    return NULL;
}

static void Mixture_dealloc(PyObject *self)
{
    MixtureObject *object = (MixtureObject *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int index = 0; index < N_ARRAYS; index++)
        if (object->views[index].obj) PyBuffer_Release(&object->views[index]);
    PyMem_RawFree(object->mixture.log_impacts);
    PyMem_RawFree(object->spare);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef METHODS[] = {
    {"check", Mixture_check, METH_O, check_doc},
    {"moments", (PyCFunction)(void (*)(void))Mixture_moments, METH_FASTCALL, moments_doc},
    {"components", (PyCFunction)(void (*)(void))Mixture_components, METH_FASTCALL, components_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_doc, "Mixture(arrays, learns_residual, unseen_spread)\n--\n\n"
                "Predictive mixture over named arrays of PredictiveMixture, Screening and Transforms."},
    {Py_tp_new, Mixture_new},
    {Py_tp_dealloc, Mixture_dealloc},
    {Py_tp_methods, METHODS},
    {0, NULL},
};

static PyType_Spec SPEC = {
    "ilr_dynamics.regression.prediction._mixture.Mixture", sizeof(MixtureObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, SLOTS};

static int add_contents(PyObject *module)
{
    PyObject *exceptions = PyImport_ImportModule("ilr_dynamics.exceptions");
    if (!exceptions) return -1;
    Py_XSETREF(InvalidDataError, PyObject_GetAttrString(exceptions, "InvalidDataError"));
    Py_DECREF(exceptions);
    if (!InvalidDataError) return -1;
    PyObject *type = PyType_FromSpec(&SPEC);
    int status = type ? PyModule_AddObjectRef(module, "Mixture", type) : -1;
    Py_XDECREF(type);
    if (!status) status = PyModule_AddIntConstant(module, "LANES", LANES);
    if (!status) status = PyModule_AddIntConstant(module, "MOST_ROWS", MOST_ROWS);
    if (!status) status = PyModule_AddIntConstant(module, "MOST_COORDINATES", MOST_COORDINATES);
    return status;
}

static PyModuleDef_Slot MODULE_SLOTS[] = {{Py_mod_exec, add_contents}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_mixture", .m_doc = "The predictive mixture, compiled.",
    .m_slots = MODULE_SLOTS};

PyMODINIT_FUNC PyInit__mixture(void) { return PyModuleDef_Init(&MODULE); }
