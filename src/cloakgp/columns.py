"""Kinds of input columns, under their public name.

Public inputs may be categories, dates, booleans and numbers; missing values have a place where one
is stated.
"""

from cloakgp.data.columns import Boolean, Category, Columns, Date, Number

__all__ = ["Boolean", "Category", "Columns", "Date", "Number"]
