"""Storages: how partials are held in memory and in Arrow, one class for each representation."""
