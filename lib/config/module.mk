# config: files that people write, and files of rates.
config_src := lib/config/sites.c
# Reading sites files and hostfiles, for programs that do.
sites_src := $(addprefix lib/config/,sites_read.c sites_keys.c sites_values.c sites_nodes.c \
               inifile.c hostfile.c host_values.c)
# Rate files, and calibrations, for programs that read or write them.
rates_src := lib/config/rates.c lib/config/inifile.c
calibration_src := lib/config/calibration.c lib/config/inifile.c
