package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func groupOptions(r request) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(r.Group), kgo.ConsumeTopics(r.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.HeartbeatInterval(200 * time.Millisecond),
	}
}

// poll reads until `count` records came, or fails at the end of `ctx`.
func poll(ctx context.Context, client *kgo.Client, count int) ([]*kgo.Record, error) {
	var read []*kgo.Record
	for len(read) < count {
		fetches := client.PollRecords(ctx, count-len(read))
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("%d of %d records: %w", len(read), count, err)
		}
		read = append(read, fetches.Records()...)
	}
	return read, nil
}

// consumeInGroup is one member that reads `count` records, commits them and leaves. It answers the records and what the
// group has committed, by partition.
func consumeInGroup(ctx context.Context, r request) (any, error) {
	client, err := newClient(r, groupOptions(r)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	polled, err := poll(ctx, client, r.Count)
	if err != nil {
		return nil, err
	}
	if err := client.CommitRecords(ctx, polled...); err != nil {
		return nil, err
	}
	fetched, err := kadm.NewClient(client).FetchOffsets(ctx, r.Group)
	if err != nil {
		return nil, err
	}
	committed := map[int32]int64{}
	for partition, offset := range fetched.Offsets()[r.Topic] {
		committed[partition] = offset.At
	}
	var read []record
	for _, one := range polled {
		read = append(read, asRead(one))
	}
	return map[string]any{"records": read, "committed": committed}, nil
}

// change is what a member gained (or lost) of the topic's partitions.
type change struct {
	member     int
	partitions []int32
	owned      bool
}

// members are the members of one group in this process, and what each has been told it owns.
type members struct {
	clients []*kgo.Client
	changes chan change
	owned   []map[int32]bool
}

func (m *members) join(r request) error {
	number := len(m.clients)
	tell := func(owned bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, of map[string][]int32) {
			m.changes <- change{number, of[r.Topic], owned}
		}
	}
	client, err := newClient(r, append(groupOptions(r), kgo.OnPartitionsAssigned(tell(true)),
		kgo.OnPartitionsRevoked(tell(false)), kgo.OnPartitionsLost(tell(false)))...)
	if err != nil {
		return err
	}
	m.clients = append(m.clients, client)
	m.owned = append(m.owned, map[int32]bool{})
	return nil
}

// settle waits until the first `count` members own some partitions each, and all of them together; it answers how many
// each owns.
func (m *members) settle(ctx context.Context, partitions int, count int) ([]int, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the group of %d did not settle: %v: %w", count, m.owned, ctx.Err())
		case came := <-m.changes:
			for _, partition := range came.partitions {
				if came.owned {
					m.owned[came.member][partition] = true
				} else {
					delete(m.owned[came.member], partition)
				}
			}
		}
		sizes, total, everyOneOwns := []int{}, 0, true
		for _, owned := range m.owned[:count] {
			sizes = append(sizes, len(owned))
			total += len(owned)
			everyOneOwns = everyOneOwns && len(owned) > 0
		}
		if everyOneOwns && total == partitions {
			return sizes, nil
		}
	}
}

// shareGroup is two members that share the topic's partitions and read what is theirs, until together they have `count`
// records; then the second leaves. It answers how many partitions each owned before and after, and the records of each.
func shareGroup(ctx context.Context, r request) (any, error) {
	group := &members{changes: make(chan change, 1000)}
	for range 2 {
		if err := group.join(r); err != nil {
			return nil, err
		}
	}
	defer group.clients[0].Close()
	together, err := group.settle(ctx, int(r.Partitions), 2)
	if err != nil {
		return nil, err
	}
	perPartition := r.Count / int(r.Partitions)
	read := [2][]record{}
	for number, client := range group.clients {
		polled, err := poll(ctx, client, perPartition*len(group.owned[number]))
		if err != nil {
			return nil, err
		}
		for _, one := range polled {
			read[number] = append(read[number], asRead(one))
		}
	}
	group.clients[1].Close()
	alone, err := group.settle(ctx, int(r.Partitions), 1)
	return map[string]any{"together": together, "records": read, "alone": alone}, err
}
