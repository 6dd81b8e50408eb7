"""DescribeTransactions (API key 65): kio's class of the answer refuses the start time -1, which a transaction that is
not ongoing has."""
