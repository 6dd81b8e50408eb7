"""`make demo`: the flights that left New York in 2013 through a broker and a consumer group that grows and loses a
member."""
