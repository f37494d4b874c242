"""The command line: one file per group of commands, imported when a command of it is asked for."""
