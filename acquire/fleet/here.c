#include "acquire/fleet/here.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "node/launch.h"

#define RESOLVE_S 2.0

void ti_here_begin(struct ti_here *h)
{
    memset(h, 0, sizeof *h);
    if (gethostname(h->host, sizeof h->host - 1) < 0)
        h->host[0] = '\0';
    h->until = ti_now() + RESOLVE_S;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (!a || !b || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

static bool is_ours(const struct sockaddr *address)
{
    struct ifaddrs *list = NULL;
    bool ours = false;

    if (getifaddrs(&list) < 0)
        return false;
    for (struct ifaddrs *i = list; i && !ours; i = i->ifa_next)
        ours = same_address(i->ifa_addr, address);
    freeifaddrs(list);
    return ours;
}

static bool resolves_to_us(const char *name)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    bool ours = false;

    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return false;
    for (struct addrinfo *a = list; a && !ours; a = a->ai_next)
        ours = is_ours(a->ai_addr);
    freeaddrinfo(list);
    return ours;
}

bool ti_here_is(struct ti_here *h, const char *name, bool reached_directly)
{
    if (!reached_directly)
        return false;
    if (strcmp(name, h->host) == 0 || strcmp(name, "localhost") == 0)
        return true;
    return ti_now() < h->until && resolves_to_us(name);
}
