"""Tables on disk: CSV and Parquet files, of which only the columns asked for are read.

``numerals`` says what a number is, ``files`` opens a table, ``columns`` reads it (or finds its
blocks), ``owners`` recognises whose a row is, and ``points`` says where to predict.
"""
