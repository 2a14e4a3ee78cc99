#include "bundle/merge_options.h"

ti_status ti_merge_options_check(struct ti_merge_options *o, struct ti_err *err)
{
    if ((o->volumes || o->extras) && o->how == TI_MERGE_NONE)
        return ti_err_set(err, TI_ERR_USAGE, "--volumes and --extras are not for --merge none");
    return ti_qualities_parse(o->volumes, o->extras, &o->quality, err);
}

static void add(struct ti_args *args, const char *option, const char *value)
{
    if (value)
        ti_args_add(args, option, value);
}

void ti_merge_options_add(const struct ti_merge_options *o, struct ti_args *args)
{
    static const char *const how[] = {[TI_MERGE_AUTO] = NULL,
                                      [TI_MERGE_NONE] = "none",
                                      [TI_MERGE_ROOT] = "root",
                                      [TI_MERGE_NODE] = "node"};

    add(args, "--merge", how[o->how]);
    add(args, "--volumes", o->volumes);
    add(args, "--extras", o->extras);
}
