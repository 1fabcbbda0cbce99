"""Python and classfilter for browsers: a wheel for Pyodide, and the files that a page loads."""
