"""Arithmetic that several schemes share."""
