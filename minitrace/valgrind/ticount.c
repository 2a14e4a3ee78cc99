/*
 * ticount: a valgrind tool that counts the instructions of each thread.
 *
 * Valgrind passes every superblock to instrument() before it first runs.  A superblock is
 * straight-line code with exits; each IMark in it is the start of one instruction.  So the
 * number of executed instructions is known for every exit at translation time, and an exit
 * costs one addition to a word of memory.
 *
 *   - The instructions of a block are added before each of its exits and at its end, never
 *     in between.  So code that loads the word sees the count at the start of its own
 *     superblock.  Calls and jumps, direct or not, end a block (guest_chase is off), so a
 *     load before a function's first branch and within its first 60 instructions reads
 *     the count at its entry.
 *   - guest_chase is off for exactness, too: chasing merges "a && b" into one block whose
 *     second half is executed under a guard, while its IMarks look unconditional.
 *     Unrolling is off because it makes a second exit of a self-loop, which the next rule
 *     would misread.
 *   - An instruction that exits to its own address has not finished: it is one more round
 *     of a rep prefix, or a locked instruction that lost against another process.  It
 *     counts when it moves on, so that a rep instruction counts once, as on hardware.
 *     Branches to themselves do count.
 *   - Not counted: the instructions before a faulting one in its block, because the guest's
 *     signal handler runs without an exit having been taken.  A client request, five
 *     instructions long, counts as one.
 *
 * This file is linked with valgrind's core, whose licence (GPL 2 or later) applies to the
 * resulting program.
 */
#include <pub_tool_basics.h>

#include <pub_tool_clreq.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_options.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_tooliface.h>

#include "minitrace/valgrind/ticount.h"

static Bool clo_report = False;
static Bool clo_outside = False;

#define NOWHERE (~(Addr)0)

/* A thread's count outside MPI's functions. */
struct outside {
    ULong count; /* up to its last entry into MPI */
    ULong since; /* its instruction count when it last left MPI */
    Addr bound;  /* inside MPI: the stack pointer on entry; else NOWHERE */
};

struct thread {
    ULong own;
    struct outside outside;
    ULong marked, seen; /* `own` at the last MARK; `own` at the last LONGEST */
};

/* State of the running thread, with the sum of all others.  The first three words are what the
 * process reads (ticount.h). */
static struct {
    ULong own, others;
    struct outside outside;
} live;
static ThreadId running = VG_INVALID_THREADID;

/* State of all other threads, by thread id.  An id that was reused has the state of its latest
 * thread. */
static struct thread *threads;
static ThreadId last_thread; /* highest thread id so far */

/* The largest count since the last MARK of a thread that has ended and whose id was reused; and
 * its value at the last LONGEST. */
static ULong ended, ended_seen;

/* --- threads ------------------------------------------------------------- */

static void start_client_code(ThreadId tid, ULong blocks_dispatched)
{
    (void)blocks_dispatched;
    if (tid == running)
        return;
    threads[running].own = live.own;
    threads[running].outside = live.outside;
    live.others += live.own - threads[tid].own;
    live.own = threads[tid].own;
    live.outside = threads[tid].outside;
    running = tid;
}

static void clear(struct thread *thread)
{
    *thread = (struct thread){0, {clo_outside ? 0 : TI_TICOUNT_NO_OUTSIDE, 0, NOWHERE}, 0, 0};
}

static void pre_thread_create(ThreadId parent, ThreadId child)
{
    (void)parent;
    tl_assert(child != running);
    if (threads[child].own - threads[child].marked > ended)
        ended = threads[child].own - threads[child].marked;
    clear(&threads[child]);
    if (child > last_thread)
        last_thread = child;
}

/* The largest count of one thread other than the running one, since the last MARK. */
static ULong longest(void)
{
    ULong most = ended;
    ThreadId i;

    ended_seen = ended;
    threads[running].own = live.own;
    for (i = 0; i <= last_thread; i++) {
        ULong since = threads[i].own - threads[i].marked;

        threads[i].seen = threads[i].own;
        if (i != running && since > most)
            most = since;
    }
    return most;
}

static void mark(void)
{
    ThreadId i;

    for (i = 0; i <= last_thread; i++)
        threads[i].marked = threads[i].seen;
    if (ended == ended_seen)
        ended = 0;
}

/* --- outside of MPI ------------------------------------------------------ */

/*
 * A thread is inside MPI from the first instruction of the MPI function that it calls, until
 * its stack is shorter than it was there: the return address is gone then, because the
 * function returned, or was left by longjmp() or an exception.  Everything that MPI calls,
 * including the application's callbacks and signal handlers, has a longer stack.  So each
 * block compares the stack pointer first.
 */

