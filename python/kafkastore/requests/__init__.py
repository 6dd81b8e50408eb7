"""What a request is on its way to a handler, and what handlers are given: ``registry`` (which APIs), ``context`` (one
request), ``services`` (the broker), ``admission`` (when it may begin), ``forwarding`` (to the controller),
``error_response``."""
