"""DescribeTransactions version 0."""

from kafkastore.interbroker.schema.describe_transactions.v0.request import DescribeTransactionsRequest
from kafkastore.interbroker.schema.describe_transactions.v0.response import DescribeTransactionsResponse

__all__ = (
    "DescribeTransactionsRequest",
    "DescribeTransactionsResponse",
)