/* For the report: the first thread's count outside MPI, from MPI_Init to MPI_Finalize. */
static struct {
    ULong start, count;
    Bool started, ended;
} span;

enum { ANY = 1, INIT, FINALIZE };

/* Called at the entry of an MPI function, where `sp` points to the return address.  The call
 * instruction itself is part of no burst, and is taken out here too. */
static void enter_mpi(Addr sp, UWord which)
{
    if (live.outside.bound != NOWHERE)
        return;
    live.outside.bound = sp;
    live.outside.count += live.own - live.outside.since - 1;
    if (which == INIT) {
        span.start = live.outside.count;
        span.started = True;
    } else if (which == FINALIZE && span.started) {
        span.count = live.outside.count - span.start;
        span.ended = True;
    }
}

/* Called when the stack pointer is above the bound. */
static void leave_mpi(Addr sp)
{
    ThreadId tid = VG_(get_running_tid)();
    Addr signals = VG_(thread_get_altstack_min)(tid);
    SizeT size = VG_(thread_get_altstack_size)(tid);

    if (sp - signals < size && live.outside.bound - signals >= size)
        return; /* a signal handler on an alternate stack */
    live.outside.bound = NOWHERE;
    live.outside.since = live.own;
}

static HChar lower(HChar c)
{
    return c >= 'A' && c <= 'Z' ? (HChar)(c - 'A' + 'a') : c;
}

/* Whether two names of a Fortran function are the same.  Compilers write MPI_SEND, mpi_send,
 * mpi_send_ or mpi_send__. */
static Bool same_name(const HChar *a, const HChar *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    while (*a == '_')
        a++;
    while (*b == '_')
        b++;
    return !*a && !*b;
}

/* The kind of MPI function that starts at this address: 0 (none), ANY, INIT or FINALIZE. */
static UWord mpi_entry(Addr addr)
{
    static const HChar *const names[] = {
#define NAME(mpi, pmpi) #mpi,
#include "minitrace/mpi_names.inc"
    };
    const HChar *name;
    UInt i;

    if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), addr, &name))
        return 0;
    if (lower(*name) == 'p')
        name++;
    if (lower(name[0]) != 'm' || lower(name[1]) != 'p' || lower(name[2]) != 'i' || name[3] != '_')
        return 0;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (same_name(name, names[i])) {
            name += 4;
            if (same_name(name, "init") || same_name(name, "init_f08") ||
                same_name(name, "init_thread") || same_name(name, "init_thread_f08"))
                return INIT;
            if (same_name(name, "finalize") || same_name(name, "finalize_f08"))
                return FINALIZE;
            return ANY;
        }
    return 0;
}

static void emit_call(IRSB *sb, IRDirty *call, IRExpr *guard)
{
    if (guard)
        call->guard = guard;
    call->mFx = Ifx_Modify;
    call->mAddr = IRExpr_Const(IRConst_U64((HWord)&live));
    call->mSize = sizeof live;
    addStmtToIRSB(sb, IRStmt_Dirty(call));
}

/* Emit, at the start of the block at `addr`, the checks for leaving and entering MPI. */
static void emit_outside(IRSB *sb, Addr addr, const VexGuestLayout *layout)
{
    IRTemp bound = newIRTemp(sb->tyenv, Ity_I64);
    IRTemp sp = newIRTemp(sb->tyenv, Ity_I64);
    IRTemp above = newIRTemp(sb->tyenv, Ity_I1);
    UWord which = mpi_entry(addr);

    addStmtToIRSB(sb, IRStmt_WrTmp(sp, IRExpr_Get(layout->offset_SP, Ity_I64)));
    addStmtToIRSB(
        sb, IRStmt_WrTmp(bound, IRExpr_Load(Iend_LE, Ity_I64,
                                            IRExpr_Const(IRConst_U64((HWord)&live.outside.bound)))));
    addStmtToIRSB(sb, IRStmt_WrTmp(above, IRExpr_Binop(Iop_CmpLT64U, IRExpr_RdTmp(bound),
                                                       IRExpr_RdTmp(sp))));
    emit_call(sb,
              unsafeIRDirty_0_N(0, "leave_mpi", VG_(fnptr_to_fnentry)(leave_mpi),
                                mkIRExprVec_1(IRExpr_RdTmp(sp))),
              IRExpr_RdTmp(above));
    if (which)
        emit_call(sb,
                  unsafeIRDirty_0_N(
                      0, "enter_mpi", VG_(fnptr_to_fnentry)(enter_mpi),
                      mkIRExprVec_2(IRExpr_RdTmp(sp), IRExpr_Const(IRConst_U64(which)))),
                  NULL);
}

/* --- translation --------------------------------------------------------- */

