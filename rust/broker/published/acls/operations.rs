//! Operations and resource types, by Kafka's numbers (`org.apache.kafka.common.acl.AclOperation`,
//! `org.apache.kafka.common.resource.ResourceType`), and sets of operations.
//!
//! Never: decides who may do what.

use std::ops::BitOrAssign;

/// What is done with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Read.
    Read = 3,
    /// Write.
    Write = 4,
    /// Create.
    Create = 5,
    /// Delete.
    Delete = 6,
    /// Alter.
    Alter = 7,
    /// Describe.
    Describe = 8,
    /// Acts as a broker.
    ClusterAction = 9,
    /// Reads configurations.
    DescribeConfigs = 10,
    /// Changes configurations.
    AlterConfigs = 11,
    /// Writes as an idempotent producer.
    IdempotentWrite = 12,
    /// Creates delegation tokens for another user.
    CreateTokens = 13,
    /// Reads delegation tokens of another user.
    DescribeTokens = 14,
    /// Takes part in two-phase commits (KIP-939).
    TwoPhaseCommit = 15,
}

impl Operation {
    pub(super) const EACH: [Self; 13] = [
        Self::Read,
        Self::Write,
        Self::Create,
        Self::Delete,
        Self::Alter,
        Self::Describe,
        Self::ClusterAction,
        Self::DescribeConfigs,
        Self::AlterConfigs,
        Self::IdempotentWrite,
        Self::CreateTokens,
        Self::DescribeTokens,
        Self::TwoPhaseCommit,
    ];

    /// The operation with this number; `None` for a number that is none, and for those of "unknown", "any" and "all".
    pub fn from_number(number: i8) -> Option<Self> {
        Self::EACH.into_iter().find(|one| *one as i8 == number)
    }

    /// Its name, as Kafka's log lines write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Create => "CREATE",
            Self::Delete => "DELETE",
            Self::Alter => "ALTER",
            Self::Describe => "DESCRIBE",
            Self::ClusterAction => "CLUSTER_ACTION",
            Self::DescribeConfigs => "DESCRIBE_CONFIGS",
            Self::AlterConfigs => "ALTER_CONFIGS",
            Self::IdempotentWrite => "IDEMPOTENT_WRITE",
            Self::CreateTokens => "CREATE_TOKENS",
            Self::DescribeTokens => "DESCRIBE_TOKENS",
            Self::TwoPhaseCommit => "TWO_PHASE_COMMIT",
        }
    }
}

/// A set of operations: a bit for each, by its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operations(u32);

impl Operations {
    /// Every operation.
    pub const ALL: Self = Self(u32::MAX);

    /// The set of these.
    pub const fn of(operations: &[Operation]) -> Self {
        let (mut bits, mut left) = (0, operations);
        while let [first, rest @ ..] = left {
            bits |= 1 << *first as u8;
            left = rest;
        }
        Self(bits)
    }

    /// Whether the set has this operation.
    pub const fn has(self, operation: Operation) -> bool {
        self.0 & (1 << operation as u8) != 0
    }

    /// The set without those of another.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The field of a response for a resource of this type: only operations that its type has.
    #[expect(clippy::cast_possible_wrap, reason = "no type has the operation with the sign bit")]
    pub const fn of_type(self, resource: ResourceType) -> i32 {
        (self.0 & resource.operations().0) as i32
    }
}

impl BitOrAssign for Operations {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What an ACL is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ResourceType {
    /// A topic.
    Topic = 2,
    /// A group.
    Group = 3,
    /// The cluster.
    Cluster = 4,
    /// A transactional id.
    TransactionalId = 5,
    /// A delegation token.
    DelegationToken = 6,
    /// A user, as the owner of tokens.
    User = 7,
}

impl ResourceType {
    /// How many there are.
    pub const COUNT: usize = 6;

    const EACH: [Self; Self::COUNT] = [
        Self::Topic,
        Self::Group,
        Self::Cluster,
        Self::TransactionalId,
        Self::DelegationToken,
        Self::User,
    ];

    /// The type with this number; `None` for a number that is none, and for those of "unknown" and "any".
    pub fn from_number(number: i8) -> Option<Self> {
        Self::EACH.into_iter().find(|one| *one as i8 == number)
    }

    /// Its place among the types, from 0 on.
    pub const fn place(self) -> usize {
        self as usize - Self::Topic as usize
    }

    /// Its name, as Kafka's log lines write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topic => "Topic",
            Self::Group => "Group",
            Self::Cluster => "Cluster",
            Self::TransactionalId => "TransactionalId",
            Self::DelegationToken => "DelegationToken",
            Self::User => "User",
        }
    }

    /// The operations that resources of this type have.
    pub const fn operations(self) -> Operations {
        use Operation::{
            Alter, AlterConfigs, ClusterAction, Create, CreateTokens, Delete, Describe, DescribeConfigs,
            DescribeTokens, IdempotentWrite, Read, TwoPhaseCommit, Write,
        };
        Operations::of(match self {
            Self::Topic => &[
                Read,
                Write,
                Create,
                Delete,
                Alter,
                Describe,
                DescribeConfigs,
                AlterConfigs,
            ],
            Self::Group => &[Read, Delete, Describe, DescribeConfigs, AlterConfigs],
            Self::Cluster => &[
                Create,
                Alter,
                Describe,
                ClusterAction,
                DescribeConfigs,
                AlterConfigs,
                IdempotentWrite,
            ],
            Self::TransactionalId => &[Write, Describe, TwoPhaseCommit],
            Self::DelegationToken => &[Describe],
            Self::User => &[CreateTokens, DescribeTokens],
        })
    }
}
