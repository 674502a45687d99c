"""The same facts shown differently: text, table, pages."""