/* One instruction of the block being translated. */
struct insn {
    Addr addr;
    Bool branch; /* a jump, call or loop, which has finished even if it goes to itself */
    Bool rep;    /* a string instruction with a repeat prefix */
};

static struct insn decode(Addr addr, UInt len)
{
    const UChar *p = (const UChar *)addr;
    const UChar *end = p + len;
    struct insn in = {addr, False, False};
    Bool repeated = False;

    for (; p < end; p++) {
        if (*p == 0xf2 || *p == 0xf3)
            repeated = True;
        else if (*p != 0x66 && *p != 0x67 && *p != 0xf0 && *p != 0x2e && *p != 0x36 && *p != 0x3e &&
                 *p != 0x26 && *p != 0x64 && *p != 0x65 && (*p & 0xf0) != 0x40)
            break;
    }
    if (p >= end)
        return in;
    in.rep = repeated && ((*p >= 0xa4 && *p <= 0xa7) || (*p >= 0xaa && *p <= 0xaf) ||
                          (*p >= 0x6c && *p <= 0x6f));
    in.branch = (*p & 0xf0) == 0x70 || (*p >= 0xe0 && *p <= 0xe3) || *p == 0xe8 || *p == 0xe9 ||
                *p == 0xeb || (*p == 0x0f && p + 1 < end && (p[1] & 0xf0) == 0x80);
    return in;
}

/* Emit: live.own += value, an I64 atom. */
static void emit_add(IRSB *sb, IRExpr *value)
{
    IRExpr *addr = IRExpr_Const(IRConst_U64((HWord)&live.own));
    IRTemp was = newIRTemp(sb->tyenv, Ity_I64);
    IRTemp is = newIRTemp(sb->tyenv, Ity_I64);

    addStmtToIRSB(sb, IRStmt_WrTmp(was, IRExpr_Load(Iend_LE, Ity_I64, addr)));
    addStmtToIRSB(sb, IRStmt_WrTmp(is, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(was), value)));
    addStmtToIRSB(sb, IRStmt_Store(Iend_LE, addr, IRExpr_RdTmp(is)));
}

static void emit_add_const(IRSB *sb, Long n)
{
    if (n != 0)
        emit_add(sb, IRExpr_Const(IRConst_U64((ULong)n)));
}

/* Emit: live.own += n, and one more if `guard` (an I1 atom) holds. */
static void emit_add_if(IRSB *sb, Long n, IRExpr *guard)
{
    IRTemp one = newIRTemp(sb->tyenv, Ity_I64);
    IRTemp sum;

    addStmtToIRSB(sb, IRStmt_WrTmp(one, IRExpr_Unop(Iop_1Uto64, guard)));
    if (n == 0) {
        emit_add(sb, IRExpr_RdTmp(one));
        return;
    }
    sum = newIRTemp(sb->tyenv, Ity_I64);
    addStmtToIRSB(sb, IRStmt_WrTmp(sum, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(one),
                                                     IRExpr_Const(IRConst_U64((ULong)n)))));
    emit_add(sb, IRExpr_RdTmp(sum));
}

/* --- AVX-512 ------------------------------------------------------------- */

/* Whether this is an AVX-512 instruction.  Instructions on vectors have the prefix EVEX; those on
 * masks are opcodes with AVX's prefix VEX. */
static Bool is_avx512(const UChar *p)
{
    UChar op;

    while (*p == 0x64 || *p == 0x65 || *p == 0x67)
        p++;
    if (*p == 0x62)
        return True;
    if (*p == 0xc5)
        op = p[2];
    else if (*p == 0xc4 && (p[1] & 0x1f) == 1)
        op = p[3];
    else
        return False;
    return (op >= 0x41 && op <= 0x4b) || (op >= 0x90 && op <= 0x93) || op == 0x98 || op == 0x99;
}

/* Called in place of an AVX-512 instruction.  The process gets SIGILL.  Valgrind's own message
 * about that would point to bugs of valgrind, and is silenced. */
static void report_avx512(Addr addr)
{
    static Bool said;
    const HChar *object = "?";

    if (said)
        return;
    said = True;
    VG_(get_objname)(VG_(current_DiEpoch)(), addr, &object);
    VG_(umsg)("ticount: an AVX-512 instruction, which valgrind does not know, at 0x%lx in %s\n",
              addr, object);
}

/* Emit the call, if a block ends with an instruction that cannot be translated. */
static void emit_unknown(IRSB *sb, const IRConst *addr)
{
    if (is_avx512((const UChar *)addr->Ico.U64))
        addStmtToIRSB(sb, IRStmt_Dirty(unsafeIRDirty_0_N(
                              0, "report_avx512", VG_(fnptr_to_fnentry)(report_avx512),
                              mkIRExprVec_1(IRExpr_Const(IRConst_U64(addr->Ico.U64))))));
}

