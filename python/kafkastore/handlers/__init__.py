"""One module per API that the control plane answers, named as in ``server/registry.py``."""
