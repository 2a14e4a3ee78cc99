# extrapolate: traces of more ranks, from traces of fewer.
progs += ti-extrapolate
ti-extrapolate_src := $(addprefix extrapolate/,main.c report.c explain.c output.c proof.c original.c search.c make.c making.c \
                      volumes.c fit.c decide.c model.c values.c joint.c grid.c inputs.c form.c differ.c product.c rule.c rule_value.c rule_text.c \
                      equations.c) \
                      $(sort $(analysis_src) $(trips_src) $(callsite_src) $(sound_src) $(bundler_src) $(writer_src))
ti-extrapolate_libs := $(libdw_libs)
rule_src := $(addprefix extrapolate/,rule.c rule_value.c rule_text.c equations.c product.c)
t-rule_src := $(rule_src)
t-fit_src := extrapolate/fit.c $(rule_src)
t-form_src := extrapolate/form.c
t-volumes_src := $(filter-out extrapolate/main.c,$(ti-extrapolate_src)) tests/unit/script.c tests/unit/fold_script.c
$(O)/tests/unit/t-volumes: LDLIBS += $(libdw_libs)
t-joint_src := $(addprefix extrapolate/,model.c values.c joint.c decide.c grid.c fit.c) $(rule_src)
