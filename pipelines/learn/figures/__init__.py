"""The figures of the teaching material: drawings with numbers, and the commands that measure the others."""
