"""What the command line and the pages share: settings, tables, a job and its outputs."""
