"""One module per API that the control plane answers, named as in ``requests/registry.py``."""
