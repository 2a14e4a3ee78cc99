/*
 * Preloaded: an OTF2 library that never comes back from opening a trace.  It makes the file STUCK,
 * so that a test knows when it is there; without that, it aborts.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void *OTF2_Reader_Open(const char *path);

void *OTF2_Reader_Open(const char *path)
{
    const char *name = getenv("STUCK");

    (void)path;
    if (!name)
        abort();
    close(creat(name, 0666));
    for (;;)
        sleep(1);
}
