"""Topics: requested topics and their checks (``new_topic``, ``checks``, ``internal``), the placement of
replicas (``placement``), the plan for a request (``planner``), and the one way to create, grow, move, configure and
delete topics (``topics``)."""
