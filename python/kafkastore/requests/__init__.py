"""Requests on their way to a handler, and the objects that handlers get: ``registry`` (which APIs are served),
``context`` (one request), ``services`` (the broker), ``admission`` (when a request may begin), ``forwarding`` (to the
controller), ``error_response``."""
