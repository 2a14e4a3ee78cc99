# report: ti-report, in Python; its parts are in a folder beside it.
report_parts := $(addprefix report/,main.py inputs.py words.py marks.py figure.py figures.py figures_trace.py \
                figures_replay.py answer.py picture.py page.py base.js charts.js canvas.js page.js page.css)

$(O)/ti-report: report/ti-report.in $(report_parts) report/module.mk Makefile
	@mkdir -p $(O)/report
	$(call say,COPY)cp $(report_parts) $(O)/report && \
	    sed 's|@DATADIR@|$(datadir)|; s|@VERSION@|$(VERSION)|' $< >$@ && chmod +x $@
