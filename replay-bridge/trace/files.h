/*
 * Names of the files that a replay has in its scratch directory (common/scratch.h), and that
 * ti-replay --keep leaves.
 */
#ifndef TI_SIM_FILES_H
#define TI_SIM_FILES_H

#define TI_SIM_LOG      "smpirun.log" /* all that smpirun printed */
#define TI_SIM_COMMAND  "command"     /* a script that runs it again */
#define TI_SIM_PLATFORM "platform.xml"
#define TI_SIM_HOSTS    "hostfile"
#define TI_SIM_TRACES   "traces.txt"
#define TI_SIM_STATE    "state" /* see state.h */
#define TI_SIM_PROFILE  "profile.json"
#define TI_SIM_MESSAGES "messages" /* a FIFO while smpirun runs, see messages.h */
#define TI_SIM_PAIRS    "pairs"    /* what ti-smpi-routes reads, and writes */
#define TI_SIM_LINKS    "links.json"
#define TI_SIM_ROUTES   "routes.log" /* all that it printed */

#endif
