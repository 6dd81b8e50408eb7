"""Coordinators: groups (``group/``); transactions follow."""
