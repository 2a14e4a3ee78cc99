# The Makefile of the installed folder share/tiara: builds the examples into build/examples, in a
# copy of that folder.
O      := build
MPICC  ?= mpicc
MPIFC  ?= mpifort
CFLAGS ?= -O2 -g
FFLAGS ?= -O2 -g
flags  := -std=c11 -D_GNU_SOURCE -I.
say     = $(if $(V),,@printf '  %-7s %s\n' $(1) $@;)

all: examples
include examples/module.mk
clean:
	rm -rf $(O)
.PHONY: all clean
.SECONDARY:
