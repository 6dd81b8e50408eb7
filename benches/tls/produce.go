// Producers: one thread and one epoll for all connections, each with -inflight requests in flight.
//
// Over TLS each connection's requests are encrypted before the load begins, as records one behind the other; the
// measurement ends when a connection has sent them all. Without TLS a few frames are sent again and again with new
// correlation ids.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

const receiveBytes = 64 << 10

// producer is a connection.
type producer struct {
	fd       int
	receive  *direction
	pool     []byte // frames, or their records
	ends     []int  // where each frame of the pool ends
	sent     int    // frames given to send
	unsent   []byte // of those, what the socket did not take
	received int    // answers
	began    []time.Time
	input    []byte // received and not yet taken: records over TLS
	plain    []byte // decrypted and not yet taken
	errorAt  int    // where the error code of an answer is
}

// newProducer connects and builds the pool, with at most so many bytes over TLS.
func newProducer(partitions []int32, one batch, size int) (*producer, error) {
	fd, send, receive, err := dial()
	if err != nil {
		return nil, err
	}
	made := &producer{fd: fd, receive: receive, began: make([]time.Time, *inflight)}
	made.errorAt = 4 + 4 + 1 + 1 + 1 + len(*topic) + 1 + 4 // see check
	if send == nil {
		// a frame is written again only when its answer has come
		size = 2 * *inflight * len(partitions) * (len(one.raw) + 256)
	}
	frames := make([][]byte, len(partitions))
	for at, partition := range partitions {
		frames[at] = produceFrame(partition, one)
	}
	made.pool = make([]byte, 0, size+(2<<20)) // the last frame may reach beyond
	for n := 0; len(made.pool) < size; n++ {
		frame := frames[n%len(frames)]
		be.PutUint32(frame[correlationAt:][:4], uint32(n))
		if send == nil {
			made.pool = append(made.pool, frame...)
		} else {
			made.pool = send.seal(made.pool, frame)
		}
		made.ends = append(made.ends, len(made.pool))
	}
	return made, syscall.SetNonblock(fd, true)
}

// next takes the bytes of the frames that may be sent now; they stand one behind the other in the pool.
func (p *producer) next() []byte {
	room := *inflight - (p.sent - p.received)
	first := p.sent % len(p.ends)
	if p.receive != nil {
		first = p.sent
	}
	count := min(room, len(p.ends)-first)
	if count <= 0 {
		return nil
	}
	from, now := 0, time.Now()
	if first > 0 {
		from = p.ends[first-1]
	}
	at := from
	for n := first; n < first+count; n++ {
		if p.receive == nil {
			be.PutUint32(p.pool[at+correlationAt:][:4], uint32(p.sent))
			at = p.ends[n]
		}
		p.began[p.sent%*inflight] = now
		p.sent++
	}
	return p.pool[from:p.ends[first+count-1]]
}

// isSpent says whether everything that was encrypted has been sent.
func (p *producer) isSpent() bool { return p.receive != nil && p.sent == len(p.ends) }

// fill sends what may be sent, as far as the socket takes it.
func (p *producer) fill(isOver bool) error {
	for {
		if len(p.unsent) == 0 && !isOver {
			p.unsent = p.next()
		}
		if len(p.unsent) == 0 {
			return nil
		}
		n, err := syscall.Write(p.fd, p.unsent)
		if errors.Is(err, syscall.EAGAIN) {
			return nil
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		p.unsent = p.unsent[max(n, 0):]
	}
}

// drain takes the answers that have arrived; note gets the latency of each.
func (p *producer) drain(buffer []byte, note func(time.Duration)) error {
	for {
		n, err := syscall.Read(p.fd, buffer)
		if errors.Is(err, syscall.EAGAIN) {
			return nil
		}
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = errors.New("the broker closed a connection")
		}
		if err != nil {
			return err
		}
		if p.receive == nil {
			p.plain = append(p.plain, buffer[:n]...)
		} else if err := p.decrypt(buffer[:n]); err != nil {
			return err
		}
		now, used := time.Now(), 0
		for len(p.plain)-used >= 4 {
			size := 4 + int(be.Uint32(p.plain[used:]))
			if len(p.plain)-used < size {
				break
			}
			if err := p.check(p.plain[used : used+size]); err != nil {
				return err
			}
			note(now.Sub(p.began[p.received%*inflight]))
			p.received++
			used += size
		}
		p.plain = p.plain[:copy(p.plain, p.plain[used:])]
		if n < len(buffer) {
			return nil
		}
	}
}

