"""The lessons of the course, in order: a function for each, which returns its steps and questions."""
