// Consumers: a thread for each connection, with one Fetch in flight. Of an answer the front is read, up to the head of
// its first batch; all batches of the topic are alike, so their size says how many there are. The rest is skipped.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// input is a connection's receiving side.
type input struct {
	fd      int
	keys    *direction // nil without TLS
	buffer  []byte
	from    int // of the buffer: received and not yet taken
	to      int
	plain   []byte // decrypted and not yet taken
	padding int    // zeros behind the data of each record: Java pads by the size of a tag
	isKnown bool   // no ticket comes any more: records have data alone
	dropped []byte // never written: the kernel drops what it is given for
}

// more receives once; the buffer has room for a whole record behind what is kept.
func (i *input) more() error {
	if i.from > 0 {
		i.to = copy(i.buffer, i.buffer[i.from:i.to])
		i.from = 0
	}
	for {
		n, err := syscall.Read(i.fd, i.buffer[i.to:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = errors.New("the broker closed a connection")
		}
		i.to += max(n, 0)
		return err
	}
}

// record takes a whole record with its head.
func (i *input) record() ([]byte, error) {
	for {
		if rest := i.to - i.from; rest >= headBytes {
			size := headBytes + int(be.Uint16(i.buffer[i.from+3:]))
			if rest >= size {
				i.from += size
				return i.buffer[i.from-size : i.from], nil
			}
		}
		if err := i.more(); err != nil {
			return nil, err
		}
	}
}

// need returns the next bytes, at least so many, and does not take them.
func (i *input) need(count int) ([]byte, error) {
	for len(i.plain) < count {
		if i.keys == nil {
			if err := i.more(); err != nil {
				return nil, err
			}
			i.plain = append(i.plain, i.buffer[:i.to]...)
			i.from, i.to = 0, 0
			continue
		}
		record, err := i.record()
		if err != nil {
			return nil, err
		}
		plain, err := i.keys.open(record)
		if err != nil {
			return nil, err
		}
		i.padding = len(record) - headBytes - overhead - len(plain)
		i.plain = append(i.plain, plain...)
	}
	return i.plain, nil
}

// skip takes so many bytes without looking at them.
func (i *input) skip(count int) error {
	known := min(count, len(i.plain))
	i.plain = i.plain[:copy(i.plain, i.plain[known:])]
	count -= known
	for count > 0 {
		if i.keys == nil {
			// the kernel drops what is not yet received
			n, _, err := syscall.Recvfrom(i.fd, i.dropped[:min(count, len(i.dropped))], syscall.MSG_TRUNC|syscall.MSG_WAITALL)
			if err == nil && n == 0 {
				err = errors.New("the broker closed a connection")
			}
			if err != nil && !errors.Is(err, syscall.EINTR) {
				return err
			}
			count -= max(n, 0)
			continue
		}
		record, err := i.record()
		if err != nil {
			return err
		}
		length := len(record) - headBytes - overhead - i.padding
		if *decryptAll || !i.isKnown {
			plain, err := i.keys.open(record)
			if err != nil {
				return err
			}
			length = len(plain)
		} else {
			i.keys.count++
		}
		count -= length
	}
	if count < 0 {
		return errors.New("a record reaches beyond its answer")
	}
	return nil
}

// fetcher reads its partitions from the beginning to the end, again and again.
type fetcher struct {
	input
	send      *direction
	partition int32
	offset    int64
	requests  int64
	bytes     int64
	latencies []time.Duration
	frame     []byte
	sealed    []byte
}

// once sends a Fetch and takes its answer.
func (f *fetcher) once() error {
	began := time.Now()
	f.frame = fetchFrame(f.frame[:0], f.partition, f.offset, int32(f.requests))
	out := f.frame
	if f.send != nil {
		f.sealed = f.send.seal(f.sealed[:0], f.frame)
		out = f.sealed
	}
	if _, err := syscall.Write(f.fd, out); err != nil { // a small frame; the socket has room for it
		return err
	}
	f.requests++
	// size, correlation id, tags, throttle time, error code, session, topics, name, partitions, partition, error code,
	// high watermark, last stable offset, log start, aborted transactions, preferred replica
	length := 4 + 4 + 1 + 4 + 2 + 4 + 1 + 1 + len(*topic) + 1 + 4 + 2 + 8 + 8 + 8 + 1 + 4
	front, err := f.need(length + binary.MaxVarintLen32)
	if err != nil {
		return err
	}
	size := 4 + int(be.Uint32(front))
	if code := int16(be.Uint16(front[length-1-4-24-2:])); code != 0 {
		return fmt.Errorf("a Fetch was refused with error code %d", code)
	}
	watermark := int64(be.Uint64(front[length-1-4-24:]))
	inBatches, used := binary.Uvarint(front[length:])
	if used <= 0 || inBatches <= 1 {
		return fmt.Errorf("a Fetch at %d of %d has no records", f.offset, watermark)
	}
	if front, err = f.need(length + used + batchHead); err != nil {
		return err
	}
	head := front[length+used:]
	batchSize, count := int(be.Uint32(head[8:]))+12, int64(be.Uint32(head[23:]))+1
	if base := int64(be.Uint64(head)); base != f.offset {
		return fmt.Errorf("a Fetch at %d was answered from %d on", f.offset, base)
	}
	whole := int64(inBatches-1) / int64(batchSize)
	f.bytes += whole * int64(batchSize)
	if f.offset += whole * count; f.offset >= watermark {
		f.offset = 0
	}
	f.latencies = append(f.latencies, time.Since(began))
	err = f.skip(size)
	f.isKnown = f.requests >= 3 // Java may send its ticket within the first answer
	return err
}

// fetch runs the load: one pass that warms up, then one that is measured, on the same connections.
func fetch() (figures, error) {
	all := make([]*fetcher, *conns)
	for n, partitions := range shares() {
		fd, send, receive, err := dial()
		if err != nil {
			return figures{}, err
		}
		if err := syscall.SetNonblock(fd, false); err != nil {
			return figures{}, err
		}
		room := 128 << 10
		if receive == nil {
			room = 1 << 10 // little more than the front
		}
		in := input{fd: fd, keys: receive, buffer: make([]byte, room), dropped: make([]byte, 1<<20)}
		all[n] = &fetcher{input: in, send: send}
		all[n].partition = partitions[0]
	}
	if err := during(all, *warmUp); err != nil {
		return figures{}, err
	}
	total := func() (requests, bytes int64) {
		for _, one := range all {
			requests, bytes = requests+one.requests, bytes+one.bytes
		}
		return requests, bytes
	}
	for _, one := range all {
		one.latencies = nil
	}
	measured := begin(total())
	if err := during(all, *seconds); err != nil {
		return figures{}, err
	}
	var latencies []time.Duration
	for _, one := range all {
		latencies = append(latencies, one.latencies...)
	}
	requests, bytes := total()
	return measured.end(requests, bytes, latencies), nil
}

func during(all []*fetcher, seconds float64) error {
	var wait sync.WaitGroup
	failed := make([]error, len(all))
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for n, one := range all {
		wait.Go(func() {
			runtime.LockOSThread()
			for failed[n] == nil && time.Now().Before(end) {
				failed[n] = one.once()
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}
