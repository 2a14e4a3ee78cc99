# report: ti-report, in Python; its parts are in a folder beside it.
report_parts := $(addprefix report/,main.py inputs.py machine.py words.py marks.py figure.py figures.py figures_trace.py \
                figures_replay.py figures_compared.py answer.py picture.py frames.py page.py base.js charts.js canvas.js page.js page.css)

# Its table of options, for completion; a release has it, so that building needs no Python.
report_table := $(made_dir)/report.options
ifneq ($(made_dir),generated)
$(report_table): $(O)/ti-report
	@mkdir -p $(@D)
	$(call say,GEN)$< --option-table >$@
endif

# In the build folder the Python package stands beside it, with the header that it reads.
package_parts := $(wildcard python/tiara/*.py) python/tiara/py.typed lib/api/tiara.h
$(O)/ti-report: report/ti-report.in $(report_parts) $(package_parts) report/module.mk Makefile
	@mkdir -p $(O)/report $(O)/python/tiara
	$(call say,COPY)cp $(report_parts) $(O)/report && cp $(package_parts) $(O)/python/tiara && \
	    sed 's|@DATADIR@|$(datadir)|; s|@PYTHONDIR@|$(pythondir)|; s|@VERSION@|$(VERSION)|' $< >$@ && \
	    chmod +x $@
