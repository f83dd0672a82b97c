"""The commands, one module each: they wire settings, jobs and the screen, and little else."""