/* --- instructions -------------------------------------------------------- */

/* Whether the exit of `in` to `to` leaves the instruction unfinished. */
static Bool is_unfinished(const struct insn *in, const IRConst *to)
{
    return !in->branch && to->tag == Ico_U64 && to->Ico.U64 == in->addr;
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                        IRType host_word)
{
    IRSB *out = deepCopyIRSBExceptStmts(in);
    struct insn insn = {0, False, False};
    Long before = 0; /* instructions of this block before `insn` */
    Long added = 0;  /* what the code emitted so far adds to live.own */
    Bool started = False;
    Int i;

    (void)closure, (void)extents, (void)host;
    tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);

    for (i = 0; i < in->stmts_used; i++) {
        IRStmt *st = in->stmts[i];

        if (st->tag == Ist_IMark) {
            insn = decode(st->Ist.IMark.addr + st->Ist.IMark.delta, st->Ist.IMark.len);
            if (started)
                before++;
            else if (clo_outside)
                emit_outside(out, insn.addr, layout);
            started = True;
        } else if (st->tag == Ist_Exit && started) {
            Bool back = is_unfinished(&insn, st->Ist.Exit.dst);

            if (insn.rep && !back) {
                /* a taken exit ends the instruction; otherwise another round follows */
                emit_add_if(out, before - added, st->Ist.Exit.guard);
                added = before;
            } else {
                Long now = back ? before : before + 1;

                emit_add_const(out, now - added);
                added = now;
            }
        }
        addStmtToIRSB(out, st);
    }
    if (started) {
        Bool back = in->next->tag == Iex_Const && is_unfinished(&insn, in->next->Iex.Const.con);

        emit_add_const(out, (back ? before : before + 1) - added);
    }
    if (in->jumpkind == Ijk_NoDecode && in->next->tag == Iex_Const)
        emit_unknown(out, in->next->Iex.Const.con);
    return out;
}

/* --- requests, options, start and end ------------------------------------ */

static Bool handle_request(ThreadId tid, UWord *arg, UWord *ret)
{
    (void)tid;
    *ret = 0;
    if (arg[0] == TI_TICOUNT_REQ_WORD)
        *ret = arg[1] == TI_TICOUNT_VERSION ? (UWord)&live : 0;
    else if (arg[0] == TI_TICOUNT_REQ_LONGEST)
        *ret = longest();
    else if (arg[0] == TI_TICOUNT_REQ_MARK)
        mark();
    else
        return False;
    return True;
}

static Bool process_option(const HChar *arg)
{
    return VG_BOOL_CLO(arg, "--report", clo_report) || VG_BOOL_CLO(arg, "--outside", clo_outside);
}

static void print_usage(void)
{
    VG_(printf)
    ("    --report=no|yes           print the process's instruction count on\n"
     "                              stderr when it ends [no]\n"
     "    --outside=no|yes          count also what is executed outside of MPI's\n"
     "                              functions [no]\n");
}

static void print_debug_usage(void)
{
    VG_(printf)("    (none)\n");
}

static void post_clo_init(void)
{
    UInt i;

    /* The count is exact only with these two settings, so the command line cannot change them. */
    VG_(clo_vex_control).iropt_unroll_thresh = 0;
    VG_(clo_vex_control).guest_chase = False;
    threads = VG_(malloc)("ticount.threads", VG_N_THREADS * sizeof *threads);
    for (i = 0; i < VG_N_THREADS; i++)
        clear(&threads[i]);
    live.outside = threads[0].outside;
}

static void fini(Int exit_status)
{
    (void)exit_status;
    if (clo_report)
        VG_(umsg)("ticount: %llu instructions\n", live.own + live.others);
    if (clo_report && span.ended)
        VG_(umsg)("ticount: %llu of them outside of MPI, from MPI_Init to MPI_Finalize\n",
                  span.count);
}

static void pre_clo_init(void)
{
    VG_(details_name)("ticount");
    VG_(details_version)("1");
    VG_(details_description)("counts each thread's instructions for Tiara");
    VG_(details_copyright_author)("Part of Tiara.");
    VG_(details_bug_reports_to)("the authors of Tiara");
    VG_(details_avg_translation_sizeB)(200);

    VG_(basic_tool_funcs)(post_clo_init, instrument, fini);
    VG_(needs_client_requests)(handle_request);
    VG_(needs_command_line_options)(process_option, print_usage, print_debug_usage);
    VG_(track_start_client_code)(start_client_code);
    VG_(track_pre_thread_ll_create)(pre_thread_create);

    if (VG_(clo_verbosity) == 1)
        VG_(clo_verbosity) = 0; /* no banner; -v prints it */
}

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
