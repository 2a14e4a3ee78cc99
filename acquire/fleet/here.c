#include "acquire/fleet/here.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

/* --- our address --------------------------------------------------------- */

/* Whether an address is in "NAME" or "A.B.C.D/BITS", the first `n` bytes of `network`. */
static bool is_in(const struct ifaddrs *i, const char *network, size_t n)
{
    uint32_t address = ntohl(((const struct sockaddr_in *)i->ifa_addr)->sin_addr.s_addr);
    const char *slash = memchr(network, '/', n);
    struct in_addr net;
    char text[64];
    int bits;

    if (!slash)
        return strlen(i->ifa_name) == n && memcmp(i->ifa_name, network, n) == 0;
    snprintf(text, sizeof text, "%.*s", (int)(slash - network), network);
    if (inet_pton(AF_INET, text, &net) != 1 || sscanf(slash + 1, "%d", &bits) != 1 || bits < 1 ||
        bits > 32)
        return false;
    return (address ^ ntohl(net.s_addr)) >> (32 - bits) == 0;
}

static bool by_network(const char *networks, char text[INET_ADDRSTRLEN])
{
    struct ifaddrs *list = NULL;
    bool found = false;

    if (getifaddrs(&list) < 0)
        return false;
    for (const char *at = networks; *at && !found; at += strcspn(at, ","), at += *at == ',')
        for (struct ifaddrs *i = list; i && !found; i = i->ifa_next)
            found = i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
                    is_in(i, at, strcspn(at, ",")) &&
                    inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, text,
                              INET_ADDRSTRLEN);
    freeifaddrs(list);
    return found;
}

/* The address that the kernel would send from; nothing is sent. */
static bool by_route(const char *host, char text[INET_ADDRSTRLEN])
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *list = NULL;
    struct sockaddr_in from;
    socklen_t bytes = sizeof from;
    bool found = false;
    int fd;

    if (getaddrinfo(host, "9", &hints, &list) != 0)
        return false;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    found = fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0 &&
            getsockname(fd, (struct sockaddr *)&from, &bytes) == 0 &&
            inet_ntop(AF_INET, &from.sin_addr, text, INET_ADDRSTRLEN);
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return found;
}

bool ti_here_address(const char *networks, const char *host, char text[INET_ADDRSTRLEN])
{
    return (networks && by_network(networks, text)) || by_route(host, text);
}
