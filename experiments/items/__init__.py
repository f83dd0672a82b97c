"""The items: one module each, with a name ``ITEM``."""
