"""Topics as Arrow, read from their segment files: ``kafkastore.scan`` and ``kafkastore.topics``.

The map: ``scan`` has the function and the object it returns, ``bounds`` turns a caller's arguments into the values that
``_core`` takes, ``broker_offsets`` asks a live broker how far may be read, ``unseen`` finds records beyond that,
``topics`` lists the topics on disk. The folder is not called ``scan``: a submodule of that name would take the
function's place in the package once it is imported.
"""
