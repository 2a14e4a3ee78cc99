# tests: unit/t-X.c is linked with $(lib_src) and the sources in t-X_src;
# cli/ and mpi/ hold scripts.  tests/run runs them all.
unit_tests := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/t-*.c))
test_programs :=
-include tests/cli/module.mk
include tests/engine/module.mk tests/report/module.mk tests/mpi/module.mk tests/fuzz/module.mk tests/pmu/module.mk tests/testbed/module.mk

t-merged_src := $(merger_src) tests/unit/records.c
t-folded_src := $(merger_src) tests/unit/programs.c tests/unit/records.c
t-killed_src := tests/unit/programs.c
t-view_src := $(merger_src) tests/unit/programs.c tests/unit/records.c
t-trips_src := $(trips_src) $(callsite_src) $(sound_src) $(merger_src) tests/unit/programs.c
t-versions_src := $(versions_src) $(trips_src) $(callsite_src) $(sound_src) $(merger_src) tests/unit/script.c \
                  tests/unit/fold_script.c
$(O)/tests/unit/t-trips $(O)/tests/unit/t-versions: LDLIBS += $(libdw_libs)
t-quality_src := $(merger_src)
t-seek_src := $(merger_src) tests/unit/programs.c tests/unit/records.c
t-shape_src := $(merger_src) tests/unit/programs.c
t-values_src := $(merger_src) tests/unit/programs.c
t-source_src := $(merger_src)
t-column_src := $(merger_src) tests/unit/records.c
t-fold_src := $(merger_src) tests/unit/records.c
t-counter_src := $(counter_src)
t-papi_src := $(counter_src)
t-malloc_src := $(counter_src)
t-sites_src := $(sites_src)
t-host-values_src := $(sites_src)
t-rates_src := $(rates_src)

define unit_test
$(O)/tests/unit/$(1): $(call obj,tests/unit/$(1).c $($(1)_src) $(writer_src) $(lib_src))
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(CC) $$(san_flags) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(pkg_libs) -lcmocka -ldl -lm -lpthread $$(LDLIBS)
endef
$(foreach t,$(unit_tests),$(eval $(call unit_test,$(t))))
