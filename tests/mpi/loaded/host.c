/* Loads the plug-ins named by its arguments and runs the first; knows nothing of MPI.
 * Goes elsewhere before, as programs do. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;

    for (int i = 2; i < argc; i++)
        if (!dlopen(argv[i], RTLD_NOW | RTLD_LOCAL))
            return 1;
    if (!run || chdir("/") != 0) {
        fprintf(stderr, "cannot load the plug-in: %s\n", dlerror());
        return 1;
    }
    return run();
}
