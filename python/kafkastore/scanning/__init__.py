"""Topics as Arrow, read from their segment files (spec R5.3): ``kafkastore.scan`` and ``kafkastore.topics``.

The map: ``scan`` is the function and the object it gives, ``bounds`` turns what a caller wrote into what ``_core``
takes, ``broker_offsets`` asks a live broker how far may be read, ``topics`` lists what is there. The folder is not
called ``scan``: a submodule of that name would take the function's place in the package once it is imported.
"""