// decrypt opens the whole records and keeps the rest.
func (p *producer) decrypt(arrived []byte) error {
	p.input = append(p.input, arrived...)
	used := 0
	for len(p.input)-used >= headBytes {
		size := headBytes + int(be.Uint16(p.input[used+3:]))
		if len(p.input)-used < size {
			break
		}
		plain, err := p.receive.open(p.input[used : used+size])
		if err != nil {
			return err
		}
		p.plain = append(p.plain, plain...)
		used += size
	}
	p.input = p.input[:copy(p.input, p.input[used:])]
	return nil
}

// check looks at an answer: size, correlation id, tags (1), topics (1), name (1 and its bytes), partitions (1),
// partition (4), error code (2).
func (p *producer) check(answer []byte) error {
	if got := be.Uint32(answer[4:]); got != uint32(p.received) {
		return fmt.Errorf("correlation id %d in place of %d", got, p.received)
	}
	at := p.errorAt + 4
	if len(answer) < at+2 {
		return errors.New("a Produce answer is too short")
	}
	if code := int16(be.Uint16(answer[at:])); code != 0 {
		return fmt.Errorf("a Produce request was refused with error code %d", code)
	}
	return nil
}

// produce runs the load.
func produce() (figures, error) {
	one := newBatch()
	all := make([]*producer, *conns)
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return figures{}, err
	}
	for n, partitions := range shares() {
		if all[n], err = newProducer(partitions, one, int(*poolMB*1e6)/(*conns)); err != nil {
			return figures{}, err
		}
		// edges alone: fill and drain go on until the socket has no more
		event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLOUT | -syscall.EPOLLET, Fd: int32(n)}
		if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, all[n].fd, &event); err != nil {
			return figures{}, err
		}
	}
	runtime.GC() // the pools are there; nothing to collect in the measurement
	load := &load{poll: poll, all: all, one: one}
	return load.run()
}

// load is the state of a run.
type load struct {
	poll      int
	all       []*producer
	one       batch
	answered  int64
	latencies []time.Duration
	measured  *window
	isOver    bool
}

func (l *load) bytes() int64 { return l.answered * int64(len(l.one.raw)) }

// run warms up, measures, and waits for the last answers.
func (l *load) run() (figures, error) {
	runtime.LockOSThread()
	l.latencies = make([]time.Duration, 0, 1<<20)
	note := func(took time.Duration) {
		l.answered++
		if l.measured != nil && !l.isOver {
			l.latencies = append(l.latencies, took)
		}
	}
	var found figures
	began, buffer := time.Now(), make([]byte, receiveBytes)
	events := make([]syscall.EpollEvent, 64)
	for _, one := range l.all {
		if err := one.fill(false); err != nil {
			return found, err
		}
	}
	for {
		n, err := syscall.EpollWait(l.poll, events, 5000)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return found, err
		}
		if n == 0 {
			return found, errors.New("no answer within 5 s")
		}
		for _, event := range events[:max(n, 0)] {
			one := l.all[event.Fd]
			if err := one.drain(buffer, note); err != nil {
				return found, err
			}
			if err := one.fill(l.isOver); err != nil {
				return found, err
			}
		}
		switch {
		case l.measured == nil && time.Since(began).Seconds() >= *warmUp:
			first := begin(l.answered, l.bytes())
			l.measured = &first
		case l.measured != nil && !l.isOver && l.isEnough():
			l.isOver = true
			found = l.measured.end(l.answered, l.bytes(), l.latencies)
		}
		if l.isOver && l.isQuiet() {
			found.Acked = l.answered * int64(l.one.count)
			return found, nil
		}
		if l.measured == nil && l.isSpent() {
			return found, errors.New("all requests were sent within the warm-up; raise -pool-mb")
		}
	}
}

func (l *load) isEnough() bool {
	is := time.Since(l.measured.began).Seconds() >= *seconds
	return is || float64(l.bytes()-l.measured.bytes) >= *maxMB*1e6 || l.isSpent()
}

func (l *load) isSpent() bool {
	for _, one := range l.all {
		if one.isSpent() {
			return true
		}
	}
	return false
}

func (l *load) isQuiet() bool {
	for _, one := range l.all {
		if one.received < one.sent || len(one.unsent) > 0 {
			return false
		}
	}
	return true
}
