"""Thin bridges from other libraries to a run. Each imports its library only when it is used."""
