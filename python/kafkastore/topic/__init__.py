"""Topics: what may be asked for (``new_topic``, ``names``, ``checks``, ``internal``), where replicas go
(``placement``), what a request becomes (``planner``), and the one way to create, grow, move, configure and delete them
(``topics``)."""
