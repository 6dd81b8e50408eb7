"""The control plane under its most expensive requests: how long one of them holds the loop."""
