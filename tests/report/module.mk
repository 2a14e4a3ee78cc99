# What `make check-report` needs: Debian's chromium, and a browser's time.  Not in `make check`.
check-report:
	@tools/install-deps --report
	@$(MAKE) --no-print-directory all examples $(O)/tests/mktrace
	@TI_BUILD=$(O) tests/report/look.sh
.PHONY: check-report
