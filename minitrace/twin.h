/*
 * The MPI library's Fortran functions, called from our shims.
 *
 * Our references to them are weak, because a C program has no MPI for Fortran.
 * They are resolved when we are loaded.  Where a C program later loads a part
 * that is written in Fortran (a plug-in, a Python module), they are still NULL,
 * although that part's MPI calls come to us.  The function is then looked up
 * where our caller would have found it.
 */
#ifndef TI_TWIN_H
#define TI_TWIN_H

#include <dlfcn.h>
#include <stddef.h>

/* The function `name` among what the object that contains `caller` is linked
 * with; NULL if it is not there.  Not inline: its local variables would keep
 * ti_leave() from being a jump (see record.h). */
static __attribute__((noinline, unused)) void *ti__twin_late(const char *name, const void *caller)
{
    Dl_info info;
    void *object;
    void *found;

    if (!dladdr(caller, &info))
        return NULL;
    object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!object)
        return NULL;
    found = dlsym(object, name);
    dlclose(object);
    return found;
}

/* Call a shim's twin: TI_TWIN(pmpi_send_)(buf, ...).  Only in the shim itself,
 * whose return address tells the caller. */
#define TI_TWIN(function)                                                                          \
    (function ? &(function)                                                                        \
              : (__typeof__(&(function)))ti__twin_late(#function, __builtin_return_address(0)))

#endif
