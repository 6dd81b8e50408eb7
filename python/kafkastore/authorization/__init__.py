"""What clients may do: the access control lists of the cluster.

The map: ``bindings`` has the words of ACLs (Kafka's numbers and names, one ACL, a filter), ``nodes`` the content of the
store's nodes, ``acls`` the ACLs as this broker knows them and their changes. The decisions are made in Rust
(``rust/broker/published/acls.rs``), for both planes.
"""
