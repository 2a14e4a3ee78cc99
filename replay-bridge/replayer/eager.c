/*
 * Keeping eager messages out of a list of SimGrid's, in libti-smpi-preload.so.
 *
 * SimGrid 3.32 has a list of all messages whose sender does not wait for them.  It searches all of
 * that list whenever one of them arrives, so that the cost of an event grows with the number of
 * messages under way; in a wavefront in which ranks run ahead of slower ones, that is most of the
 * time.  Only a host that fails needs the list, and no host of a replay fails.
 *
 * CommImpl::detach() appends a message to the list.  The one here calls SimGrid's, and takes the
 * node of the list that it makes before it is linked.  Nothing but the list's own counter, which
 * nobody reads, tells the difference: simulated times are equal in all digits.  Mailboxes and
 * receivers keep a message alive while it is under way.
 *
 * Functions have the names that C++ gives them.  SimGrid 3.34 and later keep a tree instead of a
 * list; then no node is taken.  Neither is one where SimGrid calls its function in another way.
 * SimGrid 4.0 and 4.1 do not even call this detach(), and do not need it: in a replay of 16,384
 * ranks, 4.1 spends between 1 and 2 % of the time in that tree.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* A node of std::list, and of a list of boost::intrusive_ptr. */
struct node {
    struct node *next, *prev;
};
struct holder {
    struct node node;
    void *message;
};

static struct node *taken;
static bool detaching;

#define NAME_HOOK    _ZNSt8__detail15_List_node_base7_M_hookEPS0_
#define NAME_DETACH  _ZN7simgrid6kernel8activity8CommImpl6detachEv
#define NAME_RELEASE _ZN7simgrid6kernel8activity21intrusive_ptr_releaseEPNS1_12ActivityImplE
#define NAME_DELETE  _ZdlPv
#define TEXT_(name)  #name
#define TEXT(name)   TEXT_(name)

void NAME_HOOK(struct node *node, struct node *before);
void *NAME_DETACH(void *message);

/* std::__detail::_List_node_base::_M_hook(): links `node` into a list. */
void NAME_HOOK(struct node *node, struct node *before)
{
    if (detaching && !taken) {
        taken = node;
        return;
    }
    node->next = before;
    node->prev = before->prev;
    before->prev->next = node;
    before->prev = node;
}

/* simgrid::kernel::activity::CommImpl::detach() */
void *NAME_DETACH(void *message)
{
    static void *(*detach)(void *);
    static void (*release)(void *), (*delete)(void *);

    if (!detach) {
        *(void **)&detach = dlsym(RTLD_NEXT, TEXT(NAME_DETACH));
        *(void **)&release = dlsym(RTLD_NEXT, TEXT(NAME_RELEASE));
        *(void **)&delete = dlsym(RTLD_DEFAULT, TEXT(NAME_DELETE));
    }
    detaching = release && delete;
    detach(message);
    detaching = false;
    if (taken) {
        release(((struct holder *)taken)->message);
        delete (taken);
        taken = NULL;
    }
    return message;
}
