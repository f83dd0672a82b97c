"""A release as a file: a plain zip of JSON and arrays, read without trust.

Whatever a file says is checked for its kind, range and size before anything is computed with it.
"""
