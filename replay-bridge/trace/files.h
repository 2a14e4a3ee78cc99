/*
 * Names of the files of a replay in its scratch directory (common/scratch.h).  ti-replay --keep
 * preserves them.
 */
#ifndef TI_REPLAY_BRIDGE_TRACE_FILES_H
#define TI_REPLAY_BRIDGE_TRACE_FILES_H

#define TI_SIM_LOG       "smpirun.log" /* the whole output of smpirun */
#define TI_SIM_COMMAND   "command"     /* script that runs the simulation again */
#define TI_SIM_PLATFORM  "platform.xml"
#define TI_SIM_HOSTS     "hostfile"
#define TI_SIM_TRACES    "traces.txt"
#define TI_SIM_CHANGED   "changed.ti" /* the trace with the trips of --trips */
#define TI_SIM_STATE     "state"      /* see state.h */
#define TI_SIM_PROFILE   "profile.json"
#define TI_SIM_INTERVALS "intervals"   /* see timeline/intervals.h */
#define TI_SIM_STEADY    "steady.json" /* of --left-out */
#define TI_SIM_ENERGY    "energy.json" /* of ti-smpi-replay --energy */
#define TI_SIM_MESSAGES  "messages"    /* a FIFO while smpirun runs, see messages.h */
#define TI_SIM_PAIRS     "pairs"       /* input of ti-smpi-routes */
#define TI_SIM_LINKS     "links.json"  /* result of ti-smpi-routes */
#define TI_SIM_ROUTES    "routes.log"  /* output of ti-smpi-routes */

#endif
