"""What clients may do: the access control lists of the cluster.

The map: ``nodes`` has the content of the store's nodes, ``acls`` the ACLs as this broker knows them and their changes;
the words of ACLs are ``kafkastore.acl_words``. The decisions are made in Rust (``rust/broker/published/acls.rs``), for
both planes.
"""
