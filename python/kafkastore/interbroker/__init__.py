"""Requests from broker to broker.

The map: ``dialer`` opens a connection, ``client`` is the client of one broker, ``unreachable`` has its errors,
``cluster`` is the client of a cluster; ``controller_connections`` and ``to_controller`` pass requests on to the
controller, ``envelope`` is the request that carries them. ``orders`` has a controller's orders as plain values,
``order_wire`` the same as requests. ``command_config`` reads a command's client.properties.
"""
